/// How many requests may be under way at once, learned from the answers.
///
/// A value without a clock: halved after a 503 SlowDown, one more after 100 requests that succeeded. Refusals of
/// requests that were under way together count once.
struct AdaptiveLimit: Sendable, Hashable {
    let countMax: Int
    private(set) var count: Int
    private var successCount = 0
    private var begunCount = 0
    /// Requests up to this one had begun when the limit was last halved.
    private var halvedAt = 0

    private static let successesForOneMore = 100

    init(_ countMax: Int) {
        self.countMax = max(countMax, 1)
        count = self.countMax
    }

    mutating func begin() -> Int {
        begunCount += 1
        return begunCount
    }

    mutating func succeeded() {
        guard count < countMax else { return }
        successCount += 1
        guard successCount >= Self.successesForOneMore else { return }
        successCount = 0
        count += 1
    }

    mutating func refused(_ number: Int) {
        successCount = 0
        guard number > halvedAt else { return }
        halvedAt = begunCount
        count = max(count / 2, 1)
    }
}
