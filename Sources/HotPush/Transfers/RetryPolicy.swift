internal import CASStore

/// How often and how soon to retry a failed transfer.
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
    private(set) var reachedCountMax = Int.max
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
    func leastByteCount(in time: Duration) -> Int64 {
        let (whole, part) = leastRate.multipliedReportingOverflow(by: max(time.milliseconds, 0))
        return max(1, (part ? .max : whole) / 60_000)
    }

    /// Packs are optional, so nobody waits long for them, except for an unreachable origin, which has no objects
    /// either.
    var forPacks: RetryPolicy {
        var policy = self
        policy.reachedCountMax = 4
        policy.pullFailureCountMax = min(pullFailureCountMax, max(8, failureCountMax))
        policy.retryAfterMax = min(retryAfterMax, .seconds(5))
        return policy
    }

    /// After an origin has answered, not reaching it is a temporary problem.
    package var afterAnswer: RetryPolicy {
        var policy = self
        policy.unreachedCountMax = .max
        return policy
    }

    /// For a mobile network: a file may be stuck for about a minute.
    package init() {}

    /// Whether another attempt may succeed after this outcome.
    /// - Parameter status: of the final response, if its head came. An error status outweighs what happened to its
    ///   body.
    package static func isWorthRetrying(_ outcome: TransferOutcome, status: Int?) -> Bool {
        if let status, status >= 400 {
            switch outcome {
            case .finished, .failed: return isWorthRetrying(status: status)
            case .refused, .tooLarge, .cancelled: return false
            }
        }
        guard case .failed(let failure) = outcome else { return false }
        switch failure.kind {
        case .resolve, .connect, .broken, .timeout: return true
        case .security, .redirect, .malformed, .request: return false
        }
    }

    func failureCountMax(of outcome: TransferOutcome) -> Int {
        if case .failed(let failure) = outcome, failure.kind.isUnreached {
            return min(failureCountMax, unreachedCountMax)
        }
        return min(failureCountMax, reachedCountMax)
    }

    /// Whether a status reports a temporary problem (RFC 9110, sections 15.5 and 15.6; 425: RFC 8470, section 5.2; 429:
    /// RFC 6585, section 4).
    package static func isWorthRetrying(status: Int) -> Bool {
        switch status {
        case 408, 425, 429, 500, 502, 503, 504: true
        default: false
        }
    }

    /// How long to wait before the next attempt.
    /// - Parameters:
    ///   - failureCount: consecutive failures without progress, with this one; 0 if it made some.
    ///   - retryAfter: what the server asked for; the wait is no shorter, up to ``retryAfterMax``.
    ///   - generator: draws the wait; a seeded one draws the same each time.
    package func delay(
        failureCount: Int, retryAfter: Duration? = nil,
        using generator: inout some RandomNumberGenerator
    ) -> Duration {
        let backoff = Backoff(
            firstDelay: firstDelay, delayMax: delayMax, retryAfterMax: retryAfterMax)
        return backoff.delay(
            failureCount: failureCount, retryAfter: retryAfter, using: &generator)
    }
}

extension TransferFailure.Kind {
    var isUnreached: Bool { self == .resolve || self == .connect }
}

package struct Retry: Sendable {
    package let reason: String
    package let delay: Duration
}

