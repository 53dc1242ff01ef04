/// Whether the work of a thread is to stop, because nobody waits for its result any more.
///
/// Threads of ``Parallel`` that their caller waits for work for the same caller, and learn it too.
package enum Cancellation {
    @TaskLocal static var current: (@Sendable () -> Bool)?

    package static var isRequested: Bool { current?() ?? false }

    /// Runs `body`, on this thread, as work that is to stop once `isRequested` returns `true`.
    package static func when<R>(
        _ isRequested: (@Sendable () -> Bool)?, _ body: () -> R
    ) -> R {
        $current.withValue(isRequested, operation: body)
    }

    /// The same work for another thread, which its caller waits for.
    static func inherited(_ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        guard let current else { return body }
        return { when(current, body) }
    }
}
