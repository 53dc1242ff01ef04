package import CASStore
import HotPush

/// What packing a release makes, or has made.
package struct PackReport: Sendable, Hashable {
    package struct Pack: Sendable, Hashable {
        /// A version with the content from which it leads; `nil` for a full pack.
        package var version: String?
        package var base: ObjectID?
        package var objectCount: Int
        package var contentByteCount: Int64
        /// `nil` if it is only planned.
        package var byteCount: Int64?
    }

    /// The packs that are made, a full one first.
    package var packs: [Pack] = []
    package var keptPackCount = 0
    /// The contents without a pack, because it would save too little, or they cannot be read.
    package var refusals: [PackBase] = []
    /// Whether the release was withdrawn, so that it has no packs.
    package var isWithdrawn = false
    /// How many frames of the packs were kept from earlier releases.
    package var reusedFrameCount = 0
    package var madeFrameCount = 0

    /// The approximate space for making them: compressed packs, and the kept frames.
    var spaceNeeded: Int64 {
        let all: Int64 = packs.reduce(0) { $0.addingClamped($1.contentByteCount) }
        let largest = packs.map(\.contentByteCount).max() ?? 0
        return min(all, largest.addingClamped(largest / 2)) / 2
    }

    package var byteCount: Int64 { packs.reduce(0) { $0 + ($1.byteCount ?? 0) } }

    /// The report on a release that was withdrawn while its packs were made.
    static var withdrawn: PackReport {
        var report = PackReport()
        report.isWithdrawn = true
        return report
    }

    private init() {}

    /// A plan, in which contents with little in common may turn out not to be worth a pack.
    /// - Parameter bases: the contents from which packs are missing.
    init(planned target: PackedContent, _ need: PackNeed, from bases: [PackedContent]) {
        keptPackCount = need.offered.packs.count
        refusals = need.refused
        if need.needsWhole { packs = [Pack(objects: target.objects.references)] }
        for base in bases {
            let lacking = target.objects.references.filter {
                base.objects.number(of: $0.address) == nil
            }
            var pack = Pack(objects: lacking)
            (pack.version, pack.base) = (base.version, base.content)
            packs.append(pack)
        }
    }

    /// The report if there is nothing to make; `nil` if nothing was refused either.
    init?(nothingFor need: PackNeed) {
        guard !need.refused.isEmpty else { return nil }
        keptPackCount = need.offered.packs.count
        refusals = need.refused
    }

    /// - Parameter lacking: the contents from which packs were to be made, now or in an earlier attempt.
    init(
        _ made: [StagedPack], keeping keptPackCount: Int, from bases: [PackBase],
        lacking: [PackBase], _ frameCounts: (reused: Int, made: Int)
    ) {
        self.keptPackCount = keptPackCount
        let packed = Set(made.compactMap(\.pack.base))
        refusals = lacking.filter { !packed.contains($0.content) }
        let names = Dictionary(bases.map { ($0.content, $0.version) }) { first, _ in first }
        packs = made.map(\.pack).map { pack in
            Pack(
                version: pack.base.flatMap { names[$0] }, base: pack.base,
                objectCount: Int(pack.objectCount), contentByteCount: pack.contentByteCount,
                byteCount: pack.byteCount)
        }
        (reusedFrameCount, madeFrameCount) = frameCounts
    }
}

extension PackReport.Pack {
    fileprivate init(objects: [Reference]) {
        self.init(
            objectCount: objects.count,
            contentByteCount: objects.reduce(0) { $0.addingClamped($1.byteCount) })
    }
}

package struct PackBase: Sendable, Hashable {
    /// A version that has it.
    package var version: String
    package var content: ObjectID
    /// Its manifest in the origin; `nil` for a version of the store.
    var manifest: ObjectID?
}

struct OfferedPacks: Sendable {
    var packs: [Delivery.Pack] = []
    /// The packs that are missing or have other bytes.
    var damaged: [Delivery.Pack] = []
    /// What it was made from; `nil` if unknown here.
    var work: PackingRecord.Work?
}

/// Which packs of a release exist and which are to be made, decided before anything is compressed.
///
/// Existing packs stay, whatever their level of compression.
struct PackNeed: Sendable {
    let bases: [PackBase]
    /// What exists, wanted or not.
    let offered: OfferedPacks
    let needsWhole: Bool
    private(set) var lacking: [PackBase] = []
    /// The contents asked for by name that gave no pack in an earlier attempt.
    private(set) var refused: [PackBase] = []

    init(_ bases: [PackBase], _ there: OfferedPacks?) {
        self.bases = bases
        offered = there ?? OfferedPacks()
        // A delivery without a full pack belongs to a release for which that would be too large.
        needsWhole = there.map { $0.damaged.contains { $0.base == nil } } ?? true
        let (known, lost) = (Set(offered.packs.map(\.base)), Set(offered.damaged.map(\.base)))
        for base in bases where !known.contains(base.content) {
            // A copied origin may have lost the record; then the channel's contents count as tried.
            let isKnown =
                there.map { $0.work?.bases.contains(base.content) ?? (base.manifest != nil) }
                ?? false
            if !isKnown || lost.contains(base.content) {
                lacking.append(base)
            } else if base.manifest == nil {
                refused.append(base)
            }
        }
    }

    var isMet: Bool { !needsWhole && lacking.isEmpty && offered.damaged.isEmpty }
}
