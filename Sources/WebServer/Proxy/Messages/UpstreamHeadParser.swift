/// Why an upstream's answer is not passed on.
struct UpstreamFailure: Error, Hashable {
    /// What is wrong, for the person who runs the upstream.
    let sentence: String
    init(_ sentence: String) { self.sentence = sentence }
}

/// Reads the head of an upstream's answer as strictly as that of a request.
///
/// What a client might read in another way than this proxy is refused, never repaired. Give it all
/// bytes since the answer began, again as they grow: it goes on where it stopped. Bounded: 64 KB and
/// 200 fields.
struct UpstreamHeadParser {
    enum Outcome {
        case needMore
        /// ``head`` is complete and took so many bytes.
        case head(consumed: Int)
        case failure(UpstreamFailure)
    }

    static let byteLimit = 64 << 10
    static let fieldLimit = 200

    private(set) var head = UpstreamHead()
    private var line = 0
    private var scanned = 0

    /// Makes it ready for the next answer; memory is kept.
    mutating func reset() {
        head.clear()
        line = 0
        scanned = 0
    }

    mutating func parse(_ bytes: Span<UInt8>) -> Outcome {
        do throws(UpstreamFailure) {
            if line == 0 { try checkBegin(bytes) }
            let end = min(bytes.count, Self.byteLimit)
            while let position = RequestParser.firstControl(bytes, from: scanned, to: end) {
                switch bytes[position] {
                case 9 where line > 0: scanned = position + 1
                case 13:
                    guard position + 1 < end else {
                        scanned = position
                        return try needMore(bytes.count)
                    }
                    guard bytes[position + 1] == 10 else {
                        throw UpstreamFailure("a carriage return stands alone")
                    }
                    if try readLine(bytes, line..<position) {
                        return .head(consumed: position + 2)
                    }
                    line = position + 2
                    scanned = line
                case 10: throw UpstreamFailure("a line ends with a line feed alone")
                default: throw UpstreamFailure("a control character stands in the head")
                }
            }
            scanned = end
            return try needMore(bytes.count)
        } catch {
            return .failure(error)
        }
    }

    private func needMore(_ count: Int) throws(UpstreamFailure) -> Outcome {
        guard count < Self.byteLimit else {
            throw UpstreamFailure("the head is over \(Self.byteLimit) bytes")
        }
        return .needMore
    }

    /// What is not HTTP is known by its first bytes: it may never send a line's end.
    private func checkBegin(_ bytes: Span<UInt8>) throws(UpstreamFailure) {
        let begin: StaticString = "HTTP/1."
        for position in 0..<min(bytes.count, begin.utf8CodeUnitCount)
        where bytes[position] != begin.utf8Start[position] {
            throw UpstreamFailure("it does not begin with HTTP/1.1")
        }
    }

    /// - Returns: whether it was the last.
    private mutating func readLine(
        _ bytes: Span<UInt8>, _ range: Range<Int>
    ) throws(UpstreamFailure) -> Bool {
        if line == 0 {
            try readStatusLine(bytes, range)
            return false
        }
        guard range.isEmpty else {
            try readField(bytes, range)
            return false
        }
        try finish(bytes)
        return true
    }

    /// HTTP-version SP status-code SP [ reason-phrase ] (RFC 9112, section 4).
    ///
    /// The second space may be missing: some servers leave it out with the phrase.
    private mutating func readStatusLine(
        _ bytes: Span<UInt8>, _ range: Range<Int>
    ) throws(UpstreamFailure) {
        guard range.count >= 12, bytes[7] == 48 || bytes[7] == 49, bytes[8] == 32 else {
            throw UpstreamFailure("the status line is none of HTTP/1.1 or HTTP/1.0")
        }
        head.minorVersion = Int(bytes[7] - 48)
        var status = 0
        for position in 9..<12 {
            guard bytes[position] >= 48, bytes[position] <= 57 else {
                throw UpstreamFailure("the status is no number of three digits")
            }
            status = status * 10 + Int(bytes[position] - 48)
        }
        guard status >= 100, status < 600, range.count == 12 || bytes[12] == 32 else {
            throw UpstreamFailure("the status is no number from 100 to 599")
        }
        head.status = status
        head.reason = min(13, range.upperBound)..<range.upperBound
    }

