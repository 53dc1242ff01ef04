import Platform

/// Blocking calls, made from `async` code.
///
/// Every call of this package that may wait for a disk, a lock or a network blocks its thread. Swift's own threads are
/// one for each processor, and whatever blocks them stops all tasks of the app.
///
/// ```swift
/// let report = try await Blocking.perform { () throws(StoreError) in
///     try versions.add(directory: "www", version: "2.0")
/// }
/// ```
public enum Blocking {
    /// Whether the task that waits for this work was cancelled.
    ///
    /// Long work polls it, and then stops with `.interrupted`: what has arrived is kept, and nothing is half done.
    /// `false` on a thread that no ``perform(_:)`` or ``BlockingTask`` has started.
    public static var isCancelled: Bool { Cancellation.isRequested }

    /// Calls `body` on a thread of its own, and waits for it.
    ///
    /// If the task is cancelled, long work stops with `.interrupted`, and a short call ends as it would have.
    /// - Throws: what `body` throws.
    public static func perform<Value: Sendable>(
        _ body: @escaping @Sendable () throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let cancellation = Cancellation()
        let outcome: Result<Value, StoreError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                Parallel.detach {
                    let outcome = cancellation.stopping { () -> Result<Value, StoreError> in
                        do throws(StoreError) { return .success(try body()) } catch {
                            return .failure(error)
                        }
                    }
                    continuation.resume(returning: outcome)
                }
            }
        } onCancel: {
            cancellation.request()
        }
        return try outcome.get()
    }
}

/// A blocking call whose progress can be read while it works.
///
/// ```swift
/// let pulling = BlockingTask { (report) throws(StoreError) in
///     var options = PullOptions()
///     options.progress = report
///     return try Pull(into: versions, over: CurlTransport(), options).run(origin)
/// }
/// for await progress in pulling.progress { show(progress.figures.bytes, of: progress.bytesTotal) }
/// let report = try await pulling.value
/// ```
public struct BlockingTask<Progress: Sendable, Value: Sendable>: Sendable {
    /// The progress, for one reader; ends with the work.
    ///
    /// A reader that is late gets only the newest.
    public let progress: AsyncStream<Progress>
    private let task: Task<Result<Value, StoreError>, Never>

    /// Calls `body` on a thread of its own.
    ///
    /// - Parameter body: gets the closure to which it reports its progress, from any thread.
    public init(
        _ body:
            @escaping @Sendable (
                _ report: @escaping @Sendable (Progress) -> Void
            ) throws(StoreError) -> Value
    ) {
        let (progress, feed) = AsyncStream.makeStream(
            of: Progress.self, bufferingPolicy: .bufferingNewest(1))
        self.progress = progress
        task = Task {
            defer { feed.finish() }
            do throws(StoreError) {
                return .success(
                    try await Blocking.perform { () throws(StoreError) in
                        try body { feed.yield($0) }
                    })
            } catch {
                return .failure(error)
            }
        }
    }

    /// The result, once there is one.
    ///
    /// If the task that waits here is cancelled, so is the work.
    /// - Throws: what the call throws; `.interrupted` if it was cancelled during long work.
    public var value: Value {
        get async throws(StoreError) {
            let outcome = await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
            return try outcome.get()
        }
    }

    /// Stops long work as soon as it looks; see ``Blocking/isCancelled``.
    public func cancel() { task.cancel() }
}
