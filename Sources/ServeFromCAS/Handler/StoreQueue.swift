import Platform
import Synchronization

/// Work on the store that a loop must not do: it may wait for the disk, or for a process that has a
/// lock.
///
/// Done in order on a thread of its own, which ends when nothing is left. Safe to use from all
/// threads.
final class StoreQueue: Sendable {
    private struct State: Sendable {
        var work: [@Sendable () -> Void] = []
        var isRunning = false
    }

    /// Far more than there are connections that wait for it, unless they come again and again.
    private static let countMax = 4096
    private let state = Mutex(State())

    /// Does `work`, soon.
    /// - Returns: `false` if too much waits already, or the system has no thread to give.
    func add(_ work: @escaping @Sendable () -> Void) -> Bool {
        let (isTaken, needsThread) = state.withLock { state in
            guard state.work.count < Self.countMax else { return (false, false) }
            state.work.append(work)
            defer { state.isRunning = true }
            return (true, !state.isRunning)
        }
        guard needsThread else { return isTaken }
        if Parallel.start({ self.run() }) { return true }
        // Work that came meanwhile is lost: whoever waits for it is told when the time is over.
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
    /// How often every loop goes round until a connection that waits is accepted, its request read, and
    /// the work that it asks for stands in the queue.
    private static let rounds = 3

    /// Does `work` when all requests that have come by now are read, and the work on the store that they
    /// asked for is done.
    func readWhatWaits(then work: @escaping @Sendable () -> Void) {
        let loops = loopsToRead.withLock { $0 }
        goRound(Array(repeatElement(loops, count: Self.rounds).joined())[...], then: work)
    }

    private func goRound(_ loops: ArraySlice<EventLoop>, then work: @escaping @Sendable () -> Void)
    {
        guard let next = loops.first else {
            // Where too much waits already nothing is judged now: it is asked again soon.
            _ = storeWork.add(work)
            return
        }
        let rest = loops.dropFirst()
        guard next.submit({ _ in self.goRound(rest, then: work) }) else { return }
    }
}