    private mutating func readField(
        _ bytes: Span<UInt8>, _ range: Range<Int>
    ) throws(UpstreamFailure) {
        var position = range.lowerBound
        guard bytes[position] != 32, bytes[position] != 9 else {
            throw UpstreamFailure("a field is folded over two lines")
        }
        while position < range.upperBound, ByteClass.isToken(bytes[position]) { position += 1 }
        guard position > range.lowerBound, position < range.upperBound, bytes[position] == 58
        else { throw UpstreamFailure("a field's name is not a token followed by a colon") }
        guard head.fields.count < Self.fieldLimit else {
            throw UpstreamFailure("there are more than \(Self.fieldLimit) fields")
        }
        let name = range.lowerBound..<position
        var (start, end) = (position + 1, range.upperBound)
        while start < end, bytes[start] == 32 || bytes[start] == 9 { start += 1 }
        while end > start, bytes[end - 1] == 32 || bytes[end - 1] == 9 { end -= 1 }
        head.fields.append(RequestHead.Field(name: name, value: start..<end))
        try note(bytes, name, start..<end)
    }

    private mutating func note(
        _ bytes: Span<UInt8>, _ name: Range<Int>, _ value: Range<Int>
    ) throws(UpstreamFailure) {
        switch name.count {
        case 4 where RequestHead.matches(bytes, name, "date"): head.hasDate = true
        case 7 where RequestHead.matches(bytes, name, "upgrade"): head.upgrade = value
        case 10 where RequestHead.matches(bytes, name, "connection"):
            FieldName.addElements(of: value, in: bytes, to: &head.options)
        case 14 where RequestHead.matches(bytes, name, "content-length"):
            try noteLength(bytes, value)
        case 17 where RequestHead.matches(bytes, name, "transfer-encoding"):
            var codings: [Range<Int>] = []
            FieldName.addElements(of: value, in: bytes, to: &codings)
            if codings.isEmpty || head.codings.isPresent { head.codings.isMalformed = true }
            head.codings.isPresent = true
            if codings.count > 1 { head.codings.others = true }
            for coding in codings where !RequestHead.matches(bytes, coding, "chunked") {
                head.codings.others = true
            }
        default: break
        }
    }

    private mutating func noteLength(
        _ bytes: Span<UInt8>, _ value: Range<Int>
    ) throws(UpstreamFailure) {
        guard !value.isEmpty, value.count <= 18 else {
            throw UpstreamFailure("Content-Length is no number, or beyond every number")
        }
        var number: Int64 = 0
        for position in value {
            let digit = bytes[position] &- 48
            guard digit <= 9 else { throw UpstreamFailure("Content-Length is no number") }
            number = number * 10 + Int64(digit)
        }
        guard head.length == nil || head.length == number else {
            throw UpstreamFailure("two Content-Length fields differ")
        }
        head.length = number
    }

    /// What can only be judged when all fields are known (RFC 9112, sections 6.1 and 6.3).
    private mutating func finish(_ bytes: Span<UInt8>) throws(UpstreamFailure) {
        var closes = false
        var keeps = false
        for option in head.options {
            if RequestHead.matches(bytes, option, "close") { closes = true }
            if RequestHead.matches(bytes, option, "keep-alive") { keeps = true }
            if RequestHead.matches(bytes, option, "upgrade") { head.isUpgrade = true }
        }
        head.isKeepAlive = !closes && (head.minorVersion == 1 || keeps)
        guard head.codings.isPresent else { return }
        guard head.length == nil else {
            throw UpstreamFailure("Content-Length and Transfer-Encoding contradict each other")
        }
        guard head.minorVersion == 1 else {
            throw UpstreamFailure("HTTP/1.0 knows no Transfer-Encoding")
        }
        guard !head.codings.isMalformed, !head.codings.others else {
            throw UpstreamFailure("its only transfer coding may be chunked, once")
        }
    }
}
