/// Codes bits, each with the probability that it is 1, in 65,536ths.
///
/// The models are written once for both directions: an encoder takes the bit that it is given, a decoder ignores it.
protocol BitCoder {
    /// - Returns: the bit, 0 or 1.
    mutating func code(_ bit: UInt32, _ probability: UInt32) -> UInt32
}

/// Divides a range of 32 bits, and shifts out its upper bytes once they are settled.
///
/// Nothing is carried.
struct RangeEncoder: BitCoder {
    private(set) var bytes: [UInt8] = []
    private var low: UInt32 = 0
    private var high = UInt32.max

    @inline(__always)
    mutating func code(_ bit: UInt32, _ probability: UInt32) -> UInt32 {
        let middle = rangeMiddle(low, high, probability)
        if bit != 0 { high = middle } else { low = middle &+ 1 }
        while (low ^ high) >> 24 == 0 {
            bytes.append(UInt8(high >> 24))
            low <<= 8
            high = high << 8 | 0xFF
        }
        return bit
    }

    /// Ends the range with the fewest bytes after which a decoder may take zeros.
    mutating func finish() {
        let (value, byteCount) = rangeEnd(low, high)
        for index in 0..<UInt32(byteCount) {
            bytes.append(UInt8(truncatingIfNeeded: value >> (24 - 8 * index)))
        }
    }
}

/// Reads what ``RangeEncoder`` writes, and zeros after its end.
struct RangeDecoder: BitCoder {
    private let bytes: UnsafeRawBufferPointer
    private var next = 0
    private var low: UInt32 = 0
    private var high = UInt32.max
    private var value: UInt32 = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        for _ in 0..<4 { value = value << 8 | take() }
    }

    /// How many bytes were read past the end; negative if some are unread.
    var overread: Int { next - bytes.count }

    /// Whether the bytes end as ``RangeEncoder/finish()`` ends them after the bits that were read.
    var isAtEnd: Bool {
        // The last four bytes that were read are those of `value`.
        let (end, byteCount) = rangeEnd(low, high)
        return value == end && overread == 4 - byteCount
    }

    @inline(__always)
    mutating func code(_: UInt32, _ probability: UInt32) -> UInt32 {
        let middle = rangeMiddle(low, high, probability)
        let bit: UInt32 = value <= middle ? 1 : 0
        if bit != 0 { high = middle } else { low = middle &+ 1 }
        while (low ^ high) >> 24 == 0 {
            low <<= 8
            high = high << 8 | 0xFF
            value = value << 8 | take()
        }
        return bit
    }

    @inline(__always)
    private mutating func take() -> UInt32 {
        let byte: UInt32 = next < bytes.count ? UInt32(bytes[next]) : 0
        next &+= 1
        return byte
    }
}

/// The last value of the range that means 1: below `high`, as no bit is certain.
@inline(__always)
private func rangeMiddle(_ low: UInt32, _ high: UInt32, _ probability: UInt32) -> UInt32 {
    let certain = min(max(probability, 32), 65536 - 32)
    return low &+ UInt32(truncatingIfNeeded: (UInt64(high &- low) &* UInt64(certain)) >> 16)
}

/// The value in a range that has the fewest bytes before zeros, and how many it has.
private func rangeEnd(_ low: UInt32, _ high: UInt32) -> (value: UInt32, byteCount: Int) {
    if low == 0 { return (0, 0) }
    for byteCount in 1..<4 {
        let unit = UInt64(1) << UInt64(32 - 8 * byteCount)
        let value = (UInt64(low) + unit - 1) / unit * unit
        if value <= UInt64(high) { return (UInt32(value), byteCount) }
    }
    return (low, 4)
}
