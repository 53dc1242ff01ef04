import CASStore
import DeltaSearch
import HotPush
import VersionTree

/// Makes the packs that lead to a version: a full one, and one from each of several contents.
struct Packer {
    let place: PackingPlace
    let source: PackSource
    let options: PackOptions
    let progress: PackingProgress
    /// The contents from which a pack without deltas stands beside one with them.
    let plainBases: Set<ObjectID>
    let notice: @Sendable (String) -> Void

    /// The largest useful pack from a content, relative to what a device would download without it.
    private static let usefulShare = 0.5
    /// A frame is compressed if it shrinks to this percentage.
    private static let compressedPercentMax: Int64 = 97
    /// A frame has a prefix if that shrinks it to this percentage of its size without one.
    private static let prefixedPercentMax: Int64 = 90
    /// A frame is a delta if that is this percentage of the best other form, and so many bytes less.
    private static let deltaPercentMax: Int64 = 97
    private static let deltaGainMin: Int64 = 64
    private static let deltaLevelMin = 10
    /// What a pack takes in the delivery, about.
    private static let packByteCountInDelivery: Int64 = 320
    /// What a frame costs in the table, about.
    private static let entryByteCount: Int64 = 8

    struct Result: Sendable {
        /// In the directory of the work.
        var packs: [StagedPack]
        var frames: Set<ObjectID>
    }

    /// Makes the packs in the directory of the work.
    /// - Parameters:
    ///   - manifest: the bytes of the target's manifest.
    ///   - whole: whether to make a full pack.
    ///   - bases: the distinct contents from which packs lead.
    func pack(
        _ target: PackedContent, manifest: [UInt8], whole: Bool, from bases: [PackedContent]
    ) throws(StoreError) -> Result {
        let described = try ManifestText(manifest, bases, source)
        let grouping = FrameGrouping(target.manifest, target.objects)
        var designs: [PackDesign] = []
        let everything = PackDesign(
            wholeOf: target, grouping, manifest: described.manifest, level: options.level)
        if whole { designs.append(everything) }
        var sketches = ObjectSketches()
        for (base, prefix) in zip(bases, described.prefixes) {
            let design = try design(
                target, from: base, grouping, described.manifest, prefix, &sketches)
            if let design { designs.append(design) }
        }
        return try write(designs, everything, described, target)
    }

    /// - Parameter everything: the full pack, made now or before.
    private func write(
        _ designs: [PackDesign], _ everything: PackDesign, _ described: ManifestText,
        _ target: PackedContent
    ) throws(StoreError) -> Result {
        let source = described.source
        let frames = try FrameStore(in: place, notice: notice)
        let shares = MemoryShares(FrameMaking.memoryByteCountMax)
        let making = FrameMaking(
            source, frames, shares, progress, largeByteCount: options.prefixedByteCountMax)
        let sizes = try sizes(of: designs, making)
        // Frames of the full pack were made now, or are kept from when it was.
        let others = designs.contains { $0.base != nil } ? everything.frames : []
        let known = try sizes.merging(
            making.keptSizes(of: others.filter { sizes[$0] == nil })
        ) { made, _ in made }
        var packs: [StagedPack] = []
        for design in designs {
            try progress.check()
            var forms = self.forms(of: design, sizes)
            if let base = design.base {
                forms.removeAll { !Self.isUseful($0, besides: everything, known) }
                if forms.isEmpty { notice(Self.uselessNotice(base.version)) }
            }
            for chosen in forms {
                guard
                    let staged = try making.write(
                        chosen, from: design.base, to: target, as: "pack-\(packs.count)")
                else { continue }
                try making.prove(
                    staged, from: design.base, to: target, described.manifest,
                    design.frames[0].bases.first)
                packs.append(staged)
            }
        }
        var names: Set<ObjectID> = []
        for recipe in sizes.keys { names.insert(try recipe.name()) }
        return Result(packs: packs, frames: names)
    }

    static func uselessNotice(_ version: String) -> String {
        "no pack is made from version \(version): it would save less than half of the download"
    }

