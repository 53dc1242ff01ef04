package import CASStore

/// What packing a release makes, or has made.
package struct PackReport: Sendable, Hashable {
    /// One pack.
    package struct Pack: Sendable, Hashable {
        /// The version from which it leads, by name; `nil` for a pack of everything.
        package var version: String?
        package var base: ObjectID?
        /// How many objects come out, and their bytes.
        package var objectCount: Int
        package var contentByteCount: Int64
        /// Its size; `nil` if it is only planned.
        package var byteCount: Int64?
    }

    /// The packs that are made: that of everything first.
    package var packs: [Pack] = []
    /// How many packs the release had and keeps.
    package var keptPackCount = 0
    /// The contents that gave none: it would have saved too little, or they cannot be read.
    package var refusals: [PackBase] = []
    /// Whether the release is offered no more: then it has no packs.
    package var isWithdrawn = false
    /// How many frames of the packs were kept from earlier releases.
    package var reusedFrameCount = 0
    /// How many were compressed.
    package var madeFrameCount = 0

    /// The room that making them takes, about: compressed packs, and the frames that are kept.
    var spaceNeeded: Int64 {
        let all: Int64 = packs.reduce(0) { $0.addingClamped($1.contentByteCount) }
        let largest = packs.map(\.contentByteCount).max() ?? 0
        return min(all, largest.addingClamped(largest / 2)) / 2
    }

    /// The bytes of the packs that are made.
    package var byteCount: Int64 { packs.reduce(0) { $0 + ($1.byteCount ?? 0) } }

    /// The packs of a release that was withdrawn while they were made.
    static var withdrawn: PackReport {
        var report = PackReport()
        report.isWithdrawn = true
        return report
    }

    private init() {}

    /// What is planned: contents that have little in common turn out not to be worth a pack.
    /// - Parameter bases: the contents from which packs lack.
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

    /// What is said where nothing is to be made; `nil` if nothing was refused either.
    init?(nothingFor need: PackNeed) {
        guard !need.refused.isEmpty else { return nil }
        keptPackCount = need.offered.packs.count
        refusals = need.refused
    }

    /// What was made.
    /// - Parameter lacking: the contents from which packs were to be made, now or at an earlier attempt.
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

/// A content from which a pack is to lead.
package struct PackBase: Sendable, Hashable {
    /// The version that has it.
    package var version: String
    package var content: ObjectID
    /// Its manifest in the origin; `nil` if it is a version of the store.
    var manifest: ObjectID?
}

/// What an origin has of a delivery that a pointer names.
struct OfferedPacks: Sendable {
    /// The packs that are there, in the order of the delivery.
    var packs: [Delivery.Pack] = []
    /// Those that it names and that are missing, or have other bytes.
    var damaged: [Delivery.Pack] = []
    /// From what it was made; `nil` if that is not known here.
    var work: PackingRecord.Work?
}

/// Which packs of a release are to be made, and which it has: decided before anything is compressed.
///
/// What is there stays, at whatever level it was made; only what lacks is made.
struct PackNeed: Sendable {
    /// The contents from which packs are wanted.
    let bases: [PackBase]
    /// What is there, wanted or not.
    let offered: OfferedPacks
    /// Whether the pack of everything is to be made.
    let needsWhole: Bool
    /// The contents from which packs are to be made.
    private(set) var lacking: [PackBase] = []
    /// The contents asked for by name that gave no pack when it was tried.
    private(set) var refused: [PackBase] = []

    /// - Parameter there: what there is of the delivery; `nil` if there is none.
    init(_ bases: [PackBase], _ there: OfferedPacks?) {
        self.bases = bases
        offered = there ?? OfferedPacks()
        // A delivery without one is of a release for which it would be too large.
        needsWhole = there.map { $0.damaged.contains { $0.base == nil } } ?? true
        let (known, lost) = (Set(offered.packs.map(\.base)), Set(offered.damaged.map(\.base)))
        for base in bases where !known.contains(base.content) {
            // A copy of an origin may come without the record: then what the channel lists has been tried.
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

    /// Whether the release has all that it can have.
    var isMet: Bool { !needsWhole && lacking.isEmpty && offered.damaged.isEmpty }
}
