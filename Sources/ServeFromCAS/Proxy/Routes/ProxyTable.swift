package import CASStore

/// The proxy: which requests go to which upstream.
///
/// Names are looked up when it is made, on threads of their own. Safe to use from all loops.
package final class ProxyTable: Sendable {
    package let options: ProxyOptions
    private let routes: [(route: ProxyRoute, upstream: Upstream)]

    /// Makes a table; the longest prefix that fits decides, not the order.
    /// - Throws: `.malformedRoute` when two routes have one prefix.
    package init(
        _ routes: [ProxyRoute], options: ProxyOptions = ProxyOptions()
    ) throws(StoreError) {
        self.options = options
        var upstreams: [UpstreamOrigin: Upstream] = [:]
        var table: [(route: ProxyRoute, upstream: Upstream)] = []
        var prefixes: Set<[UInt8]> = []
        for route in routes {
            guard prefixes.insert(route.prefix).inserted else {
                let name = printable(String(decoding: route.prefix + [47], as: UTF8.self))
                throw StoreError(
                    .malformedRoute, "two proxy routes have the prefix \(name); leave one out")
            }
            let upstream = upstreams[route.origin] ?? Upstream(route.origin)
            upstreams[route.origin] = upstream
            table.append((route, upstream))
        }
        self.routes = table.sorted { $0.route.prefix.count > $1.route.prefix.count }
        for upstream in upstreams.values { upstream.resolve() }
    }

    package var isEmpty: Bool { routes.isEmpty }

    /// What becomes of a request; `nil` if no route takes it.
    ///
    /// Whether the client may ask at all (Host, Origin, token) is to be decided before.
    package func answer(_ head: RequestHead) -> Answer? {
        for (route, upstream) in routes where route.takes(head) {
            if let objection = ProxyPath.objection(to: head.bytes[head.path]) {
                return .response(PlainAnswer.response(400, objection, method: head.method))
            }
            return .streaming { [options] client in
                let exchange = ProxyExchange(client, route, upstream, options)
                exchange.start()
                return exchange
            }
        }
        return nil
    }
}