    /// - Returns: `nil` if the objects of the base cannot be read.
    private func design(
        _ target: PackedContent, from base: PackedContent, _ grouping: FrameGrouping,
        _ manifest: Reference, _ prefix: Reference?, _ sketches: inout ObjectSketches
    ) throws(StoreError) -> PackDesign? {
        let candidates = base.objects.references
        let changed = target.objects.references.filter {
            base.objects.number(of: $0.address) == nil
        }
        let limit = ObjectSketches.limit(objectCount: candidates.count)
        let sizeMax = options.prefixedByteCountMax
        if let object = try sketches.add(
            candidates, limit: limit, byteCountMax: sizeMax, from: source, progress
        ).first {
            notice(
                "no pack is made from version \(base.version): its object "
                    + "\(object.address.shortDescription) is \(source.missingReason)")
            return nil
        }
        if let object = try sketches.add(
            changed, limit: limit, byteCountMax: sizeMax, from: source, progress
        ).first {
            throw source.missing([object])
        }
        let known = candidates.filter { sketches[$0.address] != nil }
        let index = SketchIndex(
            known, known.compactMap { sketches[$0.address]?.limited(to: limit) })
        return PackDesign(
            of: target, from: base, grouping, manifest: manifest, prefix: prefix, options
        ) { object, byteCountMax in
            guard let sketch = sketches[object.address] else { return nil }
            return index.base(of: object, sketch) { $0.byteCount <= byteCountMax }
        }
    }

    private func sizes(
        of designs: [PackDesign], _ making: FrameMaking
    ) throws(StoreError) -> [FrameRecipe: Int64] {
        var plain: [FrameRecipe: Int64] = [:]
        for recipe in designs.flatMap(\.frames).map(\.plain) {
            plain[recipe] = recipe.contentByteCount * Self.compressedPercentMax / 100
        }
        let sizes = try making.sizes(of: plain)
        var prefixed: [FrameRecipe: Int64] = [:]
        for recipe in designs.flatMap(\.frames) where !recipe.bases.isEmpty {
            let without = Self.frame(recipe.plain, sizes).byteCount
            prefixed[recipe] = without * Self.prefixedPercentMax / 100
        }
        let known = sizes.merging(try making.sizes(of: prefixed)) { $1 }
        return known.merging(try making.sizes(of: deltas(of: designs, known))) { $1 }
    }

    /// The deltas that may be worth it, each with its largest useful size.
    private func deltas(
        of designs: [PackDesign], _ sizes: [FrameRecipe: Int64]
    ) throws(StoreError) -> [FrameRecipe: Int64] {
        var limits: [FrameRecipe: Int64] = [:]
        // Who asks for less work than that wants no search for alignments.
        guard options.level >= Self.deltaLevelMin else { return [:] }
        let candidates = designs.flatMap(\.candidates)
        guard !candidates.isEmpty else { return [:] }
        guard DeltaMaking.isAvailable else {
            notice(
                "packs are made without deltas, and larger: libdivsufsort is missing; install the package libdivsufsort3"
            )
            return [:]
        }
        for (frame, deltas) in candidates {
            let limit = Self.byteCountMax(ofDeltasFor: Self.frame(frame, sizes).byteCount)
            for delta in deltas where limit > 0 {
                limits[delta] = max(limits[delta] ?? 0, min(limit, delta.contentByteCount))
            }
        }
        return limits
    }

    private static func byteCountMax(ofDeltasFor byteCount: Int64) -> Int64 {
        min(byteCount * deltaPercentMax / 100, byteCount - deltaGainMin)
    }

