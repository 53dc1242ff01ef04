import CASStore
import Synchronization

/// The sketches of objects, made on all processors.
struct ObjectSketches: Sendable {
    private(set) var all: [ObjectID: ContentSketch] = [:]

    /// The most hashes of all sketches of a content together; of contents with very many objects fewer are kept of each.
    private static let hashCountMax = 2 << 20
    private static let hashCountMin = 8

    /// The most hashes of each sketch, where a content has so many objects.
    static func limit(objectCount: Int) -> Int {
        let share = hashCountMax / max(objectCount, 1)
        return min(max(share, hashCountMin), ContentSketch.hashCountMax)
    }

    /// Makes those that are not there yet.
    /// - Parameter byteCountMax: objects above this size get none.
    /// - Returns: the objects that cannot be read.
    mutating func add(
        _ objects: [Reference], limit: Int, byteCountMax: Int64, from source: PackSource,
        _ progress: PackingProgress
    ) throws(StoreError) -> [Reference] {
        let missing = objects.filter {
            all[$0.address] == nil && $0.byteCount <= byteCountMax
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
        all.merge(found.withLock { $0 }) { $1 }
        return unread.withLock { $0 }.sorted()
    }

    /// Whether there is one of each of these objects, but for those above a size.
    func isComplete(for objects: [Reference], byteCountMax: Int64) -> Bool {
        objects.allSatisfy { $0.byteCount > byteCountMax || all[$0.address] != nil }
    }

    /// Adds what was kept.
    mutating func add(_ known: [ObjectID: ContentSketch]) {
        all.merge(known) { first, _ in first }
    }

    subscript(_ address: ObjectID) -> ContentSketch? { all[address] }
}
