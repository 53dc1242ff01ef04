import CASStore
import DeltaSearch
import HotPush
import StrictJSON
import VersionTree
import Zstandard

/// The frames of a pack before any is compressed; one whose prefix turns out to save little is used without it.
struct PackDesign: Sendable {
    /// The content from which the pack leads; `nil` for a full pack.
    let base: PackedContent?
    /// The first is the manifest's.
    let frames: [FrameRecipe]
    /// For frames with bases that several objects share: the objects one by one, as deltas.
    private(set) var deltas: [FrameRecipe: [FrameRecipe]] = [:]

    /// An object of this size with a base has its own frame.
    private static let aloneByteCount: Int64 = 64 << 10
    /// The most bytes of objects with bases that share a frame.
    private static let sharedByteCountMax: Int64 = 512 << 10
    /// The most bytes of these objects' bases.
    private static let jointByteCountMax = PackLimits.jointBaseByteCountMax
    /// The largest base in relation to the object: a larger one costs more time than it saves.
    private static let baseRatioMax: Int64 = 8
    private static let baseByteCountMin: Int64 = 1 << 20

    /// A full pack.
    /// - Parameter manifest: the manifest, as if it were an object.
    init(wholeOf target: PackedContent, _ grouping: FrameGrouping, manifest: Reference, level: Int)
    {
        base = nil
        let objects = grouping.order.map { target.objects.references[Int($0)] }
        frames =
            [FrameRecipe(objects: [manifest], level: level)]
            + FrameGrouping.frames(of: objects).map { FrameRecipe(objects: $0, level: level) }
    }

    /// A pack of what a content needs beyond another one.
    /// - Parameters:
    ///   - prefix: the text that the manifest is compressed against; `nil` if it is too large for that.
    ///   - chosen: the best base of an object within a size.
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
            let limit = min(Self.byteCountMax(ofBaseOf: object), options.prefixedByteCountMax)
            let old = object.byteCount > options.prefixedByteCountMax ? nil : chosen(object, limit)
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
        var first: [Reference: FrameRecipe] = alone
        for frame in joint { if let object = frame.objects.first { first[object] = frame } }
        frames =
            [FrameRecipe(objects: [manifest], bases: prefix.map { [$0] } ?? [], level: level)]
            + grouping.order.compactMap { first[target.objects.references[Int($0)]] }
        for frame in changed.all where frame.objects.count > 1 {
            let all = frame.objects.compactMap { object in
                changed.base[object].flatMap {
                    FrameRecipe(objects: [object], bases: [$0], level: level).delta
                }
            }
            if all.count == frame.objects.count { deltas[frame] = all }
        }
    }

    /// The frames that might be smaller as deltas, each with those that would take its place.
    var candidates: [FrameRecipe: [FrameRecipe]] {
        var candidates = deltas
        for frame in frames.dropFirst() {
            if let delta = frame.delta { candidates[frame] = [delta] }
        }
        return candidates
    }

    private static func byteCountMax(ofBaseOf object: Reference) -> Int64 {
        if object.byteCount < aloneByteCount { return jointByteCountMax - sharedByteCountMax }
        let limit = max(object.byteCount * baseRatioMax, baseByteCountMin)
        return min(limit, PackLimits.baseByteCountMax)
    }

    private struct JointFrames {
        private let level: Int
        private var closed: [FrameRecipe] = []
        private var open: FrameRecipe
        private var byteCount: Int64 = 0
        private var baseByteCount: Int64 = 0
        private(set) var base: [Reference: Reference] = [:]

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
            self.base[object] = base
        }

        var all: [FrameRecipe] { open.objects.isEmpty ? closed : closed + [open] }
    }
}

/// A content to which packs lead, or from which one leads.
struct PackedContent: Sendable {
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

/// Which packs a release gets: files with many objects, which a device fetches instead of each object.
public struct PackOptions: Sendable, Hashable {
    /// When a release gets its packs.
    public enum Timing: Sendable, Hashable {
        /// Never: devices fetch object by object.
        case never
        /// Before it is offered.
        case before
        /// After it is offered: the first devices fetch object by object.
        case after
    }