    /// The frames of the packs that come of a design: with deltas, and without if older castrees are to read one.
    private func forms(
        of design: PackDesign, _ sizes: [FrameRecipe: Int64]
    ) -> [[ChosenFrame]] {
        let small = Self.frames(of: design, sizes)
        guard let base = design.base, plainBases.contains(base.content),
            small.contains(where: { $0.codec == .delta })
        else { return [small] }
        let plain = design.frames.map { Self.frame($0, sizes) }
        func byteCount(_ frames: [ChosenFrame]) -> Int64 { frames.reduce(0) { $0 + $1.byteCount } }
        // A second pack makes the delivery longer, which every device fetches.
        let gain = byteCount(plain) - byteCount(small)
        return gain > Self.packByteCountInDelivery ? [small, plain] : [plain]
    }

    /// The frames of a pack, each in its smallest form.
    private static func frames(
        of design: PackDesign, _ sizes: [FrameRecipe: Int64]
    ) -> [ChosenFrame] {
        let candidates = design.candidates
        return design.frames.flatMap { recipe -> [ChosenFrame] in
            let best = frame(recipe, sizes)
            let deltas = (candidates[recipe] ?? []).compactMap { delta in
                sizes[delta].flatMap { byteCount in
                    byteCount > 0
                        ? ChosenFrame(recipe: delta, codec: .delta, byteCount: byteCount) : nil
                }
            }
            guard deltas.count == recipe.objects.count else { return [best] }
            let entries = Int64(deltas.count - 1) * entryByteCount
            let byteCount = deltas.reduce(entries) { $0 + $1.byteCount }
            return byteCount <= byteCountMax(ofDeltasFor: best.byteCount) ? deltas : [best]
        }
    }

    /// The smallest form of a frame without deltas.
    private static func frame(_ recipe: FrameRecipe, _ sizes: [FrameRecipe: Int64]) -> ChosenFrame {
        for candidate in recipe.bases.isEmpty ? [recipe] : [recipe, recipe.plain] {
            guard let byteCount = sizes[candidate], byteCount > 0 else { continue }
            return ChosenFrame(recipe: candidate, codec: candidate.codec, byteCount: byteCount)
        }
        return ChosenFrame(recipe: recipe, codec: .stored, byteCount: recipe.contentByteCount)
    }

    /// Whether a pack is much smaller than a device's download without it: the full pack's frames that hold a missing
    /// object, or these objects themselves.
    /// - Parameter sizes: the known ones; frames of the full pack without one count as objects compressed separately.
    private static func isUseful(
        _ frames: [ChosenFrame], besides everything: PackDesign,
        _ sizes: [FrameRecipe: Int64]
    ) -> Bool {
        let lacking = frames.dropFirst().flatMap(\.recipe.objects)
        let plain = frames.dropFirst().reduce(0) { $0 + frame($1.recipe.plain, sizes).byteCount }
        let objects = Set(lacking)
        let touched = everything.frames.dropFirst().filter { !objects.isDisjoint(with: $0.objects) }
        var without = plain
        if touched.allSatisfy({ sizes[$0] != nil }) {
            let ranges = touched.reduce(0) { $0 + frame($1, sizes).byteCount }
            without = max(plain, min(ranges, lacking.reduce(0) { $0 + $1.byteCount }))
        }
        // Every way begins with the manifest.
        without += frame(frames[0].recipe.plain, sizes).byteCount
        let byteCount = frames.reduce(0) { $0 + $1.byteCount }
        return Double(byteCount) <= Double(without) * usefulShare
    }
}

/// The manifest of a version and the texts that it is compressed against, as if they were objects.
private struct ManifestText {
    let manifest: Reference
    /// One for each base; `nil` for a manifest without a prefix.
    let prefixes: [Reference?]
    let source: PackSource

    init(_ bytes: [UInt8], _ bases: [PackedContent], _ source: PackSource) throws(StoreError) {
        manifest = Reference(address: try ObjectID(of: bytes), byteCount: Int64(bytes.count))
        var texts = [manifest.address: bytes]
        var prefixes: [Reference?] = []
        for base in bases {
            let prefix = base.manifest.plainEntries()
            let limit = PackLimits.prefixedManifestByteCountMax
            guard max(bytes.count, prefix.count) <= limit else {
                prefixes.append(nil)
                continue
            }
            let address = try ObjectID(of: prefix)
            texts[address] = prefix
            prefixes.append(Reference(address: address, byteCount: Int64(prefix.count)))
        }
        self.prefixes = prefixes
        self.source = source.adding(texts)
    }
}

