internal import CASStore

/// An attempt that failed and is to be repeated.
package struct Retry: Sendable {
    /// What went wrong.
    package let reason: String
    /// How long it rests before it tries again.
    package let delay: Duration
}

/// Counts the failures of a pull, and decides for each whether to try again.
///
/// A value without a clock or generator of its own: its answers depend only on what it was told.
package struct RetryBudget: Sendable {
    /// The limits.
    package let policy: RetryPolicy
    /// Failures in a row without progress, by the transfer's id.
    private var failureCounts: [Int: Int] = [:]
    private var pullFailureCount = 0
    /// Gets each retry that is decided.
    private let tell: @Sendable (Retry) -> Void

    /// Makes an unspent budget.
    package init(
        _ policy: RetryPolicy = RetryPolicy(), tell: @escaping @Sendable (Retry) -> Void = { _ in }
    ) {
        self.policy = policy
        self.tell = tell
    }

    /// What to do about an attempt that did not bring its file.
    package enum Decision: Sendable, Hashable {
        /// Try again after this time.
        case again(after: Duration)
        /// Another attempt would fare no better.
        case useless
        /// The file has used up its attempts.
        case spent
        /// The pull has used up its attempts, with this file or others.
        case pullSpent
    }

    /// Notes that new bytes came, of whatever file, and fast enough: the network works.
    package mutating func progressed(_ id: Int) {
        failureCounts[id] = nil
        pullFailureCount = 0
    }

    /// Forgets transfers that are over, however they ended.
    mutating func forget(_ ids: Range<Int>) {
        if failureCounts.isEmpty { return }
        for id in ids { failureCounts[id] = nil }
    }

    /// Decides about an attempt that did not bring its file.
    ///
    /// - Parameters:
    ///   - id: the transfer's.
    ///   - outcome: how it ended.
    ///   - head: the final response's head, if it came.
    ///   - newByteCount: bytes staged beyond what was staged before. An attempt that brought as many as
    ///     ``RetryPolicy/leastRate`` asks for was not in vain: counting starts anew. Bytes that were fetched a second
    ///     time are not new.
    ///   - lasting: how long the attempt took. At least a second counts, since another one follows it, and at most a
    ///     minute.
    ///   - count: how many transfers were under way, which share what the network can do.
    ///   - now: seconds since 1970, for a `Retry-After` with a date.
    ///   - generator: draws the wait.
    package mutating func decide(
        _ id: Int, _ outcome: TransferOutcome, head: TransferHead?, newByteCount: Int64,
        lasting: Duration = .zero, among count: Int = 1, now: Int64,
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
