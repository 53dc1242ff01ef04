/// How many requests may be under way at once, learned from the answers.
///
/// A value without a clock: half after a 503 SlowDown, one more after 100 requests that succeeded. Many
/// requests that were under way together count as one refusal.
struct AdaptiveLimit: Sendable, Hashable {
    /// The most there ever are.
    let countMax: Int
    /// How many there may be now.
    private(set) var count: Int
    private var successCount = 0
    private var begunCount = 0
    /// Requests up to this one had begun when the limit was last halved.
    private var halvedAt = 0

    /// Successes until one more is tried.
    private static let successesForOneMore = 100

    init(_ countMax: Int) {
        self.countMax = max(countMax, 1)
        count = self.countMax
    }

    /// Notes that a request begins; returns its number.
    mutating func begin() -> Int {
        begunCount += 1
        return begunCount
    }

    /// Notes a request that was answered well.
    mutating func succeeded() {
        guard count < countMax else { return }
        successCount += 1
        guard successCount >= Self.successesForOneMore else { return }
        successCount = 0
        count += 1
    }

    /// Notes that the server asks to slow down.
    mutating func refused(_ number: Int) {
        successCount = 0
        guard number > halvedAt else { return }
        halvedAt = begunCount
        count = max(count / 2, 1)
    }
}
