import CASStore
import HotPush
import VersionTree

/// Makes the packs that lead to a version: a full one, and one from each of several contents.
struct Packer {
    let place: PackingPlace
    let source: PackSource
    let options: PackOptions
    let progress: PackingProgress
    let notice: @Sendable (String) -> Void

    /// The largest useful pack from a content, relative to what a device would download without it.
    private static let usefulShare = 0.5
    /// A frame is compressed if it shrinks to this percentage.
    private static let compressedPercentMax: Int64 = 97
    /// A frame has a prefix if that shrinks it to this percentage of its size without one.
    private static let prefixedPercentMax: Int64 = 90

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
            let chosen = design.frames.map { Self.frame($0, sizes) }
            if let base = design.base, !Self.isUseful(chosen, besides: everything, known) {
                notice(Self.uselessNotice(base.version))
                continue
            }
            guard
                let staged = try making.write(
                    chosen, from: design.base, to: target, as: "pack-\(packs.count)")
            else { continue }
            try making.prove(
                staged, from: design.base, to: target, described.manifest,
                design.frames[0].bases.first)
            packs.append(staged)
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
        return sizes.merging(try making.sizes(of: prefixed)) { $1 }
    }

    /// The smallest form of a frame.
    private static func frame(
        _ recipe: FrameRecipe, _ sizes: [FrameRecipe: Int64]
    ) -> ChosenFrame {
        for candidate in recipe.bases.isEmpty ? [recipe] : [recipe, recipe.plain] {
            guard let byteCount = sizes[candidate], byteCount > 0 else { continue }
            return ChosenFrame(
                recipe: recipe, codec: candidate.codec, byteCount: byteCount)
        }
        return ChosenFrame(
            recipe: recipe, codec: .stored, byteCount: recipe.contentByteCount)
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

    init(
        _ bytes: [UInt8], _ bases: [PackedContent], _ source: PackSource
    ) throws(StoreError) {
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
