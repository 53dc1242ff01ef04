/// Which requests go to an upstream server, and by what path there.
///
/// A request belongs to the route whose prefix its path begins with, in whole segments: `/api` takes
/// `/api`, `/api/users` and `/api?page=2`, not `/apis`. As with nginx's proxy_pass, a URL with a path
/// replaces the prefix, and one without keeps it:
///
/// | route | request | the upstream sees |
/// |---|---|---|
/// | `/api=http://127.0.0.1:3000` | `/api/users?page=2` | `/api/users?page=2` |
/// | `/api=http://127.0.0.1:3000/` | `/api/users` | `/users` |
/// | `/api=http://127.0.0.1:3000/v1` | `/api/users` | `/v1/users` |
/// | `/api=http://127.0.0.1:3000/v1` | `/api` | `/v1` |
///
/// With stars it is a pattern, and the whole path must fit (`ProxyPattern`); a URL with a path replaces
/// what stands before the first segment with a star:
///
/// | route | request | the upstream sees |
/// |---|---|---|
/// | `/users/*/avatar=http://127.0.0.1:4000` | `/users/7/avatar` | `/users/7/avatar` |
/// | `/users/*/avatar=http://127.0.0.1:4000/img` | `/users/7/avatar` | `/img/7/avatar` |
/// | `/**/*.json=http://127.0.0.1:4000` | `/a/b.json` | `/a/b.json` |
///
/// A slash at the end of prefix or URL means nothing, other than in nginx, where its absence glues
/// names together; only for the prefix itself, `/v1/` is sent as it is written.
public struct ProxyRoute: Sendable, Hashable {
    /// From its slash, without one at the end; empty for all paths.
    ///
    /// Of a pattern, what stands before the first segment with a star.
    let prefix: [UInt8]
    /// What the path must fit; `nil` where the prefix decides.
    let pattern: ProxyPattern?
    package let origin: UpstreamOrigin
    /// The URL's path as written; `nil` when the URL has none.
    let base: [UInt8]?
    /// The URL's path without a slash at its end.
    private let baseStart: [UInt8]

    init(
        prefix: [UInt8], pattern: ProxyPattern? = nil, origin: UpstreamOrigin, base: [UInt8]?
    ) {
        self.prefix = prefix.last == 47 ? prefix.dropLast() : prefix
        self.pattern = pattern
        self.origin = origin
        self.base = base
        let start = base ?? []
        baseStart = start.last == 47 ? start.dropLast() : start
    }

    /// Whether a request of that path belongs here.
    func takes(_ head: RequestHead) -> Bool {
        if let pattern { return pattern.matches(head.bytes[head.path]) }
        return head.bytes[head.path].first == 47 && head.isBelow(prefix)
    }

    /// Writes the target that the upstream gets: path and query, nothing decoded.
    func appendTarget(of head: RequestHead, to bytes: inout [UInt8]) {
        if let base {
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

    /// How closely it describes paths: the closest of those that take one decides.
    var weight: Int { pattern?.weight ?? prefix.count }
}

/// Where an upstream server listens, and how it is spoken to: what a URL says before its path.
package struct UpstreamOrigin: Sendable, Hashable, CustomStringConvertible {
    /// A name in lower case or an address, without brackets.
    package let host: String
    package let port: UInt16
    /// As it stands in a Host field: without the scheme's own port, with the brackets of IPv6.
    package let authority: String
    /// Whether it is spoken to by TLS.
    package let isSecure: Bool

    package var description: String { "\(isSecure ? "https" : "http")://\(authority)" }
}
