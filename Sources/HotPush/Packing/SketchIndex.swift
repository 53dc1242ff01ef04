import CASStore

/// Finds, among the objects of a content, the one that has most in common with another object.
struct SketchIndex: Sendable {
    private let objects: [Reference]
    private let bounds: [UInt64]
    /// The hashes of all sketches, ascending, and beside each the position of its object.
    private let hashes: [UInt64]
    private let owners: [UInt32]

    /// A hash that more objects than this have says nothing about any of them.
    private static let ownerCountMax = 256

    /// - Parameter sketches: those of the objects, in their order.
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

    /// The object that has most in common with another one, and at least a twentieth of it; `nil` if there is none.
    ///
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
            // What they would have in common if all hashes had been kept.
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
