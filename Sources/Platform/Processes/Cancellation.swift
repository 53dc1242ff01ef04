import Synchronization

/// A request that the work of a call stop, because nobody waits for its result any more.
///
/// Threads of ``Parallel`` that their caller waits for work for the same call, and learn it too.
package final class Cancellation: Sendable {
    @TaskLocal private static var current: Cancellation?

    private let hasCome = Atomic<Bool>(false)

    package init() {}

    /// Whether the work of this thread is to stop.
    package static var isRequested: Bool { current?.hasCome.load(ordering: .relaxed) ?? false }

    package func request() { hasCome.store(true, ordering: .relaxed) }

    /// Runs `body`, on this thread, as work that stops once that is requested.
    package func stopping<R>(_ body: () -> R) -> R {
        Self.$current.withValue(self, operation: body)
    }

    /// The same work for another thread, which its caller waits for.
    static func inherited(_ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        guard let current else { return body }
        return { current.stopping(body) }
    }
}
