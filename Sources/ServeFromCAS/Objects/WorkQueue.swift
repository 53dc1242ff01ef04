import Platform
import Synchronization

/// Work that a loop must not do, because it may wait for the disk or for a process that holds a lock.
///
/// Begun in order, on other threads, which end when nothing is left. Thread-safe.
package final class WorkQueue: Sendable {
    private struct State: Sendable {
        var work: [@Sendable () -> Void] = []
        var threadCount = 0
    }

    private let threadMax: Int
    private let countMax: Int
    private let givesWay: Bool
    private let state = Mutex(State())

    /// - Parameters:
    ///   - threads: how many work at once.
    ///   - countMax: how much may wait; usually far more than all connections can add, unless they ask again and
    ///     again.
    ///   - givesWay: whether the threads run at low priority.
    package init(threads: Int = 1, countMax: Int = 4096, givesWay: Bool = false) {
        threadMax = threads
        self.countMax = countMax
        self.givesWay = givesWay
    }

    /// Queues `work`.
    /// - Returns: `false` if the queue is full, or the system can start no thread.
    package func add(_ work: @escaping @Sendable () -> Void) -> Bool {
        let (isTaken, needsThread) = state.withLock { state in
            if state.threadCount < threadMax {
                state.threadCount += 1
                return (true, true)
            }
            guard state.work.count < countMax else { return (false, false) }
            state.work.append(work)
            return (true, false)
        }
        guard needsThread else { return isTaken }
        if Parallel.start({ self.run(work) }) { return true }
        // Others may have left theirs to the thread that did not start.
        let left = state.withLock { state in
            state.threadCount -= 1
            defer { if state.threadCount == 0 { state.work = [] } }
            return state.threadCount == 0 ? Array(state.work) : []
        }
        for each in left { each() }
        return false
    }

    private func run(_ first: () -> Void) {
        if givesWay { Parallel.giveWay() }
        first()
        while let work = next() { work() }
    }

    private func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard !state.work.isEmpty else {
                state.threadCount -= 1
                return nil
            }
            return state.work.removeFirst()
        }
    }
}
