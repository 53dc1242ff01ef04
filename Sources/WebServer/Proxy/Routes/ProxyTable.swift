package import Platform

/// The proxy: which requests go to which upstream; thread-safe, and looks up names on other threads.
package final class ProxyTable: Sendable {
    package let options: ProxyOptions
    private let routes: [(route: ProxyRoute, upstream: Upstream)]

    private struct Key: Hashable {
        var prefix: [UInt8]
        var pattern: ProxyPattern?
    }

    /// Makes a table in which the route with the most characters, not counting stars, decides; of equals the first.
    /// - Throws: `.malformedRoute` if two routes have the same prefix or pattern; `.badCertificate` if nothing could
    ///   make an https upstream trusted.
    package init(
        _ routes: [ProxyRoute], options: ProxyOptions = ProxyOptions()
    ) throws(StoreError) {
        self.options = options
        let isAnySecure = routes.contains { $0.origin.isSecure }
        let tls = isAnySecure ? try TLSContext.client(authorities: options.authorities) : nil
        var upstreams: [UpstreamOrigin: Upstream] = [:]
        var table: [(route: ProxyRoute, upstream: Upstream)] = []
        var keys: Set<Key> = []
        for route in routes {
            guard keys.insert(Key(prefix: route.prefix, pattern: route.pattern)).inserted else {
                let name = printable(String(decoding: route.prefix + [47], as: UTF8.self))
                throw StoreError(
                    .malformedRoute,
                    "two proxy routes of one prefix or pattern begin with \(name); leave one out")
            }
            let upstream =
                upstreams[route.origin]
                ?? Upstream(route.origin, tls: tls, lookUp: options.lookUp)
            upstreams[route.origin] = upstream
            table.append((route, upstream))
        }
        self.routes = table.sorted { $0.route.weight > $1.route.weight }
        for upstream in upstreams.values { upstream.resolve() }
    }

    package var isEmpty: Bool { routes.isEmpty }

    package func takes(_ path: ArraySlice<UInt8>) -> Bool {
        routes.contains { $0.route.takes(path) }
    }

    /// What to do with a request; `nil` if no route takes it.
    ///
    /// Decide first whether the client may ask at all (Host, Origin, token).
    /// - Parameter amend: adds this server's fields to the head of the upstream's answer; called on the loop's
    ///   thread.
    package func answer(
        _ head: RequestHead, amend: @escaping (inout ResponseHead) -> Void = { _ in }
    ) -> Answer? {
        for (route, upstream) in routes where route.takes(head) {
            let objection =
                ProxyPath.objection(to: head.bytes[head.path])
                // Harmless pieces may form a harmful path together.
                ?? route.madePath(of: head).flatMap { ProxyPath.objection(to: $0[...]) }
            if let objection {
                return .response(PlainAnswer.response(400, objection, method: head.method))
            }
            return .streaming { [options] client in
                let exchange = ProxyExchange(client, route, upstream, options, amend)
                exchange.start()
                return exchange
            }
        }
        return nil
    }
}
