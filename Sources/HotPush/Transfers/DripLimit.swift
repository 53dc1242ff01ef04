/// How slow transfers may be: those that bring fewer bytes in this time would never end.
struct DripLimit {
    /// How many bytes must come within ``time``.
    let byteCount: Int64
    /// How long they may take.
    let time: Duration

    /// - Parameter transport: what it holds back to keep to its rate is not the network's fault.
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

/// Watches one transfer for its ``DripLimit``.
struct DripWatch {
    /// What the bytes that have just come say of it.
    enum Pace {
        /// It comes fast enough, and has done so for a whole stretch.
        case kept
        case undecided
        /// It is too slow.
        case dripping
    }

    /// When the transfer began.
    private let start = ContinuousClock.now
    /// When the current stretch began, and how much has come since.
    private var began = ContinuousClock.now
    private var byteCount: Int64 = 0

    /// How long it has lasted.
    var lasted: Duration { ContinuousClock.now - start }

    /// Notes that bytes came.
    ///
    /// - Parameter count: how many transfers are under way: they share what the network can do.
    mutating func pace(_ bytes: Int, _ limit: DripLimit, among count: Int = 1) -> Pace {
        byteCount += Int64(bytes)
        if byteCount >= limit.byteCount / Int64(max(count, 1)) {
            (began, byteCount) = (.now, 0)
            return .kept
        }
        return ContinuousClock.now - began > limit.time ? .dripping : .undecided
    }
}
