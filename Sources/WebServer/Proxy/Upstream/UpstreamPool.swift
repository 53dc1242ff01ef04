/// The idle connections of one loop to one upstream; belongs to the loop's thread.
final class UpstreamPool {
    let upstream: Upstream
    let options: ProxyOptions
    var waiting: [ProxyExchange] = []
    private unowned let loop: EventLoop
    /// Last the one used most recently, which is taken first.
    private var idle: [UpstreamLink] = []

    private init(_ upstream: Upstream, _ loop: EventLoop, _ options: ProxyOptions) {
        self.upstream = upstream
        self.loop = loop
        self.options = options
    }

    static func of(_ upstream: Upstream, on loop: EventLoop) -> UpstreamPool? {
        loop.attachments[ObjectIdentifier(upstream)] as? UpstreamPool
    }

    static func of(
        _ upstream: Upstream, on loop: EventLoop, _ options: ProxyOptions
    ) -> UpstreamPool {
        if let pool = of(upstream, on: loop) { return pool }
        let pool = UpstreamPool(upstream, loop, options)
        loop.attachments[ObjectIdentifier(upstream)] = pool
        return pool
    }

    /// Takes a connection for a request.
    ///
    /// A server may close any of them at that moment, so a request that cannot be repeated only goes on one that was
    /// in use just now.
    func take(isRepeatable: Bool) -> UpstreamLink? {
        guard let link = idle.last else { return nil }
        guard isRepeatable || loop.now - link.idleSince <= options.poolFresh else { return nil }
        idle.removeLast()
        return link
    }

    func give(_ link: UpstreamLink) {
        guard idle.count < options.poolSize, !loop.isStopping else {
            link.close()
            return
        }
        link.rest(since: loop.now, within: options.poolIdle)
        idle.append(link)
    }

    /// Ends the connection that has waited longest for a request, to whichever upstream; returns whether there was
    /// one.
    static func makeSpace(on loop: EventLoop) -> Bool {
        let waiting = loop.attachments.values.compactMap { ($0 as? UpstreamPool)?.idle.first }
        guard let oldest = waiting.min(by: { $0.idleSince < $1.idleSince }) else { return false }
        // Its stream tells the pool.
        oldest.close()
        return true
    }

    func remove(_ link: UpstreamLink) {
        guard let index = idle.firstIndex(where: { $0 === link }) else { return }
        idle.remove(at: index)
    }

    /// After a look-up: every exchange that waits tries what is known now.
    func resolved() {
        let waiting = waiting
        self.waiting = []
        for exchange in waiting { exchange.resolved() }
    }
}
