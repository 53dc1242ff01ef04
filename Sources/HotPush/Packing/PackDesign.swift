import CASStore
import StrictJSON
import VersionTree
import Zstandard

/// Which frames a pack has, before any is compressed: a value.
///
/// A frame whose prefix turns out to be of little use is taken without it.
struct PackDesign: Sendable {
    /// The content from which the pack leads; `nil` for a pack of everything.
    let base: PackedContent?
    /// The frames; the first is the manifest's.
    let frames: [FrameRecipe]

    /// An object of this size, made from a base, has a frame of its own.
    private static let aloneByteCount: Int64 = 64 << 10
    /// The most bytes of objects that share a frame and are made from bases.
    private static let sharedByteCountMax: Int64 = 512 << 10
    /// The most bytes of the bases of frames that several objects share, with these.
    private static let jointByteCountMax = PackLimits.jointBaseByteCountMax
    /// The most bytes of a base, for each byte of the object that is made from it: more cost more time than they save.
    private static let baseRatioMax: Int64 = 8
    private static let baseByteCountMin: Int64 = 1 << 20

    /// A pack of everything.
    /// - Parameter manifest: the manifest, as if it were an object.
    init(wholeOf target: PackedContent, _ grouping: FrameGrouping, manifest: Reference, level: Int)
    {
        base = nil
        let objects = grouping.order.map { target.objects.references[Int($0)] }
        frames =
            [FrameRecipe(objects: [manifest], level: level)]
            + FrameGrouping.frames(of: objects).map { FrameRecipe(objects: $0, level: level) }
    }

    /// A pack of what another content lacks.
    /// - Parameters:
    ///   - prefix: the text that the manifest is compressed against; `nil` if it is too large for that.
    ///   - chosen: the object of the base from which an object is best made, if it is of a certain size at most.
    init(
        of target: PackedContent, from base: PackedContent, _ grouping: FrameGrouping,
        manifest: Reference, prefix: Reference?, _ options: PackOptions,
        chosen: (_ object: Reference, _ byteCountMax: Int64) -> Reference?
    ) {
        self.base = base
        let level = options.level
        var alone: [Reference: FrameRecipe] = [:]
        var changed = JointFrames(level)
        var fresh: [Reference] = []
        for number in grouping.order {
            let object = target.objects.references[Int(number)]
            guard base.objects.number(of: object.address) == nil else { continue }
            let limit = min(
                Self.byteCountMax(ofBaseOf: object), options.prefixedByteCountMax)
            let old =
                object.byteCount > options.prefixedByteCountMax ? nil : chosen(object, limit)
            if let old, object.byteCount >= Self.aloneByteCount {
                alone[object] = FrameRecipe(objects: [object], bases: [old], level: level)
            } else if let old {
                changed.add(object, madeFrom: old)
            } else {
                fresh.append(object)
            }
        }
        let joint =
            changed.all
            + FrameGrouping.frames(of: fresh).map { FrameRecipe(objects: $0, level: level) }
        // In the order of the objects that they begin with.
        var first: [Reference: FrameRecipe] = alone
        for frame in joint { if let object = frame.objects.first { first[object] = frame } }
        frames =
            [FrameRecipe(objects: [manifest], bases: prefix.map { [$0] } ?? [], level: level)]
            + grouping.order.compactMap { first[target.objects.references[Int($0)]] }
    }

    private static func byteCountMax(ofBaseOf object: Reference) -> Int64 {
        if object.byteCount < aloneByteCount { return jointByteCountMax - sharedByteCountMax }
        let limit = max(object.byteCount * baseRatioMax, baseByteCountMin)
        return min(limit, PackLimits.baseByteCountMax)
    }

    /// Small objects with bases, gathered into frames.
    private struct JointFrames {
        private let level: Int
        private var closed: [FrameRecipe] = []
        private var open: FrameRecipe
        private var byteCount: Int64 = 0
        private var baseByteCount: Int64 = 0

        init(_ level: Int) {
            self.level = level
            open = FrameRecipe(objects: [], level: level)
        }

