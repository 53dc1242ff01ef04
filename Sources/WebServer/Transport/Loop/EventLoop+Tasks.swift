// Swift's tasks on a loop's thread.
extension EventLoop: TaskExecutor {
    /// Runs a step of a task on the loop's thread, soon; from any thread.
    ///
    /// A step that a handler on that thread brings about (a message that a task waits for) comes in the
    /// same turn: no other thread is woken. What runs here must not block.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedTaskExecutor()
        // A loop that has ended runs nothing, but a task must end.
        if !submit({ _ in job.runSynchronously(on: executor) }) {
            job.runSynchronously(on: executor)
        }
    }
}
