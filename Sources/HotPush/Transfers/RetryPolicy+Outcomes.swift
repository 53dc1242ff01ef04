package import CASStore

// What a transfer's outcome means for another attempt.

extension RetryPolicy {
    /// Packs are optional, so nobody waits long for them, except for an unreachable origin, which has no objects
    /// either.
    var forPacks: RetryPolicy {
        var policy = self
        policy.reachedCountMax = 4
        policy.pullFailureCountMax = min(pullFailureCountMax, max(8, failureCountMax))
        policy.retryAfterMax = min(retryAfterMax, .seconds(5))
        return policy
    }

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
}

extension TransferFailure.Kind {
    var isUnreached: Bool { self == .resolve || self == .connect }
}

extension RetryBudget {
    /// Decides about a transfer that did not bring its file.
    /// - Parameter now: seconds since 1970, for a `Retry-After` with a date.
    package mutating func decide(
        _ id: Int, _ outcome: TransferOutcome, head: TransferHead?, newByteCount: Int64,
        lasting: Duration = .zero, among count: Int = 1, within limit: Duration? = nil, now: Int64,
        using generator: inout some RandomNumberGenerator
    ) -> Decision {
        var (reason, isUnreached) = ("the answer was not what was asked for", false)
        if case .failed(let why) = outcome {
            (reason, isUnreached) = (why.message, why.kind.isUnreached)
        }
        if let status = head?.status, status >= 400 {
            reason = "the server answered with status \(status)"
        }
        let isWorth = RetryPolicy.isWorthRetrying(outcome, status: head?.status)
        return decide(
            id, isWorth ? reason : nil, isUnreached: isUnreached, retryAfter: head?["retry-after"],
            newByteCount: newByteCount, lasting: lasting, among: count, within: limit, now: now,
            using: &generator)
    }
}

/// A period in which an origin cannot be reached or refuses whatever is asked: all files wait, and one request probes it.
///
/// Otherwise a hundred concurrent files would use up a hundred attempts while a server restarts.
struct Outage {
    let until: ContinuousClock.Instant
    /// The last request begun before the outage: its failure is part of it.
    let lastID: Int

    static let budgetID = -1

    /// Whether content not yet asked for is the next probe.
    ///
    /// They alternate: what failed may be content that the origin never sends, or only the first request for it.
    var probesFresh: Bool { lastID % 2 == 0 }
}

/// Tells a failing origin from a file that it cannot send: of the latest answers, a fifth refused different files.
struct Refusals {
    private var weight = 0
    private var lastFile: Int?

    mutating func answered() { weight = max(0, weight - 1) }

    /// Whether this is the origin's failure and not the file's.
    mutating func refused(_ file: Int) -> Bool {
        if file != lastFile { weight += 4 }
        lastFile = file
        return weight >= 8
    }
}
