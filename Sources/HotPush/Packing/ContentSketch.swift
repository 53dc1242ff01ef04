import CASStore

/// A sample of what some content consists of: the smallest hashes of its windows of 24 bytes.
///
/// Contents that have much in common have many hashes in common, wherever the common bytes stand and whatever the
/// files are called. A hash is in every sketch whose content has that window and whose ``bound`` is above it, so
/// sketches of any two contents are comparable below the smaller bound.
struct ContentSketch: Sendable, Hashable {
    /// The hashes, ascending, each once.
    var hashes: [UInt64]
    /// Every hash of the content below this one is among ``hashes``.
    var bound: UInt64

    /// The bytes of a window.
    static let windowByteCount = 24
    /// The most hashes of a sketch.
    static let hashCountMax = 4096
    /// Contents below this size are sampled more densely.
    private static let smallByteCount = 8 << 10

    /// Makes the sketch of content that is all in memory.
    /// - Parameter limit: the most hashes to keep.
    init(of content: UnsafeRawBufferPointer, limit: Int = ContentSketch.hashCountMax) {
        // One hash in 16 of small contents, else one in 128.
        bound = UInt64(1) << (content.count < Self.smallByteCount ? 60 : 57)
        hashes = []
        guard content.count >= Self.windowByteCount, limit > 0 else { return }
        var last: UInt64?
        var bound = bound
        Self.forEachWindow(of: content) { hash in
            // Long runs of one byte have one hash.
            guard hash < bound, hash != last else { return }
            last = hash
            hashes.append(hash)
            if hashes.count >= 8 * limit { Self.reduce(&hashes, &bound, to: limit) }
        }
        Self.reduce(&hashes, &bound, to: limit)
        self.bound = bound
    }

    init(hashes: [UInt64], bound: UInt64) {
        self.hashes = hashes
        self.bound = bound
    }

    /// The same with fewer hashes.
    func limited(to limit: Int) -> ContentSketch {
        guard hashes.count > limit else { return self }
        var shorter = self
        Self.reduce(&shorter.hashes, &shorter.bound, to: limit)
        return shorter
    }

    /// How many of the hashes are below a bound.
    func count(below bound: UInt64) -> Int {
        guard bound < self.bound else { return hashes.count }
        return hashes.firstPosition { $0 < bound }
    }

    private static func reduce(_ hashes: inout [UInt64], _ bound: inout UInt64, to limit: Int) {
        hashes.sort()
        var count = 0
        for position in hashes.indices where count == 0 || hashes[count - 1] != hashes[position] {
            if count == limit {
                bound = hashes[position]
                break
            }
            hashes[count] = hashes[position]
            count += 1
        }
        hashes.removeSubrange(count...)
    }

    /// Rolls over the content: a polynomial in 2^64, then mixed, since its low bits know little.
    @inline(__always)
    private static func forEachWindow(
        of content: UnsafeRawBufferPointer, _ body: (UInt64) -> Void
    ) {
        let factor: UInt64 = 0x9E37_79B9_7F4A_7C15
        // What the byte that leaves the window has become by then.
        var leaving: UInt64 = 1
        for _ in 0..<windowByteCount { leaving = leaving &* factor }
        var state: UInt64 = 0
        for position in 0..<windowByteCount {
            state = state &* factor &+ UInt64(content[position]) &+ 1
        }
        var position = windowByteCount
        while true {
            var hash = state ^ (state >> 32)
            hash = hash &* 0xD6E8_FEB8_6659_FD93
            body(hash ^ (hash >> 32))
            guard position < content.count else { return }
            let first = UInt64(content[position - windowByteCount]) &+ 1
            state = state &* factor &+ UInt64(content[position]) &+ 1 &- first &* leaving
            position += 1
        }
    }
}
