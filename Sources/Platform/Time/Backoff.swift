/// How long to wait before another attempt.
///
/// Waits are drawn evenly between zero and an exponentially growing limit ("full jitter"), to spread many clients.
package struct Backoff: Sendable, Hashable {
    /// The limit of the first wait; it doubles for each following wait.
    package var firstDelay: Duration
    package var delayMax: Duration
    /// The longest wait that a server's `Retry-After` can impose.
    package var retryAfterMax: Duration

    package init(
        firstDelay: Duration = .milliseconds(500), delayMax: Duration = .seconds(30),
        retryAfterMax: Duration = .seconds(120)
    ) {
        self.firstDelay = firstDelay
        self.delayMax = delayMax
        self.retryAfterMax = retryAfterMax
    }

    /// Draws a wait.
    /// - Parameters:
    ///   - failureCount: consecutive failures, with this one; 0 and 1 give the first wait.
    ///   - retryAfter: the server's request; the wait is no shorter, up to ``retryAfterMax``.
    package func delay(
        failureCount: Int, retryAfter: Duration? = nil,
        using generator: inout some RandomNumberGenerator
    ) -> Duration {
        let doublings = min(max(failureCount - 1, 0), 30)
        let limit = min(firstDelay * (1 << doublings), delayMax)
        let jitter = Duration.milliseconds(
            Int64.random(in: 0...max(limit.milliseconds, 0), using: &generator))
        guard let retryAfter else { return jitter }
        // Clients that were given the same time must not all return at once.
        return min(max(retryAfter, .zero), retryAfterMax) + min(jitter, firstDelay)
    }
}
