/// The client of a request that a server in front forwards with `X-Forwarded-For`.
///
/// Such a server appends the address of its own client; anyone may have written the addresses before that. So the
/// list is read from its end while the servers are ones named here, and only if one of them sends the request
/// (nginx.org, ngx_http_realip_module, with `real_ip_recursive on`). `Forwarded` (RFC 7239) is ignored, because the
/// usual servers pass on a client's made-up one.
package struct ForwardedClients: Sendable {
    private let proxies: [AddressBlock]

    package init(by proxies: [AddressBlock] = []) { self.proxies = proxies }

    /// The address of a request's client.
    /// - Parameter peer: the other end of the connection.
    package func client(of head: RequestHead, from peer: SocketAddress?) -> SocketAddress? {
        guard !proxies.isEmpty, var last = peer, isProxy(last) else { return peer }
        for field in head.values(of: "x-forwarded-for").reversed() {
            var elements: [RequestHead.Slice] = []
            var list = ListElements(field)
            while let element = list.next(head.bytes.span) { elements.append(element) }
            for element in elements.reversed() {
                // A proxy writes only addresses; the longest has 45 letters.
                guard element.count <= 45,
                    let next = SocketAddress(literal: head.text(element), port: 0)
                else { return last }
                last = next.unmapped
                if !isProxy(last) { return last }
            }
        }
        return last
    }

    func isProxy(_ address: SocketAddress) -> Bool {
        proxies.contains { $0.contains(address) }
    }
}
