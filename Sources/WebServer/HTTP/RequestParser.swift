/// Reads the head of a request as strictly as RFC 9112 allows.
///
/// Give it all bytes received since the request began, again and again as they grow: it goes on where
/// it stopped, so bytes that come one by one cost no more than bytes that come together, and where
/// they are split changes nothing about the outcome. What is not well-formed is refused and never
/// guessed at. For one thread at a time.
package struct RequestParser: Sendable {
    /// What a request may be at most.
    package struct Limits: Sendable, Hashable {
        /// Bytes of the whole head, empty lines before it included: beyond it 431.
        package var head = 16_384
        /// Header fields: beyond it 431.
        package var fields = 100
        /// Bytes of the request target: beyond it 414.
        package var target = 8192

        package init() {}
    }

    /// What the bytes have told so far.
    package enum Outcome: Sendable, Hashable {
        /// The head is not complete.
        case needMore
        /// ``head`` is complete; it took the first `consumed` bytes, and its body follows.
        case head(consumed: Int, framing: BodyFraming)
        /// The request is refused: answer with this and close.
        case failure(RequestFailure)
    }

    /// The head, once `parse` has said that it is complete.
    package internal(set) var head = RequestHead()

    let limits: Limits
    /// Where the head begins: after the empty lines that some clients send first.
    private var start = 0
    private var line = 0
    private var scanned = 0
    private var emptyLines = 0
    private var hasRequestLine = false
    var length: Int64?
    var codings = TransferCodings()
    var hosts = 0
    var expectsSomethingElse = false

    package init(limits: Limits = Limits()) { self.limits = limits }

    /// Whether bytes of a head have come.
    package var hasBegun: Bool { scanned > start || hasRequestLine }

    /// Makes it ready for the next request; memory is kept.
    package mutating func reset() {
        head.clear()
        start = 0
        line = 0
        scanned = 0
        emptyLines = 0
        hasRequestLine = false
        length = nil
        codings = TransferCodings()
        hosts = 0
        expectsSomethingElse = false
    }

    /// Goes on with `bytes`, which begin where the request begins and hold all that has come.
    ///
    /// After `.head` or `.failure` call ``reset()`` before the next request.
    package mutating func parse(_ bytes: Span<UInt8>) -> Outcome {
        do throws(RequestFailure) {
            guard try skipEmptyLines(bytes) else { return .needMore }
            while let end = try endOfLine(bytes) {
                if !hasRequestLine {
                    try readRequestLine(bytes, line..<end, base: start)
                    hasRequestLine = true
                } else if end == line {
                    let framing = try finish(bytes)
                    bytes.withUnsafeBufferPointer {
                        head.bytes.append(contentsOf: $0[start..<end + 2])
                    }
                    return .head(consumed: end + 2, framing: framing)
                } else {
                    try readField(bytes, line..<end, base: start)
                }
                line = end + 2
                scanned = line
            }
            return .needMore
        } catch {
            return .failure(error)
        }
    }

    /// RFC 9112, section 2.2: at least one empty line before the request is ignored.
    private mutating func skipEmptyLines(_ bytes: Span<UInt8>) throws(RequestFailure) -> Bool {
        guard scanned == start, !hasRequestLine else { return true }
        while start < bytes.count {
            if bytes[start] != 13 {
                guard ByteClass.isToken(bytes[start]) else {
                    throw RequestFailure(400, "a request begins with its method")
                }
                return true
            }
            guard start + 1 < bytes.count else { return false }
            guard bytes[start + 1] == 10, emptyLines < 4 else {
                throw RequestFailure(400, "a request begins with its method")
            }
            emptyLines += 1
            start += 2
            line = start
            scanned = start
        }
        return false
    }

    /// The position of the CR LF that ends the current line; `nil` if it has not come.
    private mutating func endOfLine(_ bytes: Span<UInt8>) throws(RequestFailure) -> Int? {
        let end = min(bytes.count, limits.head)
        while let position = Self.firstControl(bytes, from: scanned, to: end) {
            switch bytes[position] {
            case 13:
                guard position + 1 < end else {
                    scanned = position
                    return try notYet(bytes.count)
                }
                guard bytes[position + 1] == 10 else {
                    throw RequestFailure(400, "a carriage return stands alone")
                }
                return position
            case 9 where hasRequestLine:
                scanned = position + 1
            case 10:
                throw RequestFailure(400, "a line ends with a line feed alone")
            default:
                throw RequestFailure(400, "a control character stands in the head")
            }
        }
        scanned = end
        return try notYet(bytes.count)
    }

    /// Refuses a head that is over the limit; what is within it may still be completed.
    private func notYet(_ count: Int) throws(RequestFailure) -> Int? {
        guard count >= limits.head else { return nil }
        guard hasRequestLine else {
            throw RequestFailure(414, "the request line is over \(limits.head) bytes")
        }
        throw RequestFailure(431, "the head is over \(limits.head) bytes")
    }

    /// The first byte below 32, or 127, eight bytes at a time.
    static func firstControl(
        _ bytes: Span<UInt8>, from start: Int, to end: Int
    ) -> Int? {
        let raw = bytes.bytes
        var position = start
        while position + 8 <= end {
            let word = UInt64(
                littleEndian: raw.unsafeLoadUnaligned(
                    fromByteOffset: position, as: UInt64.self))
            let high: UInt64 = 0x8080_8080_8080_8080
            let below32 = (word &- 0x2020_2020_2020_2020) & ~word & high
            let deleted = word ^ 0x7F7F_7F7F_7F7F_7F7F
            let is127 = (deleted &- 0x0101_0101_0101_0101) & ~deleted & high
            let found = below32 | is127
            // Bytes above the first hit may be wrong (a borrow), the first never is.
            if found != 0 { return position + found.trailingZeroBitCount / 8 }
            position += 8
        }
        while position < end {
            if bytes[position] < 32 || bytes[position] == 127 { return position }
            position += 1
        }
        return nil
    }
}
