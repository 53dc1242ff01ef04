import CASStore
import Synchronization

/// Reads large files on its own threads, the smallest first; each object once, however many
/// requests wait for it.
///
/// A thread ends when nothing is left: a server whose objects are known has none.
final class VerifyingQueue: Sendable {
    private struct Job: Sendable {
        var object: OpenObject
        var run: @Sendable (OpenObject) -> Void
        var waiting: [@Sendable () -> Void]
        /// Whether a thread is reading it.
        var isStarted = false
    }

    private struct State: Sendable {
        var jobs: [ObjectID: Job] = [:]
        var threads = 0
    }

    /// Two, so that one film does not hold up everything else; more would only compete for the disk.
    private static let threadMax = 2
    private let state = Mutex(State())

    /// Calls `run` on another thread, unless this is already under way, and `then` afterwards.
    func add(
        _ object: OpenObject, run: @escaping @Sendable (OpenObject) -> Void,
        then: @escaping @Sendable () -> Void
    ) {
        let needsThread = state.withLock { state in
            if state.jobs[object.address] != nil {
                state.jobs[object.address]?.waiting.append(then)
                return false
            }
            state.jobs[object.address] = Job(object: object, run: run, waiting: [then])
            guard state.threads < Self.threadMax else { return false }
            state.threads += 1
            return true
        }
        guard needsThread else { return }
        // If no thread can be started, this one does the work: late is better than never.
        Parallel.detach { self.work() }
    }

    private func work() {
        while let job = next() {
            job.run(job.object)
            let waiting = state.withLock { state in
                state.jobs.removeValue(forKey: job.object.address)?.waiting ?? []
            }
            for each in waiting { each() }
        }
    }

    private func next() -> Job? {
        state.withLock { state in
            let smallest = state.jobs.values.lazy.filter { !$0.isStarted }
                .min { $0.object.byteCount < $1.object.byteCount }
            guard let smallest else {
                state.threads -= 1
                return nil
            }
            state.jobs[smallest.object.address]?.isStarted = true
            return smallest
        }
    }
}
