public import Platform

/// Which requests go to an upstream server, and which path they have there.
///
/// A request belongs to a route if its path begins with the route's prefix, in whole segments:
/// `/api` takes `/api`, `/api/users` and `/api?page=2`, not `/apis`. As in nginx's proxy_pass, a
/// URL with a path replaces the prefix, and one without keeps it:
///
/// | route | request | the upstream sees |
/// |---|---|---|
/// | `/api=http://127.0.0.1:3000` | `/api/users?page=2` | `/api/users?page=2` |
/// | `/api=http://127.0.0.1:3000/` | `/api/users` | `/users` |
/// | `/api=http://127.0.0.1:3000/v1` | `/api/users` | `/v1/users` |
/// | `/api=http://127.0.0.1:3000/v1` | `/api` | `/v1` |
///
/// A prefix with stars is a pattern, which the whole path must match (`ProxyPattern`); a URL with a
/// path replaces everything before the first segment with a star:
///
/// | route | request | the upstream sees |
/// |---|---|---|
/// | `/users/*/avatar=http://127.0.0.1:4000` | `/users/7/avatar` | `/users/7/avatar` |
/// | `/users/*/avatar=http://127.0.0.1:4000/img` | `/users/7/avatar` | `/img/7/avatar` |
/// | `/**/*.json=http://127.0.0.1:4000` | `/a/b.json` | `/a/b.json` |
///
/// A URL whose path names stars, `$1` to `$9`, is a template: what the stars stand for goes into it (`ProxyTemplate`).
///
/// | route | request | the upstream sees |
/// |---|---|---|
/// | `/users/*/avatar=http://127.0.0.1:4000/img/$1.png` | `/users/7/avatar` | `/img/7.png` |
///
/// A slash at the end of prefix or URL means nothing. (In nginx, leaving it out glues names
/// together.) Only for the prefix itself, `/v1/` is sent as it is written.
public struct ProxyRoute: Sendable, Hashable {
    /// Begins with a slash and ends without one, before the first segment with a star; empty for all paths.
    let prefix: [UInt8]
    /// What the path must match; `nil` if the prefix decides.
    let pattern: ProxyPattern?
    package let origin: UpstreamOrigin
    let base: [UInt8]?
    let template: ProxyTemplate?
    private let baseStart: [UInt8]

    init(
        prefix: [UInt8], pattern: ProxyPattern? = nil, origin: UpstreamOrigin, base: [UInt8]?
    ) {
        self.prefix = prefix.last == 47 ? prefix.dropLast() : prefix
        self.pattern = pattern
        self.origin = origin
        self.base = base
        template = base.flatMap { ProxyTemplate($0, of: pattern) }
        let start = base ?? []
        baseStart = start.last == 47 ? start.dropLast() : start
    }

    func takes(_ head: RequestHead) -> Bool { takes(head.bytes[head.path]) }

    func takes(_ path: ArraySlice<UInt8>) -> Bool {
        if let pattern { return pattern.matches(path) }
        guard path.first == 47, path.starts(with: prefix) else { return false }
        return path.count == prefix.count || path[path.startIndex + prefix.count] == 47
    }

    func madePath(of head: RequestHead) -> [UInt8]? {
        guard let template, let captures = pattern?.captures(of: head.bytes[head.path]) else {
            return nil
        }
        return template.path(with: captures)
    }

    /// Writes the target that the upstream gets: path and query, with nothing decoded.
    func appendTarget(of head: RequestHead, to bytes: inout [UInt8]) {
        if let made = madePath(of: head) {
            bytes.append(contentsOf: made)
        } else if let base {
            let rest = head.path.lowerBound + prefix.count..<head.path.upperBound
            if rest.isEmpty {
                bytes.append(contentsOf: base)
            } else {
                bytes.append(contentsOf: baseStart)
                bytes.append(contentsOf: head.bytes[rest])
            }
        } else {
            bytes.append(contentsOf: head.bytes[head.path])
        }
        guard let query = head.query else { return }
        guard OwnSecrets.mayStand(in: head.bytes[query]) else {
            bytes.append(63)
            bytes.append(contentsOf: head.bytes[query])
            return
        }
        let kept = OwnSecrets.withoutParameters(head.bytes[query])
        if !kept.isEmpty { bytes.append(contentsOf: [63] + kept) }
    }

