/// Limits the rate of bytes over all transfers of a network, or all reads of a check.
///
/// A bucket that fills with time. While it is not empty, a chunk is taken whole and may leave a debt, so the rate
/// holds for chunks of any size.
package struct RateLimit: Sendable {
    /// The bucket holds a fifth of a second's worth, so that no flood follows a pause.
    private static let capacityMilliseconds: Int64 = 200

    /// Bytes a second; nil for no limit.
    package let byteRate: Int64?
    /// In thousandths of a byte, so that no fraction is lost between two readings of the clock.
    private var level: Int64 = 0
    private var lastFill: Int64 = 0

    package init(byteRate: Int64?) {
        // Larger rates would overflow the product with time, and limit nothing.
        self.byteRate = byteRate.map { min(max($0, 1), 1 << 40) }
    }

    package var isEmpty: Bool { byteRate != nil && level <= 0 }

    package mutating func fill(at now: Int64) {
        guard let byteRate else { return }
        let elapsed = min(max(now - lastFill, 0), 3_600_000)
        lastFill = now
        level = min(level + elapsed * byteRate, Self.capacityMilliseconds * byteRate)
    }

    package mutating func take(_ count: Int) {
        if byteRate != nil { level -= Int64(count) * 1000 }
    }

    /// Milliseconds until the bucket is not empty.
    package var wait: Int64 {
        guard let byteRate, level <= 0 else { return 0 }
        return -level / byteRate + 1
    }

    /// The largest sensible read: a tenth of a second's worth, so that slow rates are smooth.
    package var chunkByteCountMax: Int {
        guard let byteRate else { return .max }
        return Int(max(byteRate / 10, 1024))
    }
}