/// Reads what packs are made of: objects of a store or else an origin, and texts in memory.
///
/// All bytes that it returns match their addresses, because nobody could use a frame with a wrong prefix.
final class PackSource: Sendable {
    /// `nil` to read only the origin.
    private let store: Store?
    private let fileSystem: any FileSystem
    /// The origin's `objects/`, or what was fetched of them; `nil` for none.
    private let objects: OpenedDirectory?
    /// Where a missing object was looked for, for people.
    let missingReason: String
    /// Manifests and their prefixes, which are no objects.
    private let texts: [ObjectID: [UInt8]]

    init(
        _ store: Store?, origin objects: OpenedDirectory?, _ fileSystem: any FileSystem,
        missingReason: String = "neither in the store nor in the origin",
        texts: [ObjectID: [UInt8]] = [:]
    ) {
        self.missingReason = missingReason
        self.store = store
        self.objects = objects
        self.fileSystem = fileSystem
        self.texts = texts
    }

    func adding(_ texts: [ObjectID: [UInt8]]) -> PackSource {
        PackSource(store, origin: objects, fileSystem, missingReason: missingReason, texts: texts)
    }

    func read(_ object: Reference) throws(StoreError) -> [UInt8]? {
        if let text = texts[object.address] { return text }
        for place in Place.allCases {
            guard let file = try open(object.address, place) else { continue }
            let bytes = try fileSystem.read(file.raw, at: 0, count: Int(object.byteCount))
            if bytes.count == object.byteCount, try ObjectID(of: bytes) == object.address {
                return bytes
            }
        }
        return nil
    }

    /// Calls `body` with the pieces of an object, in order, without comparing them with the address.
    func forEachPiece(
        of object: Reference, buffer: UnsafeMutableRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        if let text = texts[object.address] {
            return try text.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
                try body(bytes)
            }
        }
        for place in Place.allCases {
            guard let file = try open(object.address, place),
                try fileSystem.status(file.raw).byteCount == object.byteCount,
                try isRight(object, place)
            else { continue }
            try fileSystem.forEachPiece(of: file.raw, buffer: buffer, body)
            return
        }
        throw missing([object])
    }

    /// The error for several objects, one of which cannot be read.
    func missing(_ objects: [Reference]) -> StoreError {
        for object in objects {
            // Any error marks this object as the unreadable one.
            if (try? read(object)) ?? nil == nil { return missing(object.address) }
        }
        return missing(objects.first?.address ?? .zero)
    }

    private func missing(_ address: ObjectID) -> StoreError {
        guard let store else {
            return .damagedOrigin(
                "object \(address) is \(missingReason); castree publish --verify repairs its version",
                object: address)
        }
        // An object that cannot be examined cannot be read.
        let isThere = (try? store.contains(address)) ?? true
        return isThere ? store.touchedObject(address) : store.missingObject(address)
    }

    private enum Place: CaseIterable { case store, origin }

    /// Whether the store's object is unaltered; otherwise the origin may have it.
    private func isRight(_ object: Reference, _ place: Place) throws(StoreError) -> Bool {
        guard let store, place == .store else { return true }
        return try store.objects.isRight(object.address, byteCount: object.byteCount) ?? false
    }

    private func open(_ address: ObjectID, _ place: Place) throws(StoreError) -> Descriptor? {
        // Something else in its place means that the store does not have it.
        if place == .store {
            return try allowing(Self.saysItIsNone, try store?.objects.open(address))
        }
        guard let objects else { return nil }
        return try allowing(
            { $0.code == .notFound || Self.saysItIsNone($0) },
            try fileSystem.openBeneath(objects.raw, StoreLayout.objectPath(address), .reading))
    }

    private static func saysItIsNone(_ error: StoreError) -> Bool {
        error.code == .damagedObject || error.isNotDirectory
    }
}
