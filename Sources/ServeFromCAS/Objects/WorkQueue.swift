import CASStore
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

/// Reads large files on its own threads while there are any, the smallest first, each object once for all requests.
final class VerifyingQueue: Sendable {
    private struct Job: Sendable {
        var object: OpenObject
        var run: @Sendable (OpenObject) -> Void
        var waiting: [@Sendable () -> Void]
        var isStarted = false
    }

    /// Two, so that one film does not hold up everything else; more would only compete for the disk.
    private let threads = WorkQueue(threads: 2, countMax: .max)
    private let jobs = Mutex<[ObjectID: Job]>([:])

    /// Calls `run` on another thread, unless this is already under way, and `then` afterwards.
    func add(
        _ object: OpenObject, run: @escaping @Sendable (OpenObject) -> Void,
        then: @escaping @Sendable () -> Void
    ) {
        let isNew = jobs.withLock { jobs in
            if jobs[object.address] != nil {
                jobs[object.address]?.waiting.append(then)
                return false
            }
            jobs[object.address] = Job(object: object, run: run, waiting: [then])
            return true
        }
        // If no thread can be started, this one does the work: slow is better than never.
        if isNew, !threads.add({ self.doSmallest() }) { doSmallest() }
    }

    private func doSmallest() {
        let smallest = jobs.withLock { jobs in
            let smallest = jobs.values.lazy.filter { !$0.isStarted }
                .min { $0.object.byteCount < $1.object.byteCount }
            if let smallest { jobs[smallest.object.address]?.isStarted = true }
            return smallest
        }
        guard let job = smallest else { return }
        job.run(job.object)
        let done = jobs.withLock { $0.removeValue(forKey: job.object.address) }
        for each in done?.waiting ?? [] { each() }
    }
}
