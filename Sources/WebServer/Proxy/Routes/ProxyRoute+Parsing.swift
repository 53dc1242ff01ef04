public import Platform

extension StoreError.Code {
    /// A proxy route is malformed, or asks for something that is not offered.
    public static let malformedRoute = Self("malformedRoute")
}

extension ProxyRoute {
    /// Reads `PREFIX=URL`, such as `/api=http://127.0.0.1:3000/v1`, or `PATTERN=URL`, such as
    /// `/users/*/avatar=http://127.0.0.1:4000/img/$1`.
    ///
    /// - Throws: `.malformedRoute` with a sentence that says what to write instead.
    public init(_ text: String) throws(StoreError) {
        let bytes = Array(text.utf8)
        guard let equals = bytes.firstIndex(of: 61) else {
            throw Self.malformed(text, "write PREFIX=URL, as in /api=http://127.0.0.1:3000")
        }
        let prefix = Array(bytes[..<equals])
        guard prefix.first == 47 else {
            throw Self.malformed(text, "the prefix must begin with a slash")
        }
        guard Self.isPath(prefix) else {
            throw Self.malformed(
                text, "the prefix must be a path without query, fragment, space and dot segments")
        }
        let pattern = try Self.pattern(prefix, text)
        let fixed = pattern?.fixed ?? prefix
        guard
            !fixed.starts(with: Self.reserved)
                || fixed.dropFirst(Self.reserved.count).first ?? 47 != 47
        else {
            throw Self.malformed(
                text,
                "/_castree and what is below it is answered by this server; choose another prefix"
            )
        }
        var rest = bytes[(equals + 1)...]
        guard let scheme = Self.takeScheme(&rest) else {
            throw Self.malformed(text, "the URL must begin with http:// or https://")
        }
        guard scheme == "http" || scheme == "https" else {
            throw Self.malformed(
                text, "only http:// and https:// are possible, not \(printable(scheme))://")
        }
        let end = rest.firstIndex { $0 == 47 || $0 == 63 || $0 == 35 } ?? rest.endIndex
        let origin = try Self.origin(rest[..<end], isSecure: scheme == "https", text)
        let path = Array(rest[end...])
        guard path.isEmpty || Self.isPath(path) else {
            throw Self.malformed(
                text, "the URL must end with its path: no query, fragment, space or dot segment")
        }
        if let star = ProxyTemplate(path, of: pattern)?.captures.max(),
            star >= pattern?.captureCount ?? 0
        {
            throw Self.malformed(
                text,
                "$\(star + 1) stands for a star that the prefix does not have; write %24 for a dollar sign "
                    + "before a digit")
        }
        self.init(
            prefix: fixed, pattern: pattern, origin: origin, base: path.isEmpty ? nil : path)
    }

    private static let reserved = Array("/_castree".utf8)

    private static func pattern(_ path: [UInt8], _ text: String) throws(StoreError) -> ProxyPattern?
    {
        guard path.contains(42) else { return nil }
        guard let pattern = ProxyPattern(path) else {
            throw malformed(text, "** must be a whole segment, and stand in a pattern once")
        }
        return pattern
    }

    private static func malformed(_ text: String, _ advice: String) -> StoreError {
        StoreError(.malformedRoute, "the proxy route \(printable(text)) is malformed: \(advice)")
    }

    private static func takeScheme(_ rest: inout ArraySlice<UInt8>) -> String? {
        guard let colon = rest.firstIndex(of: 58), colon > rest.startIndex,
            rest[colon...].starts(with: "://".utf8)
        else { return nil }
        let scheme = rest[..<colon].map { FieldText.lowercased($0) }
        for byte in scheme {
            let isLetter = byte >= 97 && byte <= 122
            guard isLetter || byte >= 48 && byte <= 57 || byte == 43 || byte == 45 || byte == 46
            else { return nil }
        }
        rest = rest[(colon + 3)...]
        return String(decoding: scheme, as: UTF8.self)
    }

    private static func isPath(_ bytes: [UInt8]) -> Bool {
        guard bytes.first == 47 else { return false }
        for byte in bytes where !ByteClass.isTarget(byte) || byte == 63 { return false }
        for segment in bytes.split(separator: 47) where segment == [46] || segment == [46, 46] {
            return false
        }
        return true
    }

    private static func origin(
        _ authority: ArraySlice<UInt8>, isSecure: Bool, _ text: String
    ) throws(StoreError) -> UpstreamOrigin {
        guard !authority.contains(64) else {
            throw malformed(text, "leave out user name and password; clients send their own")
        }
        do throws(URLHost.Mistake) {
            let host = try URLHost(authority)
            let usual: UInt16 = isSecure ? 443 : 80
            let port = host.port ?? usual
            return UpstreamOrigin(
                host: host.host, port: port,
                authority: port == usual ? host.written : "\(host.written):\(port)",
                isSecure: isSecure)
        } catch {
            switch error {
            case .port: throw malformed(text, "the port must be a number from 1 to 65535")
            case .bracket: throw malformed(text, "a bracket is not closed")
            case .name: throw malformed(text, "the URL names no host")
            }
        }
    }
}
