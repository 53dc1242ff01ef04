import CASStore
import VersionTree

/// Which objects share a frame, unless they are made from bases: all but large ones, since what they have in common is
/// then sent once.
///
/// Of 15,142 small files (34.8 MB), frames of 512 KiB without those above 64 KiB take 2.4 MB, frames of 2 MiB 0.95.
struct FrameGrouping: Sendable {
    /// An object of this size has a frame of its own.
    static let aloneByteCount: Int64 = 512 << 10
    /// The most bytes of objects that share a frame.
    static let byteCountMax: Int64 = 2 << 20
    /// From here on a frame may end; see ``ends(after:)``.
    private static let byteCountMin: Int64 = 1536 << 10

    /// The numbers of the objects, alike ones beside each other: sorted by extension, then path.
    let order: [UInt32]

    /// - Parameter objects: those of the manifest.
    init(_ manifest: Manifest, _ objects: NumberedObjects) {
        var keys: [(suffix: [UInt8], path: [UInt8], number: UInt32)] = []
        keys.reserveCapacity(objects.count)
        var seen: Set<UInt32> = []
        for position in 0..<manifest.count {
            guard let number = objects.number(of: manifest.address(at: position)),
                seen.insert(number).inserted
            else { continue }
            let path = manifest.withPath(position) { Array($0) }
            keys.append((Self.suffix(of: path), path, number))
        }
        keys.sort {
            if $0.suffix != $1.suffix { return $0.suffix.lexicographicallyPrecedes($1.suffix) }
            return $0.path.lexicographicallyPrecedes($1.path)
        }
        order = keys.map(\.number)
    }

    /// Divides objects, which are in their order, into frames; those are in the order of their first objects.
    static func frames(of objects: [Reference]) -> [[Reference]] {
        var frames: [[Reference]] = []
        // Where the frame is to which objects are added.
        var open: Int?
        var byteCount: Int64 = 0
        for object in objects {
            if object.byteCount >= aloneByteCount {
                frames.append([object])
                continue
            }
            if let position = open, byteCount + object.byteCount <= byteCountMax {
                frames[position].append(object)
                byteCount += object.byteCount
            } else {
                open = frames.count
                frames.append([object])
                byteCount = object.byteCount
            }
            if byteCount >= byteCountMin, ends(after: object) { open = nil }
        }
        return frames
    }

    /// Whether a frame that is large enough ends with this object.
    ///
    /// The object alone decides, not where the frame began. So a small change leaves the frames behind it as they were
    /// in the release before, and those need not be compressed again.
    private static func ends(after object: Reference) -> Bool {
        object.address.withBytes { $0[31] } & 15 == 0
    }

    private static func suffix(of path: [UInt8]) -> [UInt8] {
        let name = path.split(separator: 47, omittingEmptySubsequences: false).last ?? []
        guard let dot = name.lastIndex(of: 46), dot > name.startIndex else { return [] }
        return Array(name[(dot + 1)...])
    }
}
