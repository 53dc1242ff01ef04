import Platform
import Synchronization

/// A server that gets requests from the proxy: its name and, once known, its addresses.
final class Upstream: Sendable {
    let origin: UpstreamOrigin
    let secure: (context: TLSContext, host: String)?
    private let isFixed: Bool
    private let lookUp: NameLookUp.Function
    private let state: Mutex<State>

    /// Milliseconds after which a name is looked up again: most names live longer, but the system's resolver does not
    /// say how long.
    private static let freshFor: Int64 = 60_000

    private struct State {
        var addresses: [SocketAddress]
        var resolvedAt: Int64 = 0
        var isResolving = false
        var waiting: [EventLoop] = []
    }

    init(
        _ origin: UpstreamOrigin, tls: TLSContext?,
        lookUp: @escaping NameLookUp.Function = NameLookUp.addresses
    ) {
        self.origin = origin
        self.lookUp = lookUp
        secure = origin.isSecure ? tls.map { ($0, origin.host) } : nil
        var addresses: [SocketAddress] = []
        if let literal = SocketAddress(literal: origin.host, port: origin.port) {
            addresses = [literal]
        } else if origin.host == "localhost" || origin.host.hasSuffix(".localhost") {
            // RFC 6761, section 6.3: these names mean this machine, whatever a name server says.
            addresses = [.loopback4(origin.port), .loopback6(origin.port)]
        }
        isFixed = !addresses.isEmpty
        state = Mutex(State(addresses: addresses))
    }

    /// The addresses in the order to try; `nil` during the first look-up, which ends with a call to the loop's pool.
    ///
    /// Returns old ones at once, and looks the name up again meanwhile.
    func addresses(for loop: EventLoop) -> [SocketAddress]? {
        let (addresses, isOld) = state.withLock { state -> ([SocketAddress]?, Bool) in
            guard state.addresses.isEmpty, state.isResolving else {
                return (state.addresses, loop.now - state.resolvedAt >= Self.freshFor)
            }
            state.waiting.append(loop)
            return (nil, false)
        }
        if isOld { resolve() }
        return addresses
    }

    func prefer(_ address: SocketAddress) {
        state.withLock { state in
            guard state.addresses.first != address,
                let index = state.addresses.firstIndex(of: address)
            else { return }
            state.addresses.remove(at: index)
            state.addresses.insert(address, at: 0)
        }
    }

    /// Looks the name up on its own thread, because the resolver blocks; known addresses stay until it finds some.
    func resolve() {
        guard !isFixed else { return }
        let begins = state.withLock { state -> Bool in
            guard !state.isResolving else { return false }
            state.isResolving = true
            return true
        }
        guard begins else { return }
        let isStarted = Parallel.start { [self] in
            found(lookUp(origin.host, origin.port))
        }
        // The system can start no thread: the next request tries again.
        if !isStarted { found([]) }
    }

    private func found(_ addresses: [SocketAddress]) {
        let waiting = state.withLock { state -> [EventLoop] in
            state.isResolving = false
            state.resolvedAt = SystemClock.milliseconds
            if !addresses.isEmpty {
                // The address that answered last stays first if it is still in the list.
                let first = addresses.firstIndex { $0 == state.addresses.first }
                state.addresses = addresses
                if let first { state.addresses.swapAt(0, first) }
            }
            let waiting = state.waiting
            state.waiting = []
            return waiting
        }
        for loop in waiting { loop.submit { [self] in UpstreamPool.of(self, on: $0)?.resolved() } }
    }
}

/// A connection to an upstream for one exchange after another; belongs to its loop's thread.
final class UpstreamLink: StreamHandler {
    var exchange: ProxyExchange?
    var parser = UpstreamHeadParser()
    var input: [UInt8] = []
    var hasAnswered = false
    /// Whether it has served before, so that the upstream may be about to close it.
    private(set) var isUsed = false
    private(set) var idleSince: Int64 = 0
    private(set) var stream: Stream?
    private let address: SocketAddress
    private let pool: UpstreamPool

    init(_ address: SocketAddress, _ pool: UpstreamPool) {
        self.address = address
        self.pool = pool
    }

    func connect(on loop: EventLoop) throws(StoreError) {
        let stream = try loop.connect(to: address, handler: self, secure: pool.upstream.secure)
        stream.readsAfterFailedSend = true
        self.stream = stream
    }

    func rest(since now: Int64, within milliseconds: Int64) {
        exchange = nil
        isUsed = true
        hasAnswered = false
        idleSince = now
        stream?.setDeadline(milliseconds)
        stream?.resumeReading()
    }

    /// Ends the connection without telling its exchange.
    func close() {
        exchange = nil
        stream?.close()
    }

    // MARK: What the stream tells

    func handshakeBegins(_ stream: Stream) {
        stream.setDeadline(pool.options.handshake)
    }

    func connected(_ stream: Stream) {
        pool.upstream.prefer(address)
        exchange?.connected()
    }

    func received(_ bytes: Span<UInt8>, on stream: Stream) {
        // Nobody asked for this answer: the next bytes would go to the wrong request.
        guard let exchange else {
            stream.close()
            return
        }
        hasAnswered = true
        exchange.answered(bytes)
    }

    func receivedEnd(on stream: Stream) {
        guard let exchange else {
            stream.close()
            return
        }
        exchange.upstreamEnded(failure: nil)
    }

    func drained(_ stream: Stream) { exchange?.upstreamDrained() }

    func deadlineReached(on stream: Stream) {
        guard let exchange else {
            stream.close()
            return
        }
        exchange.upstreamDeadlineReached()
    }

    func stopping(_ stream: Stream) {
        // The exchange in flight still finishes.
        if exchange == nil { stream.close() }
    }

    func closed(_ stream: Stream, failure: Int32?) {
        self.stream = nil
        guard let exchange else {
            pool.remove(self)
            return
        }
        self.exchange = nil
        if stream.isInHandshake, let problem = stream.channel.session?.failure {
            exchange.handshakeFailed(problem)
        } else {
            exchange.upstreamEnded(failure: failure)
        }
    }
}

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
