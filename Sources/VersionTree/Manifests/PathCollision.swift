/// Two paths of one version that some file systems would merge.
///
/// They are equal except for case, or for the code points that spell the same characters (NFC and NFD).
public struct PathCollision: Sendable, Hashable {
    /// The path that comes first in byte order.
    public let first: String
    /// The other path.
    public let second: String

    /// The collisions among a manifest's paths and their directories, sorted by the second path.
    static func find(in manifest: Manifest) -> [PathCollision] {
        var candidates = Candidates(manifest)
        return candidates.collisions()
    }
}

/// The paths and implied directories of a manifest, with equal hashes for paths that collide.
private struct Candidates {
    private let manifest: Manifest
    // A file's name is its position. A directory's is the count of files plus its position here, which holds the
    // first entry in the directory and the length of its path.
    private var directories: [(entry: UInt32, length: UInt16)] = []
    /// Hash and name, 32 bits each; equal hashes may be coincidence.
    private var keys: [UInt64] = []

    init(_ manifest: Manifest) {
        self.manifest = manifest
        // Directories come first, each at its first occurrence: the count of candidates needs them.
        for position in 0..<manifest.count {
            let shared = position == 0 ? 0 : manifest.sharedDirectory(position - 1, position)
            manifest.withPath(position) { path in
                for end in path.indices.dropFirst(shared + 1) where path[end] == 47 {
                    directories.append((UInt32(position), UInt16(end)))
                }
            }
        }
        let count = manifest.count + directories.count
        keys = (0..<count).map { name in
            let place = place(name)
            let hash = manifest.withPath(place.position) { path in
                Self.hash(UnsafeBufferPointer(rebasing: path[..<place.length]))
            }
            return UInt64(hash) << 32 | UInt64(name)
        }
        keys.sort()
    }

    /// An entry whose path begins with the candidate's, and the length of the candidate's path.
    private func place(_ name: Int) -> (position: Int, length: Int) {
        guard name >= manifest.count else { return (name, manifest.withPath(name) { $0.count }) }
        let directory = directories[name - manifest.count]
        return (Int(directory.entry), Int(directory.length))
    }

    private func path(_ place: (position: Int, length: Int)) -> String {
        manifest.path(place.position, prefix: place.length)
    }

    mutating func collisions() -> [PathCollision] {
        var collisions: [PathCollision] = []
        var start = 0
        while start < keys.count {
            var end = start + 1
            while end < keys.count, keys[end] >> 32 == keys[start] >> 32 { end += 1 }
            if end > start + 1 { pair(start..<end, &collisions) }
            start = end
        }
        collisions.sort { $0.second.utf8.lexicographicallyPrecedes($1.second.utf8) }
        return collisions
    }

    /// Among candidates with one hash, pairs each with the previous one that differs only in case and spelling.
    private mutating func pair(_ range: Range<Int>, _ collisions: inout [PathCollision]) {
        let places = range.map { place(Int(truncatingIfNeeded: keys[$0] & 0xffff_ffff)) }
            .sorted { $0 < $1 }
        // The last of each kind; there is more than one kind only if hashes coincide.
        var kinds: [(position: Int, length: Int)] = []
        for place in places {
            let second = path(place)
            let folded = second.lowercased()
            guard let kind = kinds.firstIndex(where: { path($0).lowercased() == folded }) else {
                kinds.append(place)
                continue
            }
            collisions.append(PathCollision(first: path(kinds[kind]), second: second))
            kinds[kind] = place
        }
    }

    /// A hash that colliding paths share, seeded anew in each process.
    private static func hash(_ path: UnsafeBufferPointer<UInt8>) -> UInt32 {
        var hasher = Hasher()
        var text: String?
        if !path.allSatisfy({ $0 < 128 }) {
            let folded = String(decoding: path, as: UTF8.self).lowercased()
            // Swift hashes strings by their normal form, so canonically equal ones get one hash.
            if folded.utf8.contains(where: { $0 >= 128 }) {
                hasher.combine(folded)
                return UInt32(truncatingIfNeeded: hasher.finalize())
            }
            text = folded
        }
        if var text {
            text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        } else {
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: path.count) { folded in
                for (index, byte) in path.enumerated() {
                    folded[index] = byte &- 65 < 26 ? byte | 32 : byte
                }
                hasher.combine(bytes: UnsafeRawBufferPointer(folded))
            }
        }
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }
}