    /// When a release gets its packs.
    public var timing = Timing.before
    /// From 1 (fast) to 19 (small).
    public var level = 19
    /// How many of the channel's latest contents get a pack that leads from them.
    public var contentCount = 4
    /// Other versions of the store from which a pack leads, such as those shipped with an app.
    public var baseVersions: [String] = []
    package var keptReleaseCount = 2
    /// From which contents a pack without codec 3 stands beside one with it, for castrees before 0.2.
    package var packsForOld = PacksForOld.newest
    /// Whether to fetch objects of those contents from the bucket if the store does not have them.
    package var fetchesBases = false
    /// Larger objects have no prefix and are never in memory as a whole; tests lower it.
    var prefixedByteCountMax = PackLimits.baseByteCountMax

    /// For which contents there are packs that older castrees read.
    package enum PacksForOld: String, Sendable, Hashable, CaseIterable {
        case none, newest, all
    }

    /// Creates the default: small packs from the four latest contents, made before the release is offered.
    public init() {}
}

/// Groups objects without bases into frames, so that what they have in common is sent once; large objects stay alone.
///
/// Of 15,142 small files (34.8 MB), frames of 512 KiB without those above 64 KiB take 2.4 MB, frames of 2 MiB 0.95.
struct FrameGrouping: Sendable {
    /// An object of this size has its own frame.
    static let aloneByteCount: Int64 = 512 << 10
    /// The most bytes of objects that share a frame.
    static let byteCountMax: Int64 = 2 << 20
    /// The size from which a frame may end; see ``ends(after:)``.
    private static let byteCountMin: Int64 = 1536 << 10

    /// The numbers of the objects sorted by extension and path, so that similar ones are adjacent.
    let order: [UInt32]

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

    /// Divides ordered objects into frames, in the order of their first objects.
    static func frames(of objects: [Reference]) -> [[Reference]] {
        var frames: [[Reference]] = []
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
    /// The object alone decides, not where the frame began. A small change thus leaves later frames as in the release
    /// before, and they need not be compressed again.
    private static func ends(after object: Reference) -> Bool {
        object.address.withBytes { $0[31] } & 15 == 0
    }

    private static func suffix(of path: [UInt8]) -> [UInt8] {
        let name = path.split(separator: 47, omittingEmptySubsequences: false).last ?? []
        guard let dot = name.lastIndex(of: 46), dot > name.startIndex else { return [] }
        return Array(name[(dot + 1)...])
    }
}

/// What a frame is made from, which decides its bytes together with the version of libzstd.
struct FrameRecipe: Sendable, Hashable {
    /// The decoded objects, in order.
    var objects: [Reference]
    /// The prefix, in order; empty for none.
    var bases: [Reference] = []
    /// Whether it is a delta from its only base to its only object, in which the level has no part.
    var isDelta = false
    var level: Int

    var contentByteCount: Int64 { objects.reduce(0) { $0 + $1.byteCount } }
    var prefixByteCount: Int64 { bases.reduce(0) { $0 + $1.byteCount } }

    var plain: FrameRecipe {
        var plain = self
        plain.bases = []
        plain.isDelta = false
        return plain
    }

    /// The same by a delta; `nil` if that takes several objects, several bases, or more memory than there is.
    var delta: FrameRecipe? {
        guard objects.count == 1, bases.count == 1, !isDelta else { return nil }
        let memory = DeltaMaking.memoryByteCount(
            contentByteCount: Int(contentByteCount), baseByteCount: Int(prefixByteCount))
        guard memory + Int(effort) <= FrameMaking.memoryByteCountMax else { return nil }
        return FrameRecipe(objects: objects, bases: bases, isDelta: true, level: 0)
    }

    var codec: PackCodec { isDelta ? .delta : bases.isEmpty ? .compressed : .prefixed }

    /// From this size on, repetitions are searched for across a whole prefix and its content.
    private static let longDistanceByteCount: Int64 = 4 << 20

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
    private static let prefixedWindowLogMax = (2 * PackLimits.baseByteCountMax).trailingZeroBitCount

    func name() throws(StoreError) -> ObjectID {
        let document = JSONWriter.document { writer in
            writer.member("bases", bases) { writer, base in
                writer.member("address", base.address.description)
            }
            if isDelta { writer.member("delta", DeltaMaking.version) }
            writer.member("level", level)
            writer.member("objects", objects) { writer, object in
                writer.member("address", object.address.description)
            }
            writer.member("zstd", ZstdEncoder.version)
        }
        return try ObjectID(of: document)
    }
}
