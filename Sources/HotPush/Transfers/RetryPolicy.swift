internal import CASStore

/// How often and how soon to retry a failed transfer.
///
/// The waits grow exponentially and are drawn evenly between zero and their limit ("full jitter"):
/// many devices that lose a server do not all return at once.
package struct RetryPolicy: Sendable, Hashable {
    /// Failures in a row without progress after which a file is given up.
    package var failureCountMax = 8
    /// How often to try to reach an origin that has not answered at all: where there is no such name, or nobody
    /// listens, waiting seldom helps.
    package var unreachedCountMax = 3
    /// Failures in a row without progress after which a file is given up although its origin can be reached.
    private(set) var reachedCountMax = Int.max
    /// Failures in a row without progress, over all files, after which a pull is given up: the
    /// network is gone.
    package var pullFailureCountMax = 200
    /// The limit of the first wait; it doubles for each following wait.
    package var firstDelay: Duration = .milliseconds(500)
    /// The limit of any wait.
    package var delayMax: Duration = .seconds(30)
    /// The longest wait that a server's `Retry-After` can impose.
    package var retryAfterMax: Duration = .seconds(120)

    /// The fewest bytes a minute that count as progress.
    ///
    /// A slower connection is given up for another, and an attempt that was slower was in vain: an origin whose every
    /// connection brings one byte would keep a pull going for weeks.
    package var leastRate: Int64 = 8 * 1024
    /// How long a connection may stay below ``leastRate``.
    ///
    /// If the transport keeps to a rate, proportionally longer.
    package var dripTime: Duration = .seconds(60)

    /// How many bytes ``leastRate`` asks for in a time: at least one.
    func leastByteCount(in time: Duration) -> Int64 {
        let (whole, part) = leastRate.multipliedReportingOverflow(by: max(time.milliseconds, 0))
        return max(1, (part ? .max : whole) / 60_000)
    }

    /// The policy for packs: objects come one by one without them, so nobody waits long, but for an origin that cannot
    /// be reached: then objects cannot be had either.
    var forPacks: RetryPolicy {
        var policy = self
        policy.reachedCountMax = 4
        policy.pullFailureCountMax = min(pullFailureCountMax, max(8, failureCountMax))
        policy.retryAfterMax = min(retryAfterMax, .seconds(5))
        return policy
    }

    /// The policy once an origin has answered: that it cannot be reached now is trouble that passes.
    package var afterAnswer: RetryPolicy {
        var policy = self
        policy.unreachedCountMax = .max
        return policy
    }

    /// Makes a policy for a mobile network: a file may be stuck for about a minute.
    package init() {}

    /// Whether another attempt may fare better than one that ended this way.
    ///
    /// - Parameter status: the status of the final response, if its head came. An error status
    ///   outweighs what happened to its body.
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

    /// After how many failures in a row that ended this way a file is given up.
    func failureCountMax(of outcome: TransferOutcome) -> Int {
        if case .failed(let failure) = outcome, failure.kind.isUnreached {
            return min(failureCountMax, unreachedCountMax)
        }
        return min(failureCountMax, reachedCountMax)
    }

    /// Whether a status reports a temporary problem (RFC 9110, sections 15.5 and 15.6; 425: RFC
    /// 8470, section 5.2; 429: RFC 6585, section 4).
    package static func isWorthRetrying(status: Int) -> Bool {
        switch status {
        case 408, 425, 429, 500, 502, 503, 504: true
        default: false
        }
    }

    /// How long to wait before the next attempt.
    ///
    /// - Parameters:
    ///   - failureCount: failures in a row without progress, with this one; 0 if it made some.
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
    /// Whether nobody answered, of whatever is asked for there.
    var isUnreached: Bool { self == .resolve || self == .connect }
}
