import Platform

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

    private let limits: Limits
    /// Where the head begins: after the empty lines that some clients send first.
    private var start = 0
    private var lines = HeadLines()
    private var cookieByteCount = 0
    private var framing = FramingFields()
    private var hosts = 0
    private var expectsSomethingElse = false

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

    // MARK: RFC 9112, section 3: method SP request-target SP HTTP-version

    private mutating func readRequestLine(
        _ bytes: Span<UInt8>, _ line: Range<Int>
    ) throws(MessageFailure) {
        var position = line.lowerBound
        while position < line.upperBound, ByteClass.isToken(bytes[position]) { position += 1 }
        guard position < line.upperBound, bytes[position] == 32 else {
            throw MessageFailure(400, "the method is not a token, or nothing follows it")
        }
        guard position - line.lowerBound <= 32 else {
            throw MessageFailure(501, "the method is over 32 bytes")
        }
        head.method = Self.method(bytes, line.lowerBound..<position)

        let target = position + 1
        position = target
        var query: Int?
        var isASCII = true
        // Most of a path is ordinary: eight bytes at a time.
        while position + 8 <= line.upperBound, Self.arePlain(bytes, at: position) { position += 8 }
        while position < line.upperBound, bytes[position] != 32 {
            switch bytes[position] {
            // Escapes in a query are not checked: browsers send `/?q=100%` as it is.
            case 37: if query == nil { try checkEscape(bytes, position, line.upperBound) }
            case 63: if query == nil { query = position }
            case 0x80... where limits.takesUTF8: isASCII = false
            case let byte where !ByteClass.isTarget(byte):
                throw MessageFailure(
                    400, "the target contains a byte that is not allowed there; escape it")
            default: break
            }
            position += 1
        }
        guard position > target else {
            throw MessageFailure(400, "the request line has no target, or two spaces in a row")
        }
        guard position - target <= limits.target else {
            throw MessageFailure(414, "the target is over \(limits.target) bytes")
        }
        guard isASCII || Self.isUTF8(bytes.extracting(target..<position)) else {
            throw MessageFailure(400, "the target is not UTF-8; escape it")
        }
        try readVersion(bytes, position..<line.upperBound)
        try readTarget(bytes, target..<position, query: query)
    }

    private static func isUTF8(_ bytes: Span<UInt8>) -> Bool {
        bytes.withUnsafeBufferPointer { String(validating: $0, as: UTF8.self) != nil }
    }

    /// Whether eight bytes are allowed in a target and none is `?` or `%`.
    @inline(__always)
    private static func arePlain(_ bytes: Span<UInt8>, at position: Int) -> Bool {
        let word = bytes.bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self)
        let high: UInt64 = 0x8080_8080_8080_8080
        // "Is any byte below n" and "is any byte n", all at once (Bit Twiddling Hacks, haszero, hasless).
        var found = word | (word &- 0x2121_2121_2121_2121) & ~word
        for byte: UInt64 in [35, 37, 63, 127] {
            let rest = word ^ (byte &* 0x0101_0101_0101_0101)
            found |= (rest &- 0x0101_0101_0101_0101) & ~rest
        }
        return found & high == 0
    }

    private func checkEscape(
        _ bytes: Span<UInt8>, _ position: Int, _ end: Int
    ) throws(MessageFailure) {
        guard position + 2 < end, let high = Hex.value(ofEitherCase: bytes[position + 1]),
            let low = Hex.value(ofEitherCase: bytes[position + 2])
        else {
            throw MessageFailure(400, "a percent sign without two hexadecimal digits")
        }
        guard high | low != 0 else { throw MessageFailure(400, "the target holds %00") }
    }

    private mutating func readVersion(
        _ bytes: Span<UInt8>, _ range: Range<Int>
    ) throws(MessageFailure) {
        guard range.count == 9 else {
            throw MessageFailure(400, "the request line does not end with a version of HTTP")
        }
        let start = range.lowerBound
        let isHTTP =
            bytes[start + 1] == 72 && bytes[start + 2] == 84 && bytes[start + 3] == 84
            && bytes[start + 4] == 80 && bytes[start + 5] == 47 && bytes[start + 7] == 46
        let major = bytes[start + 6] &- 48
        let minor = bytes[start + 8] &- 48
        guard isHTTP, major <= 9, minor <= 9 else {
            throw MessageFailure(400, "the request line does not end with a version of HTTP")
        }
        guard major == 1 else {
            throw MessageFailure(505, "this server speaks only HTTP/1.1 and HTTP/1.0")
        }
        // RFC 9110, section 6.2: a higher minor version is treated as the highest one known.
        head.minorVersion = min(Int(minor), 1)
    }

    /// The four forms of RFC 9112, section 3.2.
    private mutating func readTarget(
        _ bytes: Span<UInt8>, _ target: Range<Int>, query: Int?
    ) throws(MessageFailure) {
        let end = query ?? target.upperBound
        if let query { head.query = query + 1..<target.upperBound }
        if case .connect = head.method {
            throw MessageFailure(501, "this server does not support CONNECT")
        }
        if bytes[target.lowerBound] == 47 {
            head.path = target.lowerBound..<end
            return
        }
        if target.count == 1, bytes[target.lowerBound] == 42 {
            guard case .options = head.method else {
                throw MessageFailure(400, "the target * is only for OPTIONS")
            }
            head.path = target
            return
        }
        guard let authority = Self.afterScheme(bytes, target) else {
            throw MessageFailure(400, "the target is neither a path nor an http URL")
        }
        var position = authority
        while position < end, bytes[position] != 47 { position += 1 }
        guard Self.isAuthority(bytes, authority..<position) else {
            throw MessageFailure(400, "the target does not name a host")
        }
        head.authority = authority..<position
        // An empty path means /: the second slash before the host stands for it.
        head.path = position < end ? position..<end : authority - 1..<authority
    }

    private static func afterScheme(_ bytes: Span<UInt8>, _ target: Range<Int>) -> Int? {
        for scheme: StaticString in ["http://", "https://"] {
            let end = target.lowerBound + scheme.utf8CodeUnitCount
            guard end < target.upperBound else { continue }
            if RequestHead.matches(bytes, target.lowerBound..<end, scheme) { return end }
        }
        return nil
    }

    private static func method(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Method {
        if isExactly(bytes, range, "GET") { return .get }
        if isExactly(bytes, range, "HEAD") { return .head }
        if isExactly(bytes, range, "POST") { return .post }
        if isExactly(bytes, range, "PUT") { return .put }
        if isExactly(bytes, range, "DELETE") { return .delete }
        if isExactly(bytes, range, "OPTIONS") { return .options }
        if isExactly(bytes, range, "PATCH") { return .patch }
        if isExactly(bytes, range, "CONNECT") { return .connect }
        if isExactly(bytes, range, "TRACE") { return .trace }
        return .other(
            bytes.withUnsafeBufferPointer { String(decoding: $0[range], as: UTF8.self) })
    }

    private static func isExactly(
        _ bytes: Span<UInt8>, _ range: Range<Int>, _ name: StaticString
    ) -> Bool {
        guard range.count == name.utf8CodeUnitCount else { return false }
        for offset in 0..<range.count
        where bytes[range.lowerBound + offset] != name.utf8Start[offset] {
            return false
        }
        return true
    }

    // MARK: RFC 9112, sections 5 and 6

    private mutating func readField(
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
    private func finish() throws(MessageFailure) -> BodyFraming {
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

/// Cuts the head of a request or answer into lines as its bytes come (RFC 9112, section 2.2).
///
/// Each line ends with CR LF. Other control characters are refused, except tabs after line one.
struct HeadLines: Sendable {
    private(set) var start = 0
    private var scanned = 0

    var hasBegun: Bool { scanned > 0 }
    var isInFirst: Bool { start == 0 }

    /// The next line without its line end, in the first `limit` bytes of the head; `nil` if it has not come.
    mutating func next(_ bytes: Span<UInt8>, limit: Int) throws(MessageFailure) -> Range<Int>? {
        let end = min(bytes.count, limit)
        while let position = Self.firstControl(bytes, from: scanned, to: end) {
            switch bytes[position] {
            case 13:
                guard position + 1 < end else {
                    scanned = position
                    return nil
                }
                guard bytes[position + 1] == 10 else {
                    throw MessageFailure(400, "a carriage return comes without a line feed")
                }
                let line = start..<position
                start = position + 2
                scanned = start
                return line
            case 9 where start > 0: scanned = position + 1
            case 10: throw MessageFailure(400, "a line feed comes without a carriage return")
            default: throw MessageFailure(400, "the head contains a control character")
            }
        }
        scanned = end
        return nil
    }

    /// The first byte below 32, or 127, eight bytes at a time.
    private static func firstControl(
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

/// Why a message is refused, after which the connection closes: where the next one would begin is unknown.
package struct MessageFailure: Error, Sendable, Hashable {
    /// The status to answer a request with; a fault in an upstream's answer always becomes a 502.
    package let status: Int
    /// What is wrong, for the author of the other side.
    package let sentence: String

    package init(_ status: Int, _ sentence: String) {
        self.status = status
        self.sentence = sentence
    }
}
