/// Limits all lock waits of one operation together, where a store's options limit each.
///
/// An operation with someone waiting (a page, a signal) cannot afford several in a row.
package struct LockDeadline: Sendable {
    @TaskLocal static var current: LockDeadline?

    private let end: SuspendingClock.Instant
    private let isGivenUp: @Sendable () -> Bool

    /// Runs `body`, on this thread, as one operation.
    /// - Parameters:
    ///   - limit: how long it may run before it stops waiting for locks.
    ///   - isGivenUp: called during a wait; `true` ends the wait at once.
    package static func within<R, E: Error>(
        _ limit: Duration, unless isGivenUp: @escaping @Sendable () -> Bool = { false },
        _ body: () throws(E) -> R
    ) throws(E) -> R {
        try until(SuspendingClock.now + limit, unless: isGivenUp, body)
    }

    /// Runs `body`, on this thread, as a part of an operation with a deadline.
    package static func until<R, E: Error>(
        _ end: SuspendingClock.Instant,
        unless isGivenUp: @escaping @Sendable () -> Bool = { false },
        _ body: () throws(E) -> R
    ) throws(E) -> R {
        let outer = current
        let deadline = LockDeadline(
            end: min(end, outer?.end ?? end),
            isGivenUp: { isGivenUp() || outer?.isGivenUp() ?? false })
        let result = $current.withValue(deadline) { () -> Result<R, E> in
            do throws(E) { return .success(try body()) } catch { return .failure(error) }
        }
        return try result.get()
    }

    var isOver: Bool { isGivenUp() || SuspendingClock.now >= end }
}
