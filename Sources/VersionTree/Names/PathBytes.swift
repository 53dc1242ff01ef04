import CASStore

// Paths as bytes, compared eight at a time: several times faster than element by element.

/// Calls `body` with the bytes of a directory entry's name, without the final NUL.
func withBytes<R>(
    of name: UnsafePointer<CChar>, _ body: (UnsafeBufferPointer<UInt8>) -> R
) -> R {
    var count = 0
    while name[count] != 0 { count += 1 }
    return name.withMemoryRebound(to: UInt8.self, capacity: count) {
        body(UnsafeBufferPointer(start: $0, count: count))
    }
}

extension UnsafeBufferPointer<UInt8> {
    @inline(__always)
    func path(at start: UInt32, length: UInt16) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: self[Int(start)..<Int(start) + Int(length)])
    }

    @inline(__always)
    func precedes(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        compare(other) < 0
    }

    @inline(__always)
    func equals(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        count == other.count && compare(other) == 0
    }

    /// Negative, zero or positive if these bytes come before others, equal them, or come after, like memcmp(3).
    @inline(__always)
    func compare(_ other: UnsafeBufferPointer<UInt8>) -> Int {
        let (left, right) = (UnsafeRawBufferPointer(self), UnsafeRawBufferPointer(other))
        let shared = Swift.min(count, other.count)
        var offset = 0
        while offset + 8 <= shared {
            // Read as a big-endian number, eight bytes have the order of their first difference.
            let mine = UInt64(
                bigEndian: left.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            let theirs = UInt64(
                bigEndian: right.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            if mine != theirs { return mine < theirs ? -1 : 1 }
            offset += 8
        }
        while offset < shared {
            if left[offset] != right[offset] { return left[offset] < right[offset] ? -1 : 1 }
            offset += 1
        }
        return count - other.count
    }
}

extension Range<Int> {
    /// The position of an element in a sorted row, found by bisection.
    /// - Parameter order: zero if the element is at a position, negative if it precedes that, positive if it follows.
    func bisected(_ order: (Int) -> Int) -> Int? {
        let place = firstPosition { order($0) > 0 }
        return place < upperBound && order(place) == 0 ? place : nil
    }
}
