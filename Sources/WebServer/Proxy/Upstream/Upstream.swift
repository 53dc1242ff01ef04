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