    /// The path at which the client finds a path of the upstream; `nil` if this route does not lead there.
    /// - Parameter path: begins with a slash; what follows `?` or `#` stays.
    func path(ofUpstream path: ArraySlice<UInt8>) -> [UInt8]? {
        if let template { return self.path(ofUpstream: path, by: template) }
        let start = base == nil ? prefix : baseStart
        guard path.starts(with: start) else { return nil }
        let rest = path.dropFirst(start.count)
        guard rest.first.map({ [47, 63, 35].contains($0) }) ?? true else { return nil }
        var result = prefix + rest
        if result.first != 47 { result.insert(47, at: 0) }
        // Two slashes would name another server.
        if result.starts(with: [47, 47]) { return nil }
        let only = result.prefix { $0 != 63 && $0 != 35 }
        return pattern.map { $0.matches(only) } ?? true ? result : nil
    }

    private func path(
        ofUpstream path: ArraySlice<UInt8>, by template: ProxyTemplate
    ) -> [UInt8]? {
        let only = path.prefix { $0 != 63 && $0 != 35 }
        guard let pattern, let captures = template.captures(of: only) else { return nil }
        let own = pattern.path(with: captures)
        // As above. Also, the upstream's path may not map to a path of this route.
        if own.starts(with: [47, 47]) || !pattern.matches(own[...]) { return nil }
        return own + path.dropFirst(only.count)
    }

    /// How specific it is: of the routes that take a path, the most specific one decides.
    var weight: Int { pattern?.weight ?? prefix.count }

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

/// Where an upstream server listens, and whether over TLS: the part of a URL before its path.
package struct UpstreamOrigin: Sendable, Hashable, CustomStringConvertible {
    /// A lower-case name, or an address without brackets.
    package let host: String
    package let port: UInt16
    /// As in a Host field: without the scheme's default port, with brackets around an IPv6 address.
    package let authority: String
    package let isSecure: Bool

    package var description: String { "\(isSecure ? "https" : "http")://\(authority)" }
}

extension StoreError.Code {
    /// A proxy route is malformed, or asks for something that is not offered.
    public static let malformedRoute = Self("malformedRoute")
}

/// How requests are passed on; durations are in milliseconds.
package struct ProxyOptions: Sendable {
    package var connect: Int64 = 5000
    /// The TLS handshake with an https upstream: above it 504.
    package var handshake: Int64 = 10_000
    /// A file of certificates (PEM) to trust in addition to the system's authorities.
    package var authorities: String?
    /// From the end of the request to the head of the answer: above it 504.
    package var head: Int64 = 60_000
    /// Between two pieces of a body, in either direction.
    package var stall: Int64 = 60_000
    /// How long a client waits for its 100 while the upstream sends none.
    package var continueWait: Int64 = 1000
    /// How long a connection is kept for the next request; servers keep theirs longer.
    package var poolIdle: Int64 = 4000
    package var poolSize = 64
    /// The longest idle time of a pooled connection that may carry an unrepeatable request.
    package var poolFresh: Int64 = 1000
    package var tunnelIdle: Int64 = 3_600_000
    /// Bytes in memory that may wait for one side before the other side has to wait.
    package var outputLimit = 128 << 10
    var lookUp: NameLookUp.Function = NameLookUp.addresses
    package var scheme = "http"
    /// Whether cookies for https alone stay so for a browser at an http address of this machine.
    package var keepsSecureCookies = false

    package init() {}
}
