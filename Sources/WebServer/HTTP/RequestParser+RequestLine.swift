import Platform

// RFC 9112, section 3: method SP request-target SP HTTP-version.
extension RequestParser {
    mutating func readRequestLine(
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
}
