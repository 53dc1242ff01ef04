import CASStore
import Synchronization

/// A server that requests are passed on to: its name and, once they are known, its addresses.
final class Upstream: Sendable {
    let origin: UpstreamOrigin
    /// How it is spoken to; `nil` for plain http.
    let secure: (TLSContext, UpstreamOrigin)?
    private let isFixed: Bool
    private let state: Mutex<State>

    private struct State {
        var addresses: [SocketAddress]
        var isResolving = false
        var waiting: [EventLoop] = []
    }

    enum Addresses {
        case known([SocketAddress])
        /// The loop's pool will be told.
        case pending
    }

    init(_ origin: UpstreamOrigin, tls: TLSContext?) {
        self.origin = origin
        secure = origin.isSecure ? tls.map { ($0, origin) } : nil
        var addresses: [SocketAddress] = []
        if let literal = SocketAddress(literal: origin.host, port: origin.port) {
            addresses = [literal]
        } else if origin.host == "localhost" || origin.host.hasSuffix(".localhost") {
            // RFC 6761, section 6.3: these names are this machine, whatever a server says.
            addresses = [.loopback4(origin.port), .loopback6(origin.port)]
        }
        isFixed = !addresses.isEmpty
        state = Mutex(State(addresses: addresses))
    }

    /// The addresses in the order to try; while a first look-up is under way, `pending`.
    func addresses(for loop: EventLoop) -> Addresses {
        state.withLock { state in
            guard state.addresses.isEmpty, state.isResolving else {
                return .known(state.addresses)
            }
            state.waiting.append(loop)
            return .pending
        }
    }

    /// Puts an address first that has answered.
    func prefer(_ address: SocketAddress) {
        state.withLock { state in
            guard state.addresses.first != address,
                let index = state.addresses.firstIndex(of: address)
            else { return }
            state.addresses.remove(at: index)
            state.addresses.insert(address, at: 0)
        }
    }

    /// Looks the name up on a thread of its own: the system's resolver blocks.
    ///
    /// What was known stays until something is found.
    func resolve() {
        guard !isFixed else { return }
        let begins = state.withLock { state -> Bool in
            guard !state.isResolving else { return false }
            state.isResolving = true
            return true
        }
        guard begins else { return }
        let isStarted = LoopThread.start { [self] in
            found(NameLookUp.addresses(of: origin.host, port: origin.port))
        }
        // No thread to give: whoever asks next begins again.
        if !isStarted { found([]) }
    }

    private func found(_ addresses: [SocketAddress]) {
        let waiting = state.withLock { state -> [EventLoop] in
            state.isResolving = false
            if !addresses.isEmpty { state.addresses = addresses }
            let waiting = state.waiting
            state.waiting = []
            return waiting
        }
        for loop in waiting { loop.submit { [self] in UpstreamPool.of(self, on: $0)?.resolved() } }
    }
}
