import CASStore
import Synchronization

/// The memory that workers may use together: each waits for its share, in the order in which they came.
final class MemoryShares: Sendable {
    private struct State {
        var free: Int
        var next = 0
        var served = 0
    }

    private let total: Int
    private let state: Mutex<State>

    init(_ byteCount: Int) {
        total = byteCount
        state = Mutex(State(free: byteCount))
    }

    /// Calls `body` when so much memory is free; who needs more than there is at all waits until all is free.
    /// - Throws: `.interrupted`; what `body` throws.
    func with<R>(
        _ byteCount: Int, unless isInterrupted: () -> Bool, _ body: () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        let share = min(byteCount, total)
        let ticket = state.withLock { state in
            defer { state.next += 1 }
            return state.next
        }
        while true {
            let isServed = state.withLock { state in
                guard state.served == ticket, state.free >= share else { return false }
                state.served += 1
                state.free -= share
                return true
            }
            if isServed { break }
            // The others go on to be interrupted themselves.
            if isInterrupted() {
                state.withLock { $0.served = max($0.served, ticket + 1) }
                throw .packingInterrupted
            }
            pause(milliseconds: 2)
        }
        defer { state.withLock { $0.free += share } }
        return try body()
    }
}