/// Counts the failures of a pull, and decides for each whether to try again; a value without a clock or generator.
package struct RetryBudget: Sendable {
    package let policy: RetryPolicy
    /// Consecutive failures without progress, by the transfer's id.
    private var failureCounts: [Int: Int] = [:]
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

    /// Notes that a file came, or new bytes of any, fast enough: the network works.
    package mutating func progressed(_ id: Int) {
        failureCounts[id] = nil
        pullFailureCount = 0
    }

    mutating func forget(_ ids: Range<Int>) {
        if failureCounts.isEmpty { return }
        for id in ids { failureCounts[id] = nil }
    }

    /// Lets all files begin anew; the pull's own count goes on.
    mutating func forgetAll() { failureCounts = [:] }

    /// Decides about an attempt that did not bring its file.
    /// - Parameters:
    ///   - newByteCount: bytes staged for the first time. An attempt that brought as many as ``RetryPolicy/leastRate``
    ///     asks for was not in vain: counting starts anew.
    ///   - lasting: how long the attempt took. Counts as at least a second, since another one follows it, and at most a
    ///     minute.
    ///   - count: how many concurrent transfers share the network.
    ///   - limit: how long to wait for another attempt at most; who waits in vain would not learn what this one brought.
    ///   - now: seconds since 1970, for a `Retry-After` with a date.
    package mutating func decide(
        _ id: Int, _ outcome: TransferOutcome, head: TransferHead?, newByteCount: Int64,
        lasting: Duration = .zero, among count: Int = 1, within limit: Duration? = nil, now: Int64,
        using generator: inout some RandomNumberGenerator
    ) -> Decision {
        let least = policy.leastByteCount(in: min(max(lasting, .seconds(1)), .seconds(60)))
        let isProgress = newByteCount >= max(1, least / Int64(max(count, 1)))
        if isProgress { progressed(id) }
        guard RetryPolicy.isWorthRetrying(outcome, status: head?.status) else { return .useless }
        var failureCount = 0
        if !isProgress {
            failureCount = (failureCounts[id] ?? 0) + 1
            failureCounts[id] = failureCount
            pullFailureCount += 1
        }
        if pullFailureCount >= policy.pullFailureCountMax { return .pullSpent }
        if failureCount >= policy.failureCountMax(of: outcome) { return .spent }
        let asked = head.flatMap { head in
            head["retry-after"].flatMap { RetryAfter.delay($0, now: now) }
        }
        let delay = policy.delay(
            failureCount: failureCount, retryAfter: asked, using: &generator)
        if let limit, delay >= limit { return .spent }
        tell(Retry(reason: Self.reason(outcome, head), delay: delay))
        return .again(after: delay)
    }

    private static func reason(_ outcome: TransferOutcome, _ head: TransferHead?) -> String {
        if let status = head?.status, status >= 400 {
            return "the server answered with status \(status)"
        }
        if case .failed(let failure) = outcome { return failure.message }
        return "the answer was not what was asked for"
    }
}

/// The lowest acceptable rate of a transfer: a slower one would never end.
package struct DripLimit {
    let byteCount: Int64
    let time: Duration

    package init(_ byteCount: Int64, in time: Duration) {
        self.byteCount = byteCount
        self.time = time
    }

    /// - Parameter transport: excuses the delay caused by its own rate limit.
    init(_ policy: RetryPolicy, over transport: any Transport) {
        byteCount = policy.leastByteCount(in: policy.dripTime)
        guard let byteRate = transport.byteRateMax else {
            time = policy.dripTime
            return
        }
        // Four times what the share of one of many transfers needs: turns are not exact.
        let seconds = 4 * byteCount * Int64(max(transport.parallelCount, 1)) / max(byteRate, 1)
        time = max(policy.dripTime, .seconds(seconds))
    }
}

/// Watches one transfer for its ``DripLimit``, from its first byte on.
package struct DripWatch {
    /// What the latest bytes show.
    package enum Pace {
        /// It is fast enough, and has been for a whole stretch.
        case kept
        case undecided
        case dripping
    }

    private let start = ContinuousClock.now
    private let limit: DripLimit?
    /// When the current stretch began, and how much has come since; nil before the first byte.
    private var began: ContinuousClock.Instant?
    private var byteCount: Int64 = 0

    var lasted: Duration { ContinuousClock.now - start }

    package init(_ limit: DripLimit?) { self.limit = limit }

    /// - Parameter count: how many concurrent transfers share the network.
    package mutating func pace(_ bytes: Int, among count: Int = 1) -> Pace {
        guard let limit else { return .undecided }
        byteCount += Int64(bytes)
        let now = ContinuousClock.now
        guard let began else {
            self.began = now
            return .undecided
        }
        if byteCount >= limit.byteCount / Int64(max(count, 1)) {
            (self.began, byteCount) = (now, 0)
            return .kept
        }
        return now - began > limit.time ? .dripping : .undecided
    }
}
