/// How slow a transfer may be: one that brings fewer bytes in this time would never end.
struct DripLimit {
    /// How many bytes must come within ``time``.
    static let byteCount: Int64 = 8 * 1024
    /// How long they may take.
    let time: Duration

    /// - Parameter transport: what it holds back to keep to its rate is not the network's fault.
    init(_ policy: RetryPolicy, over transport: any Transport) {
        guard let byteRate = transport.byteRateMax else {
            time = policy.dripTime
            return
        }
        // Four times what the share of one of many transfers needs: turns are not exact.
        let seconds =
            4 * Self.byteCount * Int64(max(transport.parallelCount, 1)) / max(byteRate, 1)
        time = max(policy.dripTime, .seconds(seconds))
    }
}

/// Watches one transfer for its ``DripLimit``.
struct DripWatch {
    /// When the current stretch began, and how much has come since.
    private var began = ContinuousClock.now
    private var byteCount: Int64 = 0

    /// Notes that bytes came.
    /// - Returns: whether the transfer is too slow.
    mutating func isDripping(_ count: Int, _ limit: DripLimit) -> Bool {
        byteCount += Int64(count)
        if byteCount >= DripLimit.byteCount {
            (began, byteCount) = (.now, 0)
            return false
        }
        return ContinuousClock.now - began > limit.time
    }
}
