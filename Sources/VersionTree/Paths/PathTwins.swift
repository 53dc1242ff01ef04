import CASStore

/// Paths of one version that a forgiving file system would merge: equal but for case, or spelled
/// with other code points for the same characters (NFC and NFD).
public struct PathTwins: Sendable, Hashable {
    /// The path that comes first in byte order.
    public let first: String
    /// The other one.
    public let second: String

    /// The twins among the paths of a manifest and the directories they imply, in order.
    static func find(in manifest: Manifest) -> [PathTwins] {
        var keys: [(key: Int, position: UInt32, length: UInt16)] = []
        keys.reserveCapacity(manifest.count)
        var directory: [UInt8] = []
        for position in 0..<manifest.count {
            manifest.withPath(position) { path in
                keys.append((key(of: path), UInt32(position), UInt16(path.count)))
                // Directories once, where they first occur: entries are sorted.
                var end = path.count - 1
                var news: [Int] = []
                while end > 0 {
                    if path[end] == 47 {
                        let isKnown =
                            directory.count > end && directory[end] == 47
                            && directory[..<end].elementsEqual(path[..<end])
                        if isKnown { break }
                        news.append(end)
                    }
                    end -= 1
                }
                for length in news {
                    let prefix = UnsafeBufferPointer(rebasing: path[..<length])
                    keys.append((key(of: prefix), UInt32(position), UInt16(length)))
                }
                directory = Array(path)
            }
        }
        keys.sort { ($0.key, $0.position, $0.length) < ($1.key, $1.position, $1.length) }
        var twins: [PathTwins] = []
        for (left, right) in zip(keys, keys.dropFirst()) where left.key == right.key {
            let first = manifest.path(Int(left.position), prefix: Int(left.length))
            let second = manifest.path(Int(right.position), prefix: Int(right.length))
            // Equal keys may be chance; equal bytes are one directory seen again.
            guard !first.utf8.elementsEqual(second.utf8),
                first.lowercased() == second.lowercased()
            else { continue }
            twins.append(PathTwins(first: first, second: second))
        }
        return twins
    }

    // Swift hashes strings by their normal form, so canonical twins get one hash.
    private static func key(of path: UnsafeBufferPointer<UInt8>) -> Int {
        var hasher = Hasher()
        if path.allSatisfy({ $0 < 128 }) {
            for byte in path { hasher.combine((65...90).contains(byte) ? byte + 32 : byte) }
        } else {
            let folded = String(decoding: path, as: UTF8.self).lowercased()
            if folded.utf8.allSatisfy({ $0 < 128 }) {
                for byte in folded.utf8 { hasher.combine(byte) }
            } else {
                hasher.combine(folded)
            }
        }
        return hasher.finalize()
    }
}
