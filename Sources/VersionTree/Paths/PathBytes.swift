#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// Paths as bytes: compared as memory, which is several times faster than element by element.

extension UnsafeBufferPointer<UInt8> {
    /// Whether these bytes come before others in lexicographic order.
    @inline(__always)
    func precedes(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        compare(other) < 0
    }

    /// Whether these bytes are the others.
    @inline(__always)
    func equals(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        count == other.count && compare(other) == 0
    }

    /// Less than, equal to or greater than zero, as these bytes come before others, are them, or
    /// come after.
    @inline(__always)
    func compare(_ other: UnsafeBufferPointer<UInt8>) -> Int {
        let shared = Swift.min(count, other.count)
        if shared > 0, let left = baseAddress, let right = other.baseAddress {
            let order = memcmp(left, right, shared)
            if order != 0 { return Int(order) }
        }
        return count - other.count
    }
}
