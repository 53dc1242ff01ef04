internal import CDivsufsort
internal import CLibraries
internal import Platform

/// The places of a base in the order of the bytes that follow them: finds where it has any content.
final class SuffixArray: Sendable {
    /// Shorter matches are worth nothing.
    private static let byteCountMin = 3
    /// So many equally long matches are looked at on each side.
    private static let neighbourCountMax = 48
    private static let bucketCount = 1 << 16

    private nonisolated(unsafe) let places: UnsafeMutablePointer<Int32>
    /// Where the places begin whose first two bytes are these, the first in the upper eight bits.
    private nonisolated(unsafe) let buckets: UnsafeMutablePointer<Int32>
    private nonisolated(unsafe) let base: UnsafePointer<UInt8>
    private let count: Int

    /// - Throws: `.outOfMemory`.
    init(_ base: UnsafeRawBufferPointer) throws(StoreError) {
        count = base.count
        places = .allocate(capacity: base.count + 1)
        buckets = .allocate(capacity: Self.bucketCount + 1)
        buckets.initialize(repeating: 0, count: Self.bucketCount + 1)
        self.base = UnsafePointer(
            base.baseAddress?.assumingMemoryBound(to: UInt8.self)
                ?? UnsafeRawPointer(buckets).assumingMemoryBound(to: UInt8.self))
        if count > 0, divsufsort(self.base, places, Int32(base.count)) != 0 {
            throw StoreError(.outOfMemory, "unable to sort a base for deltas: out of memory")
        }
        for place in 0..<count {
            buckets[bucket(UnsafePointer(self.base + place), count - place) + 1] += 1
        }
        for index in 0..<Self.bucketCount { buckets[index + 1] += buckets[index] }
    }

    deinit {
        places.deallocate()
        buckets.deallocate()
    }

    static func byteCount(baseByteCount: Int) -> Int {
        // libdivsufsort takes two tables of its own while it sorts, as large as the buckets.
        4 * baseByteCount + 4 * (3 * bucketCount + 512)
    }

    @inline(__always)
    private func bucket(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int {
        Int(bytes[0]) << 8 | (count > 1 ? Int(bytes[1]) : 0)
    }

    /// The longest match of some bytes with the base; of equally long ones the nearest to a place that is wanted.
    /// - Returns: its place, and its length or 0.
    func longest(
        _ bytes: UnsafePointer<UInt8>, _ byteCount: Int, near wanted: Int
    ) -> (place: Int, count: Int) {
        guard byteCount >= Self.byteCountMin, count >= Self.byteCountMin else { return (0, 0) }
        let key = bucket(bytes, byteCount)
        let lower = Int(buckets[key])
        let upper = Int(buckets[key + 1])
        var first = lower
        var end = upper
        while first < end {
            let middle = (first + end) / 2
            if isBelow(Int(places[middle]), bytes, byteCount) {
                first = middle + 1
            } else {
                end = middle
            }
        }
        var best = (place: 0, count: 0)
        for index in max(first - 1, lower)..<min(first + 1, upper) {
            let place = Int(places[index])
            let length = equal(place, bytes, byteCount)
            if length > best.count { best = (place, length) }
        }
        guard best.count >= 4 else { return best }
        var distance = abs(best.place - wanted)
        func take(_ index: Int) -> Bool {
            let place = Int(places[index])
            guard equal(place, bytes, best.count) == best.count else { return false }
            if abs(place - wanted) < distance {
                distance = abs(place - wanted)
                best.place = place
            }
            return true
        }
        for index in first..<min(upper, first + Self.neighbourCountMax) where !take(index) { break }
        for index in (max(lower, first - Self.neighbourCountMax)..<first).reversed()
        where !take(index) { break }
        return best
    }

    private func isBelow(
        _ place: Int, _ bytes: UnsafePointer<UInt8>, _ byteCount: Int
    ) -> Bool {
        let length = equal(place, bytes, byteCount)
        if length == byteCount { return false }
        return length == count - place || base[place + length] < bytes[length]
    }

    @inline(__always)
    func equal(_ place: Int, _ bytes: UnsafePointer<UInt8>, _ byteCount: Int) -> Int {
        equalCount(base + place, count &- place, bytes, byteCount)
    }
}

/// How many bytes are equal at the start of both.
@inline(__always)
func equalCount(
    _ left: UnsafePointer<UInt8>, _ leftCount: Int, _ right: UnsafePointer<UInt8>,
    _ rightCount: Int
) -> Int {
    let end = min(leftCount, rightCount)
    var count = 0
    while count &+ 8 <= end {
        let difference =
            UnsafeRawPointer(left + count).loadUnaligned(as: UInt64.self).littleEndian
            ^ UnsafeRawPointer(right + count).loadUnaligned(as: UInt64.self).littleEndian
        if difference != 0 { return count &+ difference.trailingZeroBitCount >> 3 }
        count &+= 8
    }
    while count < end, left[count] == right[count] { count &+= 1 }
    return count
}
