import Platform
import Synchronization

/// Work on the store that a loop must not do, because it may wait for the disk or for a process
/// that holds a lock.
///
/// Done in order, on another thread, which ends when nothing is left. Safe to use from all
/// threads.
package final class StoreQueue: Sendable {
    private struct State: Sendable {
        var work: [@Sendable () -> Void] = []
        var isRunning = false
    }

    /// Far more than there are connections that can wait for it, unless they ask again and again.
    private static let countMax = 4096
    private let state = Mutex(State())

    package init() {}

    /// Does `work` soon.
    /// - Returns: `false` if too much waits already, or the system can start no thread.
    package func add(_ work: @escaping @Sendable () -> Void) -> Bool {
        let (isTaken, needsThread) = state.withLock { state in
            guard state.work.count < Self.countMax else { return (false, false) }
            state.work.append(work)
            defer { state.isRunning = true }
            return (true, !state.isRunning)
        }
        guard needsThread else { return isTaken }
        if Parallel.start({ self.run() }) { return true }
        // Work added meanwhile is lost: those who wait for it learn that when their time is over.
        state.withLock { state in
            state.isRunning = false
            state.work = []
        }
        return false
    }

    private func run() {
        while let work = next() { work() }
    }

    private func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard !state.work.isEmpty else {
                state.isRunning = false
                return nil
            }
            return state.work.removeFirst()
        }
    }
}

extension AppHandler {
    /// How many rounds every loop makes until a waiting connection is accepted, its request is read,
    /// and the work for it is in the queue.
    private static let rounds = 3

    /// Does `work` when all requests that have arrived by now are read, and their work on the store
    /// is done.
    func readWhatWaits(then work: @escaping @Sendable () -> Void) {
        let loops = loopsToRead.withLock { $0 }
        goRound(Array(repeatElement(loops, count: Self.rounds).joined())[...], then: work)
    }

    private func goRound(_ loops: ArraySlice<EventLoop>, then work: @escaping @Sendable () -> Void)
    {
        guard let next = loops.first else {
            // If too much waits already, nothing is judged now: this is called again soon.
            _ = storeWork.add(work)
            return
        }
        let rest = loops.dropFirst()
        guard next.submit({ _ in self.goRound(rest, then: work) }) else { return }
    }
}
