/// Who a request is from, where a server in front of this one says so in `X-Forwarded-For`.
///
/// Such a server appends the address that it was asked from, and what stands before that anybody may have written. So the
/// list counts from its end, as far as servers that are named here have written it, and only if one of them asks
/// (nginx.org, ngx_http_realip_module, with `real_ip_recursive on`). `Forwarded` (RFC 7239) is not looked at: the usual
/// servers pass on the one that a client has made up.
package struct ForwardedClients: Sendable {
    private let proxies: [AddressBlock]

    /// Believes these servers; by default none.
    ///
    /// - Parameter proxies: where they ask from.
    package init(by proxies: [AddressBlock] = []) { self.proxies = proxies }

    /// The client that a request is from: an address, whatever the request says.
    ///
    /// - Parameters:
    ///   - head: the request.
    ///   - peer: who is at the other end of the connection.
    package func client(of head: RequestHead, from peer: SocketAddress?) -> SocketAddress? {
        guard !proxies.isEmpty, var last = peer, isProxy(last) else { return peer }
        for field in head.values(of: "x-forwarded-for").reversed() {
            var elements: [RequestHead.Slice] = []
            var list = ListElements(field)
            while let element = list.next(head.bytes.span) { elements.append(element) }
            for element in elements.reversed() {
                // What is no address, a proxy has not written; the longest has 45 letters.
                guard element.count <= 45,
                    let next = SocketAddress(literal: head.text(element), port: 0)
                else { return last }
                last = next.unmapped
                if !isProxy(last) { return last }
            }
        }
        return last
    }

    /// Whether a server at an address is believed.
    func isProxy(_ address: SocketAddress) -> Bool {
        proxies.contains { $0.contains(address) }
    }
}
