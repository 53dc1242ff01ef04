import Platform

/// What the Transfer-Encoding fields have said so far.
struct TransferCodings: Sendable {
    var isPresent = false
    var isMalformed = false
    /// How often `chunked` is named, and whether it is the last.
    var chunked = 0
    var endsChunked = false
    /// Whether a coding other than `chunked` is named.
    var others = false
}

// RFC 9112, sections 5 and 6.
extension RequestParser {
    mutating func readField(
        _ bytes: Span<UInt8>, _ line: Range<Int>, base: Int
    ) throws(RequestFailure) {
        var position = line.lowerBound
        if bytes[position] == 32 || bytes[position] == 9 {
            throw RequestFailure(400, "a field is folded over two lines")
        }
        while position < line.upperBound, ByteClass.isToken(bytes[position]) { position += 1 }
        guard position < line.upperBound, bytes[position] == 58, position > line.lowerBound
        else {
            throw RequestFailure(400, "a field's name is not a token followed by a colon")
        }
        guard head.fields.count < limits.fields else {
            throw RequestFailure(431, "more than \(limits.fields) header fields")
        }
        let name = line.lowerBound..<position
        head.nameLengths |= RequestHead.bit(name.count)
        var start = position + 1
        var end = line.upperBound
        while start < end, bytes[start] == 32 || bytes[start] == 9 { start += 1 }
        while end > start, bytes[end - 1] == 32 || bytes[end - 1] == 9 { end -= 1 }
        head.fields.append(
            RequestHead.Field(
                name: name.lowerBound - base..<name.upperBound - base,
                value: start - base..<end - base))
        try note(bytes, name, start..<end, base: base)
    }

    /// Takes in the fields that say where the message ends and whom it is for.
    private mutating func note(
        _ bytes: Span<UInt8>, _ name: Range<Int>, _ value: Range<Int>, base: Int
    ) throws(RequestFailure) {
        switch name.count {
        case 4 where RequestHead.matches(bytes, name, "host"):
            hosts += 1
            head.host = value.lowerBound - base..<value.upperBound - base
            guard Self.isAuthority(bytes, value) else {
                throw RequestFailure(400, "the Host field does not name a host")
            }
        case 6 where RequestHead.matches(bytes, name, "expect"):
            if !RequestHead.matches(bytes, value, "100-continue") { expectsSomethingElse = true }
        case 14 where RequestHead.matches(bytes, name, "content-length"):
            try noteLength(bytes, value)
        case 17 where RequestHead.matches(bytes, name, "transfer-encoding"):
            noteCodings(bytes, value)
        default: break
        }
    }

    private mutating func noteLength(
        _ bytes: Span<UInt8>, _ value: Range<Int>
    ) throws(RequestFailure) {
        guard !value.isEmpty else { throw RequestFailure(400, "Content-Length is empty") }
        var number: Int64 = 0
        for position in value {
            let digit = bytes[position] &- 48
            guard digit <= 9 else { throw RequestFailure(400, "Content-Length is no number") }
            let (product, over) = number.multipliedReportingOverflow(by: 10)
            let (sum, overSum) = product.addingReportingOverflow(Int64(digit))
            guard !over, !overSum else {
                throw RequestFailure(400, "Content-Length is beyond every number")
            }
            number = sum
        }
        guard length == nil || length == number else {
            throw RequestFailure(400, "two Content-Length fields differ")
        }
        length = number
    }

    /// A list of codings: tokens between commas (RFC 9110, section 5.6.1).
    private mutating func noteCodings(_ bytes: Span<UInt8>, _ value: Range<Int>) {
        codings.isPresent = true
        var position = value.lowerBound
        while position <= value.upperBound {
            var end = position
            while end < value.upperBound, bytes[end] != 44 { end += 1 }
            var first = position
            var last = end
            while first < last, bytes[first] == 32 || bytes[first] == 9 { first += 1 }
            while last > first, bytes[last - 1] == 32 || bytes[last - 1] == 9 { last -= 1 }
            for offset in first..<last where !ByteClass.isToken(bytes[offset]) {
                codings.isMalformed = true
            }
            if first == last {
                codings.isMalformed = true
            } else if RequestHead.matches(bytes, first..<last, "chunked") {
                codings.chunked += 1
                codings.endsChunked = true
            } else {
                codings.others = true
                codings.endsChunked = false
            }
            position = end + 1
        }
    }

    /// What can only be judged when all fields are known.
    func finish(_ bytes: Span<UInt8>) throws(RequestFailure) -> BodyFraming {
        guard hosts <= 1 else { throw RequestFailure(400, "more than one Host field") }
        guard hosts == 1 || head.minorVersion == 0 else {
            throw RequestFailure(400, "HTTP/1.1 asks for a Host field")
        }
        let framing = try framing()
        if expectsSomethingElse, head.minorVersion == 1 {
            throw RequestFailure(417, "only 100-continue can be expected here")
        }
        return framing
    }

    private func framing() throws(RequestFailure) -> BodyFraming {
        guard codings.isPresent else {
            guard let length, length > 0 else { return .none }
            return .length(length)
        }
        guard length == nil else {
            throw RequestFailure(400, "Content-Length and Transfer-Encoding contradict each other")
        }
        guard head.minorVersion == 1 else {
            throw RequestFailure(400, "HTTP/1.0 knows no Transfer-Encoding")
        }
        guard !codings.isMalformed, codings.chunked <= 1,
            codings.chunked == 0 || codings.endsChunked
        else { throw RequestFailure(400, "Transfer-Encoding is malformed") }
        guard codings.chunked == 1, !codings.others else {
            throw RequestFailure(501, "the only transfer coding here is chunked")
        }
        return .chunked
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
