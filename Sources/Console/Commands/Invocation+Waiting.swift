import Synchronization

extension Invocation {
    /// Refuses a command that starts asynchronous work where the system cannot run it.
    ///
    /// On Linux, libdispatch runs tasks: each second it opens `/proc/PID/stat` for its threads, and ends the program if
    /// that fails. Call this before anything is opened.
    /// - Throws: `CommandError` with the code `noProc` if /proc is not mounted.
    package func requireTasks() throws(CommandError) {
        #if os(Linux)
            if System.isReadable("/proc/self/stat") { return }
            throw CommandError(
                code: "noProc",
                message:
                    "unable to start a server: /proc is not mounted, and without it Swift's runtime ends "
                    + "the program; mount it (mount -t proc proc /proc) and repeat the command")
        #endif
    }

    /// Runs asynchronous work to its end and returns its result; a signal cancels it.
    ///
    /// A command is synchronous, and its thread waits here: the work runs elsewhere, and must not need the main actor,
    /// whose thread takes the signals. After SIGINT its task is cancelled, and its end awaited, so that it can keep
    /// what is staged.
    ///
    ///     let pulled = try invocation.waiting { try await client.pull(url) }
    /// - Throws: what the work throws; `internal` if the system has no descriptor left.
    package func waiting<Value: Sendable>(
        for work: @escaping @Sendable () async throws -> Value
    ) throws -> Value {
        let ends = try System.makePipe(isWake: true)
        defer {
            for end in [ends.source, ends.target] {
                // A pipe holds nothing that closing could lose.
                try? System.close(end)
            }
        }
        let outcome = Mutex<Result<Value, any Error>?>(nil)
        let task = Task.detached {
            let result: Result<Value, any Error>
            do { result = .success(try await work()) } catch { result = .failure(error) }
            outcome.withLock { $0 = result }
            System.wake(ends.target)
        }
        var watched = [ends.source] + [Interruption.wakeDescriptor].compactMap { $0 }
        while true {
            let ready = try System.waitUntilReadable(watched)
            if ready.contains(ends.source) { break }
            task.cancel()
            watched = [ends.source]
        }
        guard let result = outcome.withLock({ $0 }) else {
            preconditionFailure("the task ended without a result")
        }
        return try result.get()
    }
}