        mutating func add(_ object: Reference, madeFrom base: Reference) {
            let isNew = !open.bases.contains(base)
            let more = isNew ? base.byteCount : 0
            if byteCount + object.byteCount > sharedByteCountMax
                || byteCount + object.byteCount + baseByteCount + more > jointByteCountMax
                || isNew && open.bases.count == PackLimits.baseCountMax
            {
                closed = all
                open = FrameRecipe(objects: [], level: level)
                (byteCount, baseByteCount) = (0, 0)
            }
            if !open.bases.contains(base) {
                open.bases.append(base)
                baseByteCount += base.byteCount
            }
            open.objects.append(object)
            byteCount += object.byteCount
        }

        var all: [FrameRecipe] { open.objects.isEmpty ? closed : closed + [open] }
    }
}

/// A content to which packs lead, or from which one leads.
struct PackedContent: Sendable {
    /// The name of a version that has it.
    let version: String
    let content: ObjectID
    let manifest: Manifest
    let objects: NumberedObjects

    init(version: String, content: ObjectID, _ manifest: Manifest) {
        self.version = version
        self.content = content
        self.manifest = manifest
        objects = NumberedObjects(of: manifest)
    }
}

/// Which packs a publisher makes, and how.
package struct PackOptions: Sendable, Hashable {
    /// When a release gets its packs.
    package enum Moment: Sendable, Hashable {
        /// Never: devices fetch object by object.
        case never
        /// Before it is offered.
        case before
        /// After it is offered: where seconds count.
        case after
    }

    /// When a release gets its packs.
    package var moment = Moment.before
    /// The level of compression, from 1 (fast) to 19 (small).
    package var level = 19
    /// How many of the contents that the channel offered last a pack leads from.
    package var contentCount = 4
    /// The versions of the store that a pack leads from besides: what was shipped with an app.
    package var baseVersions: [String] = []
    /// How many releases of a channel keep their packs.
    package var keptReleaseCount = 2
    /// Whether objects of those contents that the store lacks are fetched from the bucket.
    package var fetchesBases = false
    /// Objects above this size have no prefix and are never in memory as a whole; tests lower it.
    var prefixedByteCountMax = PackLimits.baseByteCountMax

    package init() {}
}

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

/// What a frame is made from: with the level and the version of libzstd, this decides its bytes.
struct FrameRecipe: Sendable, Hashable {
    /// What comes out, in order.
    var objects: [Reference]
    /// The prefix, in order; empty for a frame that needs none.
    var bases: [Reference] = []
    var level: Int

    /// The bytes that come out.
    var contentByteCount: Int64 { objects.reduce(0) { $0 + $1.byteCount } }
    var prefixByteCount: Int64 { bases.reduce(0) { $0 + $1.byteCount } }

    var plain: FrameRecipe {
        var plain = self
        plain.bases = []
        return plain
    }

    /// The codec that its bytes have, if they are worth it.
    var codec: PackCodec { bases.isEmpty ? .compressed : .prefixed }

    /// From here on, repetitions are looked for all over a prefix and its content.
    private static let longDistanceByteCount: Int64 = 4 << 20

    /// How it is compressed.
    var settings: ZstdEncoder.Settings {
        let byteCount = contentByteCount + prefixByteCount
        // The least power of two that holds them: what decoders must be able to refer back to.
        let exact = Int64.bitWidth - max(byteCount - 1, 0).leadingZeroBitCount
        let limit = bases.isEmpty ? Self.plainWindowLogMax : Self.prefixedWindowLogMax
        return ZstdEncoder.Settings(
            level: level, windowLog: min(max(exact, 10), limit),
            isLongDistance: !bases.isEmpty && byteCount >= Self.longDistanceByteCount)
    }

    private static let plainWindowLogMax = PackLimits.windowByteCountMax.trailingZeroBitCount
    private static let prefixedWindowLogMax =
        (2 * PackLimits.baseByteCountMax).trailingZeroBitCount

    /// Its name among the frames that are kept.
    func name() throws(StoreError) -> ObjectID {
        let document = JSONWriter.document { writer in
            writer.member("bases", bases) { writer, base in
                writer.member("address", base.address.description)
            }
            writer.member("level", level)
            writer.member("objects", objects) { writer, object in
                writer.member("address", object.address.description)
            }
            writer.member("zstd", ZstdEncoder.version)
        }
        return try ObjectID(of: document)
    }
}
