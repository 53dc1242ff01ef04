import Platform

// RFC 9112, sections 5 and 6.
extension RequestParser {
    mutating func readField(
        _ bytes: Span<UInt8>, _ line: Range<Int>
    ) throws(MessageFailure) {
        let field = try RequestHead.Field(bytes, line)
        guard head.fields.count < limits.fields else {
            throw MessageFailure(431, "more than \(limits.fields) header fields")
        }
        head.nameLengths |= RequestHead.bit(field.name.count)
        head.fields.append(field)
        try note(bytes, field)
    }

    /// Takes in the fields that say where the message ends and whom it is for.
    private mutating func note(
        _ bytes: Span<UInt8>, _ field: RequestHead.Field
    ) throws(MessageFailure) {
        switch field.name.count {
        case 4 where RequestHead.matches(bytes, field.name, "host"):
            hosts += 1
            head.host = field.value
            guard Self.isAuthority(bytes, field.value) else {
                throw MessageFailure(400, "the Host field does not name a host")
            }
        case 6 where RequestHead.matches(bytes, field.name, "expect"):
            if !RequestHead.matches(bytes, field.value, "100-continue") {
                expectsSomethingElse = true
            }
        default: try framing.note(bytes, field)
        }
    }

    /// Checks what can only be judged when all fields are known.
    func finish() throws(MessageFailure) -> BodyFraming {
        guard hosts <= 1 else { throw MessageFailure(400, "more than one Host field") }
        guard hosts == 1 || head.minorVersion == 0 else {
            throw MessageFailure(400, "HTTP/1.1 requires a Host field")
        }
        let framing = try framing.framing(minorVersion: head.minorVersion)
        if expectsSomethingElse, head.minorVersion == 1 {
            throw MessageFailure(417, "the only expectation accepted here is 100-continue")
        }
        return framing ?? .none
    }

    /// Whether the bytes are a host and, perhaps, a port (RFC 3986, section 3.2; no user name).
    static func isAuthority(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard !range.isEmpty else { return false }
        var position = range.lowerBound
        if bytes[position] == 91 {
            position += 1
            while position < range.upperBound, bytes[position] != 93 {
                let byte = bytes[position]
                let isPart = Hex.value(ofEitherCase: byte) != nil || byte == 58 || byte == 46
                guard isPart else { return false }
                position += 1
            }
            guard position < range.upperBound, position > range.lowerBound + 1 else { return false }
            position += 1
        } else {
            while position < range.upperBound, bytes[position] != 58 {
                if !ByteClass.isName(bytes[position]) {
                    guard bytes[position] == 37, position + 2 < range.upperBound,
                        Hex.value(ofEitherCase: bytes[position + 1]) != nil,
                        Hex.value(ofEitherCase: bytes[position + 2]) != nil
                    else { return false }
                }
                position += 1
            }
            guard position > range.lowerBound else { return false }
        }
        guard position < range.upperBound else { return true }
        guard bytes[position] == 58, range.upperBound - position <= 6 else { return false }
        for digit in position + 1..<range.upperBound {
            guard bytes[digit] >= 48, bytes[digit] <= 57 else { return false }
        }
        return true
    }
}
