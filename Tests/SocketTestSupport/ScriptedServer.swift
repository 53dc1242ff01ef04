import Foundation
import Platform
import Synchronization

/// A server that does on each connection what a test's script says.
///
/// Every connection has a thread of its own, and is closed when the script returns.
package final class ScriptedServer: Sendable {
    /// Where it listens, on the IPv4 loopback.
    package let port: UInt16
    private let listener: Int32
    private let state = State()

    private final class State: Sendable {
        let connectionCount = Atomic<Int>(0)
        let isStopped = Atomic<Bool>(false)
    }

    package var connectionCount: Int { state.connectionCount.load(ordering: .relaxed) }

    package init(_ script: @escaping @Sendable (TestPeer) -> Void) throws {
        let (listener, state) = (TestSocket.make(), state)
        self.listener = listener
        guard TestSocket.bind(listener, to: 0), listen(listener, 128) == 0 else {
            throw TestSocket.Refusal(description: "no port for a test server", number: errno)
        }
        port = TestSocket.port(of: listener)
        Parallel.detach {
            while true {
                let raw = accept(listener, nil, nil)
                // Only here, so that its number is nobody else's while this thread uses it.
                guard raw >= 0 else { return TestSocket.end(listener) }
                state.connectionCount.add(1, ordering: .relaxed)
                Parallel.detach { script(TestPeer(raw)) }
            }
        }
    }

    deinit { stop() }

    /// Takes no further connections; the thread frees the port.
    package func stop() {
        guard !state.isStopped.exchange(true, ordering: .relaxed) else { return }
        shutdown(listener, Int32(SHUT_RDWR))
    }
}
