import CASStore
import Synchronization

/// Reads large files on threads of its own, the smallest first; each object once, however many wait
/// for it.
///
/// A thread ends when nothing is left: a server whose objects are known has none.
final class VerifyingQueue: Sendable {
    private struct Job: Sendable {
        var object: OpenObject
        var run: @Sendable (OpenObject) -> Void
        var waiting: [@Sendable () -> Void]
    }

    private struct State: Sendable {
        var jobs: [ObjectID: Job] = [:]
        /// Those that a thread has taken.
        var started: Set<ObjectID> = []
        var threads = 0
    }

    /// Two, so that one film does not hold up everything else; more would only fight for the disk.
    private static let threadMax = 2
    private let state = Mutex(State())

    /// Calls `run` on another thread, unless that is under way already, and `then` after it.
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
        // Without a thread to be had it is done here: late is better than never.
        if !LoopThread.start({ self.work() }) { work() }
    }

    private func work() {
        while let job = next() {
            job.run(job.object)
            let waiting = state.withLock { state in
                state.started.remove(job.object.address)
                return state.jobs.removeValue(forKey: job.object.address)?.waiting ?? []
            }
            for each in waiting { each() }
        }
    }

    private func next() -> Job? {
        state.withLock { state in
            var found: Job?
            for (address, job) in state.jobs where !state.started.contains(address) {
                if let best = found, best.object.byteCount <= job.object.byteCount { continue }
                found = job
            }
            if let found {
                state.started.insert(found.object.address)
            } else {
                state.threads -= 1
            }
            return found
        }
    }
}
