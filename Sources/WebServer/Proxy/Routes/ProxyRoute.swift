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
