/// Reads the head of an upstream's answer as strictly as that of a request.
///
/// It refuses, and never repairs, what a client might read differently from this proxy. Pass it all bytes since the
/// answer began, again each time more arrive: it continues where it stopped. Limits: 64 KB and 200 fields.
struct UpstreamHeadParser {
    enum Outcome {
        case needMore
        /// ``head`` is complete and took `consumed` bytes.
        case head(consumed: Int)
        case failure(MessageFailure)
    }

    static let byteLimit = 64 << 10
    static let fieldLimit = 200

    private(set) var head = UpstreamHead()
    private var lines = HeadLines()
    private var framing = FramingFields()

    /// Prepares for the next answer; memory is kept.
    mutating func reset() {
        head.clear()
        lines = HeadLines()
        framing = FramingFields()
    }

    mutating func parse(_ bytes: Span<UInt8>) -> Outcome {
        do throws(MessageFailure) {
            if lines.isInFirst { try checkBegin(bytes) }
            while let line = try lines.next(bytes, limit: Self.byteLimit) {
                if line.lowerBound == 0 {
                    try readStatusLine(bytes, line)
                } else if !line.isEmpty {
                    try readField(bytes, line)
                } else {
                    // RFC 9112, sections 6.1 and 6.3: this needs all fields.
                    head.framing = try framing.framing(minorVersion: head.minorVersion)
                    head.length = framing.length
                    return .head(consumed: line.upperBound + 2)
                }
            }
            guard bytes.count < Self.byteLimit else {
                throw MessageFailure(502, "the head is over \(Self.byteLimit) bytes")
            }
            return .needMore
        } catch {
            return .failure(error)
        }
    }

    /// Recognizes by the first bytes what is not HTTP, which may never send a line end.
    private func checkBegin(_ bytes: Span<UInt8>) throws(MessageFailure) {
        let begin: StaticString = "HTTP/1."
        for position in 0..<min(bytes.count, begin.utf8CodeUnitCount)
        where bytes[position] != begin.utf8Start[position] {
            throw MessageFailure(502, "it does not begin with HTTP/1.1")
        }
    }

    /// RFC 9112, section 4, except that some servers leave out the second space together with the phrase.
    private mutating func readStatusLine(
        _ bytes: Span<UInt8>, _ range: Range<Int>
    ) throws(MessageFailure) {
        guard range.count >= 12, bytes[7] == 48 || bytes[7] == 49, bytes[8] == 32 else {
            throw MessageFailure(502, "the status line is not of HTTP/1.1 or HTTP/1.0")
        }
        head.minorVersion = Int(bytes[7] - 48)
        var status = 0
        for position in 9..<12 {
            guard bytes[position] >= 48, bytes[position] <= 57 else {
                throw MessageFailure(502, "the status is not a number of three digits")
            }
            status = status * 10 + Int(bytes[position] - 48)
        }
        guard status >= 100, status < 600, range.count == 12 || bytes[12] == 32 else {
            throw MessageFailure(502, "the status is not a number from 100 to 599")
        }
        head.status = status
        head.reason = min(13, range.upperBound)..<range.upperBound
    }

    private mutating func readField(
        _ bytes: Span<UInt8>, _ line: Range<Int>
    ) throws(MessageFailure) {
        let field = try RequestHead.Field(bytes, line)
        guard head.fields.count < Self.fieldLimit else {
            throw MessageFailure(502, "there are more than \(Self.fieldLimit) fields")
        }
        head.fields.append(field)
        switch field.name.count {
        case 4 where RequestHead.matches(bytes, field.name, "date"): head.hasDate = true
        case 7 where RequestHead.matches(bytes, field.name, "upgrade"): head.upgrade = field.value
        case 10 where RequestHead.matches(bytes, field.name, "connection"):
            head.connection.note(bytes, field.value)
        default: try framing.note(bytes, field)
        }
    }
}

/// The head of an upstream's answer, as positions in the bytes it was read from.
struct UpstreamHead {
    var status = 0
    var minorVersion = 1
    var reason = 0..<0
    var fields: [RequestHead.Field] = []
    var length: Int64?
    var framing: BodyFraming?
    var connection = ConnectionField()
    var hasDate = false
    var upgrade: Range<Int>?

    var isKeepAlive: Bool {
        !connection.closes && (minorVersion == 1 || connection.keepsAlive)
    }

    func framing(toHead: Bool) -> BodyFraming {
        if toHead || status < 200 || status == 204 || status == 304 { return .none }
        return framing ?? .untilClose
    }

    mutating func clear() {
        fields.removeAll(keepingCapacity: true)
        length = nil
        framing = nil
        connection.clear()
        hasDate = false
        upgrade = nil
    }
}
