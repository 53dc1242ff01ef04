// Swift's tasks on a loop's thread.
extension EventLoop: TaskExecutor {
    /// Runs a step of a task on the loop's thread, soon; from any thread.
    ///
    /// If a handler on that thread causes the step (by a message that a task waits for), the step runs in the same
    /// turn and wakes no other thread. A step must not block.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedTaskExecutor()
        // A loop that has ended runs nothing, but a task must still end.
        if !submit({ _ in job.runSynchronously(on: executor) }) {
            job.runSynchronously(on: executor)
        }
    }
}
