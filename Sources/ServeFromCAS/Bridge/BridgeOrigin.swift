import WebServer

/// A request's origin: this server's page or not (docs/bridge-protocol.md, "Who may connect").
struct BridgeOrigin: Sendable, Hashable {
    /// The authority that the request names: an absolute target's, else the Host field's.
    var host: String?
    var origin: String?
    var fetchSite: String?
    /// Whether it carries the server's token or the id of a living session.
    var hasSecret = false

    /// - Parameter hosts: names without a port; an IPv6 address in brackets.
    func isAllowed(hosts: [String] = HostPolicy.loopback) -> Bool {
        guard let host = host?.lowercased(), let name = Self.name(of: host) else { return false }
        // A name matches at any port, `name:port` only at that one.
        let isKnown = hosts.contains { allowed in
            let allowed = allowed.lowercased()
            return allowed.utf8.elementsEqual(name.utf8) || allowed.utf8.elementsEqual(host.utf8)
        }
        guard isKnown else { return false }
        if let origin = origin?.lowercased() {
            return Self.isSame(origin, host, scheme: "http", port: ":80")
                || Self.isSame(origin, host, scheme: "https", port: ":443")
        }
        if let fetchSite { return fetchSite == "same-origin" || fetchSite == "none" }
        return hasSecret
    }

    /// The name in an authority; `nil` unless the rest is a port.
    private static func name(of host: String) -> Substring? {
        let end: String.Index
        if host.hasPrefix("[") {
            guard let bracket = host.firstIndex(of: "]") else { return nil }
            end = host.index(after: bracket)
        } else {
            end = host.firstIndex(of: ":") ?? host.endIndex
        }
        let port = host[end...]
        guard port.isEmpty || port.utf8.first == 58 else { return nil }
        guard port.utf8.dropFirst().allSatisfy({ (48...57).contains($0) }) else { return nil }
        return host[..<end]
    }

    private static func isSame(
        _ origin: String, _ host: String, scheme: String, port: String
    ) -> Bool {
        guard origin.hasPrefix(scheme + "://") else { return false }
        func plain(_ authority: Substring) -> Substring {
            guard authority.hasSuffix(port) else { return authority }
            let name = authority.dropLast(port.count)
            // `[::80]` ends in a bracket, so the part cut off was a port.
            return name.isEmpty ? authority : name
        }
        let authority = plain(origin.dropFirst(scheme.count + 3))
        return authority.utf8.elementsEqual(plain(host[...]).utf8)
    }
}

extension BridgeOrigin {
    /// Two fields of the same name count as one that is not allowed.
    init(_ head: RequestHead, hasSecret: Bool) {
        func only(_ name: StaticString) -> String? {
            let values = head.values(of: name)
            return values.count > 1 ? "null" : values.first.map { head.text($0) }
        }
        self.init(
            host: head.authority.map { head.text($0) } ?? only("host"),
            origin: only("origin"), fetchSite: only("sec-fetch-site"), hasSecret: hasSecret)
    }
}
