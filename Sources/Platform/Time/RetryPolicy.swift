/// How often and how soon to repeat what failed on a network: transfers of a pull, requests to a bucket, writers of a log.
///
/// The waits grow exponentially and are drawn evenly between zero and their limit ("full jitter"), so that many devices
/// that lose a server do not all return at once.
package struct RetryPolicy: Sendable, Hashable {
    /// Consecutive failures without progress after which a file is given up.
    package var failureCountMax = 8
    /// How often to try an origin that has never answered: waiting seldom helps if the name does not exist or nobody
    /// listens.
    package var unreachedCountMax = 3
    /// Consecutive failures without progress after which a file is given up although its origin can be reached.
    package var reachedCountMax = Int.max
    /// Consecutive failures without progress, over all files, after which a pull is given up because the network is
    /// gone.
    package var pullFailureCountMax = 200
    /// The limit of the first wait; it doubles for each following wait.
    package var firstDelay: Duration = .milliseconds(500)
    /// The limit of any wait.
    package var delayMax: Duration = .seconds(30)
    /// The longest wait that a server's `Retry-After` can impose.
    package var retryAfterMax: Duration = .seconds(120)

    /// The fewest bytes a minute that count as progress.
    ///
    /// A slower connection is replaced, and its attempt was in vain: an origin that sends one byte per connection would
    /// otherwise keep a pull going for weeks.
    package var leastRate: Int64 = 8 * 1024
    /// How long a connection may stay below ``leastRate``; proportionally longer if the transport limits its rate.
    package var dripTime: Duration = .seconds(60)

    /// At least one byte.
    package func leastByteCount(in time: Duration) -> Int64 {
        let (whole, part) = leastRate.multipliedReportingOverflow(by: max(time.milliseconds, 0))
        return max(1, (part ? .max : whole) / 60_000)
    }

    /// For a mobile network: a file may be stuck for about a minute.
    package init(
        firstDelay: Duration = .milliseconds(500), delayMax: Duration = .seconds(30)
    ) {
        self.firstDelay = firstDelay
        self.delayMax = delayMax
    }

    /// After an origin has answered, not reaching it is a temporary problem.
    package var afterAnswer: RetryPolicy {
        var policy = self
        policy.unreachedCountMax = .max
        return policy
    }

    /// Whether a status reports a temporary problem (RFC 9110, sections 15.5 and 15.6; 425: RFC 8470, section 5.2; 429:
    /// RFC 6585, section 4).
    package static func isWorthRetrying(status: Int) -> Bool {
        switch status {
        case 408, 425, 429, 500, 502, 503, 504: true
        default: false
        }
    }

    /// Draws how long to wait before the next attempt.
    /// - Parameters:
    ///   - failureCount: consecutive failures without progress, with this one; 0 and 1 give the first wait.
    ///   - retryAfter: what the server asked for; the wait is no shorter, up to ``retryAfterMax``.
    ///   - generator: draws the wait; a seeded one draws the same each time.
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

package struct Retry: Sendable {
    package let reason: String
    package let delay: Duration
}

/// Counts failures, and decides for each whether to try again; a value without a clock or generator.
package struct RetryBudget: Sendable {
    package let policy: RetryPolicy
    /// Consecutive failures without progress, by the id of what is tried.
    private var failureCounts: [Int: Int] = [:]
    /// The same over everything.
    private var pullFailureCount = 0
    private let tell: @Sendable (Retry) -> Void

    package init(
        _ policy: RetryPolicy = RetryPolicy(), tell: @escaping @Sendable (Retry) -> Void = { _ in }
    ) {
        self.policy = policy
        self.tell = tell
    }

    /// What to do about an attempt that did not bring its file.
    package enum Decision: Sendable, Hashable {
        case again(after: Duration)
        /// Another attempt would not succeed.
        case useless
        /// The file has used up its attempts.
        case spent
        /// The pull has used up its attempts, with this file or others.
        case pullSpent
    }

    package func failureCount(_ id: Int) -> Int { failureCounts[id] ?? 0 }

    /// Notes that a file came, or new bytes of any, fast enough: the network works.
    package mutating func progressed(_ id: Int) {
        failureCounts[id] = nil
        pullFailureCount = 0
    }

    package mutating func forget(_ ids: Range<Int>) {
        if failureCounts.isEmpty { return }
        for id in ids { failureCounts[id] = nil }
    }

    /// Lets all files begin anew; the pull's own count continues.
    package mutating func forgetAll() { failureCounts = [:] }

    /// Decides about an attempt that did not bring its file.
    /// - Parameters:
    ///   - reason: what failed; nil if another attempt would not succeed.
    ///   - isUnreached: whether nobody was reached.
    ///   - retryAfter: the server's field `Retry-After`.
    ///   - newByteCount: bytes staged for the first time. An attempt that brought as many as ``RetryPolicy/leastRate``
    ///     asks for was not in vain: counting starts anew.
    ///   - lasting: how long the attempt took. Counts as at least a second, since another one follows it, and at most a
    ///     minute.
    ///   - count: how many concurrent transfers share the network.
    ///   - limit: how long to wait for another attempt at most; who waits in vain would not learn what this one brought.
    ///   - now: seconds since 1970, for a `Retry-After` with a date.
    package mutating func decide(
        _ id: Int, _ reason: String?, isUnreached: Bool = false, retryAfter: String?,
        newByteCount: Int64, lasting: Duration, among count: Int = 1, within limit: Duration? = nil,
        now: Int64, using generator: inout some RandomNumberGenerator
    ) -> Decision {
        let least = policy.leastByteCount(in: min(max(lasting, .seconds(1)), .seconds(60)))
        let isProgress = newByteCount >= max(1, least / Int64(max(count, 1)))
        if isProgress { progressed(id) }
        guard let reason else { return .useless }
        if !isProgress {
            failureCounts[id, default: 0] += 1
            pullFailureCount += 1
        }
        if pullFailureCount >= policy.pullFailureCountMax { return .pullSpent }
        let most = isUnreached ? policy.unreachedCountMax : policy.reachedCountMax
        if failureCount(id) >= min(policy.failureCountMax, most) { return .spent }
        let asked = retryAfter.flatMap { RetryAfter.delay($0, now: now) }
        let delay = policy.delay(
            failureCount: failureCount(id), retryAfter: asked, using: &generator)
        if let limit, delay >= limit { return .spent }
        tell(Retry(reason: reason, delay: delay))
        return .again(after: delay)
    }
}

/// The Retry-After field (RFC 9110, section 10.2.3).
package enum RetryAfter {
    /// How long to wait: seconds, or the time until a date; nil if it is neither.
    /// - Parameter now: seconds since 1970. A date in the past means no wait.
    package static func delay(_ value: String, now: Int64) -> Duration? {
        let bytes = Array(value.utf8)
        if !bytes.isEmpty, bytes.allSatisfy({ $0 >= 48 && $0 <= 57 }) {
            // Numbers that do not fit are an endless wait; the caller limits it.
            return .seconds(min(Int64(value) ?? .max, 1 << 32))
        }
        guard let date = HTTPDate(value, now: HTTPDate(seconds: now)) else { return nil }
        return .seconds(max(date.seconds - now, 0))
    }
}
