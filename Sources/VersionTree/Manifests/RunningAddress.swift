import CASStore
import Synchronization

/// SHA-256 of a text that is read in pieces, which may overlap.
final class RunningAddress: Sendable {
    private struct State: ~Copyable {
        var digester: Digester
        var count = 0
    }

    private let state: Mutex<State>

    init() throws(StoreError) {
        let digester = try Digester(.sha256)
        state = Mutex(State(digester: digester))
    }

    func add(_ bytes: [UInt8], at offset: Int) {
        state.withLock { state in
            let known = state.count - offset
            guard known >= 0, known < bytes.count else { return }
            bytes.withUnsafeBytes {
                state.digester.update(UnsafeRawBufferPointer(rebasing: $0[known...]))
            }
            state.count = offset + bytes.count
        }
    }

    /// The address; `nil` if the pieces were not all of a text that is so long.
    func finish(byteCount: Int) -> ObjectID? {
        state.withLock { state in
            guard state.count == byteCount else { return nil }
            return state.digester.finish { ObjectID(unchecked: $0) }
        }
    }
}
