import Synchronization

extension Invocation {
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
