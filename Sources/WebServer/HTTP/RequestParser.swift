/// Reads the head of a request as strictly as RFC 9112 allows.
///
/// Pass it all bytes received since the request began, again each time more arrive. It continues where it stopped, so
/// bytes that come one by one cost no more than bytes that come together, and the outcome does not depend on where
/// they are split. It refuses malformed heads and never guesses. For one thread at a time.
package struct RequestParser: Sendable {
    package struct Limits: Sendable, Hashable {
        /// Bytes of the whole head, including empty lines before it: above it 431.
        package var head = 16_384
        /// Bytes of Cookie fields, which do not count as part of the head: above it 431.
        ///
        /// A browser sends the cookies of all servers of a host's name, at whatever port.
        package var cookies = 0
        /// Header fields: above it 431.
        package var fields = 100
        /// Bytes of the request target: above it 414.
        package var target = 8192
        /// Whether bytes from 0x80 on may occur in a target if together they are UTF-8; otherwise 400.
        ///
        /// RFC 9112 wants them escaped. Some clients that cannot be changed send them raw (cordova-hot-code-push).
        package var takesUTF8 = false

        package init() {}
    }

    package enum Outcome: Sendable, Hashable {
        case needMore
        /// ``head`` is complete: it took the first `consumed` bytes, and its body follows.
        case head(consumed: Int, framing: BodyFraming)
        case failure(MessageFailure)
    }

    package internal(set) var head = RequestHead()

    let limits: Limits
    /// Where the head begins: after the empty lines that some clients send first.
    private var start = 0
    private var lines = HeadLines()
    private var cookieByteCount = 0
    var framing = FramingFields()
    var hosts = 0
    var expectsSomethingElse = false

    package init(limits: Limits = Limits()) { self.limits = limits }

    /// Prepares for the next request; memory is kept.
    package mutating func reset() {
        head.clear()
        start = 0
        lines = HeadLines()
        cookieByteCount = 0
        framing = FramingFields()
        hosts = 0
        expectsSomethingElse = false
    }

    /// Continues with `bytes`, which begin with the request and hold everything received so far.
    ///
    /// After `.head` or `.failure` call ``reset()`` before the next request.
    package mutating func parse(_ bytes: Span<UInt8>) -> Outcome {
        do throws(MessageFailure) {
            guard try skipEmptyLines(bytes) else { return .needMore }
            let rest = bytes.extracting(start...)
            while let line = try lines.next(rest, limit: limit(rest)) {
                if line.lowerBound == 0 {
                    try readRequestLine(rest, line)
                } else if !line.isEmpty {
                    try readField(rest, line)
                    if limits.cookies > 0, isCookie(rest, line.lowerBound) {
                        cookieByteCount += line.count + 2
                    }
                } else {
                    let framing = try finish()
                    head.bytes.append(rest, 0..<line.upperBound + 2)
                    return .head(consumed: start + line.upperBound + 2, framing: framing)
                }
            }
            guard rest.count < limit(rest) else { throw tooLong(rest) }
            return .needMore
        } catch {
            return .failure(error)
        }
    }

    /// RFC 9112, section 2.2: a server ignores at least one empty line before the request.
    private mutating func skipEmptyLines(_ bytes: Span<UInt8>) throws(MessageFailure) -> Bool {
        guard !lines.hasBegun else { return true }
        while start < bytes.count {
            if ByteClass.isToken(bytes[start]) { return true }
            if bytes[start] == 13, start + 1 == bytes.count { return false }
            // At most four.
            guard bytes[start] == 13, bytes[start + 1] == 10, start < 8 else {
                throw MessageFailure(400, "the request does not begin with a method")
            }
            start += 2
        }
        return false
    }

    private func limit(_ bytes: Span<UInt8>) -> Int {
        let limit = limits.head - start + cookieByteCount
        guard limits.cookies > 0, isCookie(bytes, lines.start) else { return limit }
        return max(limit, lines.start + limits.cookies - cookieByteCount)
    }

    private func isCookie(_ bytes: Span<UInt8>, _ start: Int) -> Bool {
        guard start > 0, start < bytes.count else { return false }
        let name: StaticString = "cookie:"
        let count = min(name.utf8CodeUnitCount, bytes.count - start)
        for offset in 0..<count
        where FieldText.lowercased(bytes[start + offset]) != name.utf8Start[offset] {
            return false
        }
        return true
    }

    private func tooLong(_ bytes: Span<UInt8>) -> MessageFailure {
        if limits.cookies > 0, isCookie(bytes, lines.start) {
            return MessageFailure(431, "the cookies are over \(limits.cookies) bytes")
        }
        return lines.isInFirst
            ? MessageFailure(414, "the request line is over \(limits.head) bytes")
            : MessageFailure(431, "the head is over \(limits.head) bytes")
    }
}
