package import CASStore
package import HotPush
import Storage
import VersionTree

// Brings the packs of a release and their delivery into the origin, all in one epoch.
//
// Rule U applies as for objects: each lost race decides anew where they may be used. A delivery leads to a manifest,
// so it stays right whoever was faster; packs from contents that are not offered any more are dropped.
extension ReleasePacking {
    private var seen: SeenFiles { work.seen }

    /// The size from which the storage is asked for existing packs before they are sent.
    private static let listedByteCountMin: Int64 = 1 << 20

    /// Brings in the packs for a commit upon a state.
    /// - Parameter state: replaced by the newest one if the upload took so long that its packs are useless.
    /// - Returns: the delivery that the release may name; `nil` if it has none.
    func place(in state: inout OriginState) throws(StoreError) -> PublishedDelivery? {
        let (version, channel) = (work.version, work.channel)
        guard let prepared else {
            return state.counted(channel, work.options.signing)
                .delivery(of: version.manifest, in: channel)
        }
        while true {
            let counted = state.counted(channel, work.options.signing)
            var offered = try self.offered(in: counted)
            offered?.packs.packs.removeAll { lost.contains($0.address) }
            let draft = try DeliveryDraft(
                prepared, of: version.manifest, fitting: bases(in: counted),
                listed: state.pointers[channel]?.contents ?? [], offered: offered?.packs)
            self.draft = draft
            if stands(draft, offered?.delivery, prepared.need) { return offered?.delivery }
            let epoch = try epoch(for: draft, offered?.delivery, upon: state.entry.epoch)
            guard try copy(draft.kept, from: offered?.delivery.epoch, to: epoch, prepared.place)
            else { continue }
            try send(draft.packs, prepared.place, epoch)
            if let newer = try work.watch.state(ahead: state) {
                state = newer
                continue
            }
            let key = OriginKey(.delivery, draft.address, in: epoch)
            try seen.send(StorageBody(draft.bytes, address: draft.address), key)
            return PublishedDelivery(
                address: draft.address, byteCount: Int64(draft.bytes.count), epoch: epoch)
        }
    }

    /// Whether nothing is to be sent, because the release has exactly this, or there is nothing.
    private func stands(
        _ draft: DeliveryDraft, _ offered: PublishedDelivery?, _ need: PackNeed
    ) -> Bool {
        if draft.packs.isEmpty && draft.kept.isEmpty { return true }
        let damaged = Set(need.offered.damaged.map(\.address))
        return offered?.address == draft.address
            && !draft.packs.contains { damaged.contains($0.pack.address) }
    }

    /// Notes what the delivery was made from, and drops what no delivery needs; anything lost is made again.
    func note(_ state: OriginState) throws(StoreError) {
        guard let draft, let prepared else { return }
        let (place, need) = (prepared.place, prepared.need)
        let offered = state.deliveries.union([draft.address])
        var record = try PackingRecord.read(place.publishing.raw, place.fileSystem)
        record.works = record.works.filter { offered.contains($0.key) }
        record.works[draft.address] = PackingRecord.Work(
            content: work.version.content,
            bases: Set(need.bases.map(\.content)).union(need.offered.work?.bases ?? []),
            frames: prepared.result.frames.union(need.offered.work?.frames ?? []))
        try record.write(place.publishing.raw, aside: place.work.raw, place.fileSystem)
        try place.dropUnused(record)
    }

    private func epoch(
        for draft: DeliveryDraft, _ existing: PublishedDelivery?, upon newest: Int64
    ) throws(StoreError) -> Int64 {
        let packs = draft.packs.map(\.pack)
        func lacking(_ epoch: Int64) -> Int64 {
            func byteCount(_ packs: [Delivery.Pack]) -> Int64 {
                packs.filter { !seen.contains(OriginKey(.pack, $0.address, in: epoch)) }
                    .reduce(0) { $0 + $1.byteCount }
            }
            return byteCount(packs) + (existing?.epoch == epoch ? 0 : 2 * byteCount(draft.kept))
        }
        let candidates = SeenFiles.usableEpochs(upon: newest)
        let best = candidates.min { lacking($0) < lacking($1) } ?? newest
        guard lacking(best) >= Self.listedByteCountMin, listed.insert(best).inserted else {
            return best
        }
        let wanted = (packs + draft.kept).map {
            Reference(address: $0.address, byteCount: $0.byteCount)
        }
        var pageCount = 1
        try seen.list(OriginKey.prefix(of: .pack, in: best), .pack, wanted, pageCount: &pageCount)
        return best
    }

    // MARK: Sending

    private func send(
        _ packs: [StagedPack], _ place: PackingPlace, _ epoch: Int64
    ) throws(StoreError) {
        let staged = Dictionary(packs.map { ($0.pack.address, $0.name) }) { first, _ in first }
        let lacking = packs.map(\.pack).map {
            SizedKey(.pack, $0.address, in: epoch, $0.byteCount)
        }.filter { !seen.contains($0.key) }
        try seen.send(lacking, work.options) { (file) throws(StoreError) in
            try place.fileSystem.open(
                place.work.raw, staged[file.key.address] ?? "", .reading, mode: 0)
        }
    }

