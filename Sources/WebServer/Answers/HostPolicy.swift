/// Which hosts a request may name, so that a site whose name resolves to this machine (DNS rebinding) cannot read
/// anything.
///
/// A browser always sends the name in the page's address, and no script can change it.
package struct HostPolicy: Sendable, Hashable {
    // Whole authorities, and hosts that are allowed at any port.
    private var authorities: Set<[UInt8]> = []
    private var hosts: Set<[UInt8]> = []

    /// Allows `localhost`, `127.0.0.1` and `[::1]` at a port, and more names.
    /// - Parameter names: hosts as in a URL, `kiosk.example` or `kiosk.example:8080`. A name without a port is
    ///   allowed at any, because a proxy in front has its own.
    package init(port: UInt16, names: [String] = []) {
        for host in Self.loopback {
            authorities.insert(Array("\(host):\(port)".utf8))
            // Browsers leave out the scheme's default port.
            if port == 80 || port == 443 { authorities.insert(Array(host.utf8)) }
        }
        for name in names {
            let name = name.utf8.map { FieldText.lowercased($0) }
            if Self.host(name) == nil { hosts.insert(name) } else { authorities.insert(name) }
        }
    }

    /// The names by which a server on the loopback interface is known.
    package static let loopback = ["localhost", "127.0.0.1", "[::1]"]

    package static func isLoopback(_ authority: ArraySlice<UInt8>) -> Bool {
        let authority = authority.map { FieldText.lowercased($0) }
        let name = host(authority) ?? authority
        return loopback.contains { name.elementsEqual($0.utf8) }
    }

    /// Whether a text is a host as in a URL, with or without a port: `kiosk.example`, `[fd00::1]:8080`.
    package static func isHost(_ text: String) -> Bool {
        // The reason why it is not a host does not matter.
        guard let host = try? URLHost(text.utf8) else { return false }
        return host.host.contains { $0 != "." }
    }

    /// The refusal of a request that names another host; `nil` if it may pass.
    ///
    /// A request without a Host field (HTTP/1.0) passes: no browser sends one.
    package func refusal(of request: borrowing RequestHead) -> Response? {
        // The authority of an absolute target takes precedence (RFC 9112, section 3.2.2). Both must be ours, because
        // nothing can make a browser send a wrong one.
        for slice in [request.authority, request.host] {
            if let slice, !allows(request.bytes[slice]) {
                return PlainAnswer.response(
                    421, "This server does not answer to that host name.",
                    method: request.method)
            }
        }
        return nil
    }

    package func allows(_ authority: ArraySlice<UInt8>) -> Bool {
        let authority = authority.map { FieldText.lowercased($0) }
        return authorities.contains(authority) || hosts.contains(Self.host(authority) ?? authority)
    }

    private static func host(_ authority: [UInt8]) -> [UInt8]? {
        guard let colon = authority.lastIndex(of: 58), colon > 0 else { return nil }
        let port = authority[(colon + 1)...]
        guard (1...5).contains(port.count), port.allSatisfy({ $0 >= 48 && $0 <= 57 }) else {
            return nil
        }
        return Array(authority[..<colon])
    }
}
