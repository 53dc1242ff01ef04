import CASStore
import Synchronization

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