    /// Copies kept packs out of an epoch that may not be used any more.
    /// - Returns: whether all exist.
    private func copy(
        _ packs: [Delivery.Pack], from old: Int64?, to new: Int64, _ place: PackingPlace
    ) throws(StoreError) -> Bool {
        guard let old, old != new else { return true }
        for pack in packs {
            let key = OriginKey(.pack, pack.address, in: new)
            if seen.contains(key) { continue }
            if work.options.isInterrupted() { throw .publishingInterrupted }
            let name = "kept-\(pack.address)"
            let kept = SizedKey(.pack, pack.address, in: old, pack.byteCount)
            guard try seen.storage.download(kept, to: place.work.raw, name, place.fileSystem) else {
                // Packs only save work: the release does without it.
                lost.insert(pack.address)
                return false
            }
            let file = try place.fileSystem.open(place.work.raw, name, .reading, mode: 0)
            try seen.send(
                StorageBody(file: file.raw, byteCount: pack.byteCount, address: pack.address), key)
            try place.fileSystem.remove(place.work.raw, name, directory: false)
        }
        return true
    }
}

/// The delivery of a release, composed of new packs and kept ones before anything is written.
struct DeliveryDraft: Sendable {
    let packs: [StagedPack]
    let kept: [Delivery.Pack]
    let bytes: [UInt8]
    let address: ObjectID
    let report: PackReport

    /// - Parameters:
    ///   - manifest: that to which the packs lead.
    ///   - bases: the contents wanted now; packs made from others are dropped.
    ///   - listed: the contents that the channel offers now.
    ///   - offered: what the release has now, including packs that somebody else has made in the meantime.
    init(
        _ prepared: PreparedPacks, of manifest: ObjectID, fitting bases: [PackBase],
        listed: Set<ObjectID>, offered: OfferedPacks?
    ) throws(StoreError) {
        let contents = Set(bases.map(\.content))
        let packs = prepared.result.packs.filter { pack in
            pack.pack.base.map(contents.contains) ?? true
        }
        let made = Set(packs.map(\.pack.base))
        let damaged = Set(prepared.need.offered.damaged.map(\.address))
        let existing = offered?.packs.filter {
            !made.contains($0.base) && !damaged.contains($0.address)
        }
        let all = Self.fitting(
            (existing ?? []) + packs.map(\.pack), wanted: contents, listed: listed)
        let document = Delivery(manifest: manifest, packs: all)
        // More than a delivery may name are not sent.
        let named = Set(all)
        let new = packs.filter { named.contains($0.pack) }
        self.packs = new
        let addresses = Set(new.map(\.pack.address))
        kept = all.filter { !addresses.contains($0.address) }
        bytes = document.serialized()
        address = try ObjectID(of: bytes)
        report = PackReport(
            new, keeping: all.count - new.count, from: bases,
            lacking: prepared.need.lacking + prepared.need.refused, prepared.frameCounts)
    }

    /// The most packs that a delivery may name; those from contents that nobody lists or asks for are dropped first.
    static func fitting(
        _ packs: [Delivery.Pack], wanted: Set<ObjectID>, listed: Set<ObjectID>
    ) -> [Delivery.Pack] {
        guard packs.count > Delivery.packCountMax else { return packs }
        func isWanted(_ pack: Delivery.Pack) -> Bool { pack.base.map(wanted.contains) ?? true }
        func isListed(_ pack: Delivery.Pack) -> Bool { pack.base.map(listed.contains) ?? true }
        let others = packs.filter { !isWanted($0) }
        let ordered =
            packs.filter(isWanted) + others.filter(isListed) + others.filter { !isListed($0) }
        return Array(ordered.prefix(Delivery.packCountMax))
    }
}

extension ChannelPointer {
    var contents: Set<ObjectID> { Set(releases.compactMap(\.version?.content)) }

    func offers(_ manifest: ObjectID) -> Bool {
        releases.contains { $0.version?.manifest == manifest }
    }
}

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
        /// What each codec does in it; empty if it is only planned.
        package var shares: [CodecShare] = []
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
        packs = made.map { staged in
            let pack = staged.pack
            return Pack(
                version: pack.base.flatMap { names[$0] }, base: pack.base,
                objectCount: Int(pack.objectCount), contentByteCount: pack.contentByteCount,
                byteCount: pack.byteCount, shares: staged.shares)
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
        for base in bases where !known.contains(base.content) || lost.contains(base.content) {
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

    /// The contents from which a pack without deltas stands beside one with them.
    func plainBases(_ wanted: PackOptions.PacksForOld) -> Set<ObjectID> {
        switch wanted {
        case .none: []
        // Newest first.
        case .newest: Set(bases.prefix(1).map(\.content))
        case .all: Set(bases.map(\.content))
        }
    }

    var isMet: Bool { !needsWhole && lacking.isEmpty && offered.damaged.isEmpty }
}
