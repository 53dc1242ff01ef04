import CASStore

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
