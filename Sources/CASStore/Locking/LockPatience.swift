/// How long one operation waits for locks: all of its waits together.
///
/// A store's options say how long one wait may be. Who is waited for himself (a page, a signal) cannot wait for
/// several of them, one after the other.
package struct LockPatience: Sendable {
    @TaskLocal static var current: LockPatience?

    private let end: SuspendingClock.Instant
    private let isGivenUp: @Sendable () -> Bool

    /// Runs `body`, on this thread, as one operation.
    /// - Parameters:
    ///   - limit: what is not free by then is not waited for any more.
    ///   - isGivenUp: asked while it waits; `true` ends that at once.
    package static func within<R, E: Error>(
        _ limit: Duration, unless isGivenUp: @escaping @Sendable () -> Bool = { false },
        _ body: () throws(E) -> R
    ) throws(E) -> R {
        try until(SuspendingClock.now + limit, unless: isGivenUp, body)
    }

    /// Runs `body`, on this thread, as a part of an operation that has an end.
    package static func until<R, E: Error>(
        _ end: SuspendingClock.Instant,
        unless isGivenUp: @escaping @Sendable () -> Bool = { false },
        _ body: () throws(E) -> R
    ) throws(E) -> R {
        let outer = current
        let patience = LockPatience(
            end: min(end, outer?.end ?? end),
            isGivenUp: { isGivenUp() || outer?.isGivenUp() ?? false })
        let result = $current.withValue(patience) { () -> Result<R, E> in
            do throws(E) { return .success(try body()) } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// Whether nothing is waited for any more.
    var isOver: Bool { isGivenUp() || SuspendingClock.now >= end }
}
