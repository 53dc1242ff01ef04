import CASStore
import Synchronization

/// Runs the jobs of an actor, one after the other, on a thread that lives as long as there are any.
///
/// They may wait for disks and locks, which tasks on Swift's own threads must not: there is one for each processor, and
/// the tasks of the whole app would wait with them.
final class BlockingExecutor: SerialExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isRunning = false
    }

    private let state = Mutex(State())

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isRunning = state.withLock { state in
            defer { state.isRunning = true }
            state.jobs.append(job)
            return state.isRunning
        }
        if !isRunning { Parallel.detach { self.run() } }
    }

    private func run() {
        while let job = next() { job.runSynchronously(on: asUnownedSerialExecutor()) }
    }

    private func next() -> UnownedJob? {
        state.withLock { state in
            state.isRunning = !state.jobs.isEmpty
            return state.isRunning ? state.jobs.removeFirst() : nil
        }
    }
}
