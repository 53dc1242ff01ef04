import CASStore
import HotPush
import Synchronization

/// A sample of some content: the smallest hashes of its windows of 24 bytes.
///
/// Contents with common bytes have common hashes, wherever these bytes are and whatever the files are called. A hash is
/// in every sketch with that window and a higher ``bound``, so two sketches are comparable below the smaller bound.
struct ContentSketch: Sendable, Hashable {
    /// Ascending and distinct.
    var hashes: [UInt64]
    /// Every hash of the content below this one is among ``hashes``.
    var bound: UInt64

    static let windowByteCount = 24
    static let hashCountMax = 4096
    /// Contents below this size are sampled more densely.
    private static let smallByteCount = 8 << 10

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

    func limited(to limit: Int) -> ContentSketch {
        guard hashes.count > limit else { return self }
        var shorter = self
        Self.reduce(&shorter.hashes, &shorter.bound, to: limit)
        return shorter
    }

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

    /// A rolling polynomial in 2^64, mixed because its low bits vary little.
    @inline(__always)
    private static func forEachWindow(
        of content: UnsafeRawBufferPointer, _ body: (UInt64) -> Void
    ) {
        let factor: UInt64 = 0x9E37_79B9_7F4A_7C15
        // The weight of the byte that leaves the window.
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

/// Finds the object of a content that has most in common with another object.
struct SketchIndex: Sendable {
    private let objects: [Reference]
    private let bounds: [UInt64]
    /// The hashes of all sketches, ascending, each with the position of its object.
    private let hashes: [UInt64]
    private let owners: [UInt32]

    /// A hash in more objects than this says nothing about any of them.
    private static let ownerCountMax = 256

    init(_ objects: [Reference], _ sketches: [ContentSketch]) {
        self.objects = objects
        bounds = sketches.map(\.bound)
        var pairs: [(hash: UInt64, owner: UInt32)] = []
        pairs.reserveCapacity(sketches.reduce(0) { $0 + $1.hashes.count })
        for (owner, sketch) in sketches.enumerated() {
            for hash in sketch.hashes { pairs.append((hash, UInt32(owner))) }
        }
        pairs.sort { ($0.hash, $0.owner) < ($1.hash, $1.owner) }
        hashes = pairs.map(\.hash)
        owners = pairs.map(\.owner)
    }

    /// The object that shares most with another one, and at least a twentieth of it; `nil` for none.
    /// - Parameter isAllowed: whether an object may be the base at all.
    func base(
        of object: Reference, _ sketch: ContentSketch, where isAllowed: (Reference) -> Bool
    ) -> Reference? {
        var counts: [UInt32: Int] = [:]
        var start = 0
        for hash in sketch.hashes {
            start = hashes[start...].firstPosition { $0 < hash }
            var end = start
            while end < hashes.count, hashes[end] == hash { end += 1 }
            if end - start <= Self.ownerCountMax {
                for position in start..<end { counts[owners[position], default: 0] += 1 }
            }
            start = end
        }
        var best: (object: Reference, common: Double)?
        for (owner, count) in counts.sorted(by: { $0.key < $1.key }) {
            let candidate = objects[Int(owner)]
            let bound = min(bounds[Int(owner)], sketch.bound)
            guard count * 20 >= sketch.count(below: bound), isAllowed(candidate) else { continue }
            // The estimate for all hashes rather than the sampled ones.
            let common = Double(count) / Double(bound)
            guard let before = best else {
                best = (candidate, common)
                continue
            }
            let isNearer =
                abs(candidate.byteCount - object.byteCount)
                < abs(before.object.byteCount - object.byteCount)
            if common > before.common || common == before.common && isNearer {
                best = (candidate, common)
            }
        }
        return best?.object
    }
}

typealias ObjectSketches = [ObjectID: ContentSketch]

extension ObjectSketches {
    /// The most hashes of a content's sketches together; a content with very many objects has fewer for each.
    private static var hashCountMax: Int { 2 << 20 }
    private static var hashCountMin: Int { 8 }

    static func limit(objectCount: Int) -> Int {
        let share = hashCountMax / Swift.max(objectCount, 1)
        return Swift.min(Swift.max(share, hashCountMin), ContentSketch.hashCountMax)
    }

    /// Makes the missing sketches on all processors.
    /// - Parameter byteCountMax: objects above this size get none.
    /// - Returns: the objects that cannot be read.
    mutating func add(
        _ objects: [Reference], limit: Int, byteCountMax: Int64, from source: PackSource,
        _ progress: PackingProgress
    ) throws(StoreError) -> [Reference] {
        let missing = objects.filter {
            self[$0.address] == nil && $0.byteCount <= byteCountMax
        }
        let found = Mutex<[ObjectID: ContentSketch]>([:])
        let unread = Mutex<[Reference]>([])
        try Parallel.run(workers: Parallel.workerCount, count: missing.count, chunk: 4) {
            (work) throws(StoreError) in
            while let chunk = work.nextChunk() {
                for object in missing[chunk] {
                    try progress.check()
                    progress.tick()
                    guard let content = try source.read(object) else {
                        unread.withLock { $0.append(object) }
                        continue
                    }
                    let sketch = content.withUnsafeBytes { ContentSketch(of: $0, limit: limit) }
                    found.withLock { $0[object.address] = sketch }
                }
            }
        }
        merge(found.withLock { $0 }) { $1 }
        return unread.withLock { $0 }.sorted()
    }
}
