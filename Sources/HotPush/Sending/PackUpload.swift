import CASStore
import Storage
import VersionTree

/// Brings the packs of a release into the origin, and the delivery that names them; all stand in one epoch.
///
/// Rule U holds for them as for objects: after each lost race it is decided anew where they may be used. A delivery leads
/// to a manifest, so it stays right whoever was faster; packs from contents that are offered no more are dropped. Belongs
/// to one thread.
final class PackUpload {
    private let packing: ReleasePacking
    private let prepared: PreparedPacks?
    private let seen: SeenFiles
    private let watch: UploadWatch
    /// The delivery that was brought in last.
    private var draft: DeliveryDraft?
    /// Kept packs that turned out to be gone.
    private var lost: Set<ObjectID> = []
    private var listed: Set<Int64> = []

    /// From so many bytes on, the storage is asked what it has before they are sent.
    private static let listedByteCountMin: Int64 = 1 << 20

    /// - Parameter prepared: `nil` if no packs are made.
    init(
        _ packing: ReleasePacking, _ prepared: PreparedPacks?, _ seen: SeenFiles,
        _ watch: UploadWatch
    ) {
        self.packing = packing
        self.prepared = prepared
        self.seen = seen
        self.watch = watch
    }

    /// What was brought in; `nil` if nothing was to be made.
    var report: PackReport? { draft?.report }

    /// Brings in the packs, for a commit upon a state.
    ///
    /// - Parameter state: replaced by the newest one if the upload took so long that packs for it are of no use.
    /// - Returns: the delivery that the release may name; `nil` if it has none.
    func place(in state: inout OriginState) throws(StoreError) -> PublishedDelivery? {
        guard let prepared else {
            return state.delivery(of: packing.version.manifest, in: packing.channel)
        }
        while true {
            var offered = try packing.offered(in: state)
            offered?.state.packs.removeAll { lost.contains($0.address) }
            let draft = try DeliveryDraft(
                prepared, fitting: packing.bases(in: state),
                listed: state.pointers[packing.channel]?.contents ?? [], offered: offered?.state)
            self.draft = draft
            if stands(draft, offered?.delivery, prepared.need) { return offered?.delivery }
            let epoch = try epoch(for: draft, offered?.delivery, upon: state.entry.epoch)
            let copied = draft.kept.filter {
                offered?.delivery.epoch != epoch
                    && !seen.contains(OriginKey(.pack, $0.address, in: epoch))
            }
            guard try copy(copied, from: offered?.delivery.epoch, to: epoch, prepared) else {
                continue
            }
            try send(draft.packs, prepared, epoch)
            if let newer = try watch.state(ahead: state) {
                state = newer
                continue
            }
            let key = OriginKey(.delivery, draft.address, in: epoch)
            try seen.send(StorageBody(draft.bytes, address: draft.address), key)
            return PublishedDelivery(
                address: draft.address, byteCount: Int64(draft.bytes.count), epoch: epoch)
        }
    }

    /// Whether nothing is to be sent: the release has exactly that already, whole, or there is nothing.
    private func stands(
        _ draft: DeliveryDraft, _ offered: PublishedDelivery?, _ need: PackNeed
    ) -> Bool {
        if draft.packs.isEmpty && draft.kept.isEmpty { return true }
        let damaged = Set(need.damaged.map(\.address))
        return offered?.address == draft.address
            && !draft.packs.contains { damaged.contains($0.pack.address) }
    }

    /// Notes what the delivery was made from; what is lost here is only made again.
    func note(_ state: OriginState) throws(StoreError) {
        guard let draft, let prepared else { return }
        try prepared.note(draft.address, offered: state.deliveries)
    }

    /// The usable epoch under which the fewest bytes are to be sent.
    private func epoch(
        for draft: DeliveryDraft, _ standing: PublishedDelivery?, upon newest: Int64
    ) throws(StoreError) -> Int64 {
        func lacking(_ epoch: Int64) -> Int64 {
            var byteCount: Int64 = 0
            for pack in draft.packs.map(\.pack)
            where !seen.contains(OriginKey(.pack, pack.address, in: epoch)) {
                byteCount += pack.byteCount
            }
            guard standing?.epoch != epoch else { return byteCount }
            for pack in draft.kept
            where !seen.contains(OriginKey(.pack, pack.address, in: epoch)) {
                byteCount += 2 * pack.byteCount
            }
            return byteCount
        }
        let candidates = SeenFiles.usableEpochs(upon: newest)
        let best = candidates.min { lacking($0) < lacking($1) } ?? newest
        guard lacking(best) >= Self.listedByteCountMin, listed.insert(best).inserted else {
            return best
        }
        var sizes: [ObjectID: Int64] = [:]
        for pack in draft.packs.map(\.pack) + draft.kept { sizes[pack.address] = pack.byteCount }
        var pageCount = 1
        try seen.list(
            OriginKey.prefix(of: .pack, in: best), .pack, sizes, pageCount: &pageCount)
        return best
    }

    // MARK: Sending

    private func send(
        _ packs: [StagedPack], _ prepared: PreparedPacks, _ epoch: Int64
    ) throws(StoreError) {
        let staged = Dictionary(packs.map { ($0.pack.address, $0.name) }) { first, _ in first }
        let lacking = packs.map {
            SizedKey(
                key: OriginKey(.pack, $0.pack.address, in: epoch), byteCount: $0.pack.byteCount)
        }.filter { !seen.contains($0.key) }
        let place = prepared.place
        try FileSending(of: lacking.byteCount, seen, packing.options).run(lacking) {
            (file) throws(StoreError) in
            try place.fileSystem.open(
                place.work.raw, staged[file.key.address] ?? "", .reading, mode: 0)
        }
    }

    /// Brings kept packs from an epoch that may not be used any more into another one.
    /// - Returns: whether all were there.
    private func copy(
        _ packs: [Delivery.Pack], from old: Int64?, to new: Int64, _ prepared: PreparedPacks
    ) throws(StoreError) -> Bool {
        guard let old else { return true }
        let place = prepared.place
        for pack in packs {
            if packing.options.isInterrupted() { throw .publishingInterrupted }
            let name = "kept-\(pack.address)"
            let key = OriginKey(.pack, pack.address, in: old)
            let download = ObjectDownload(key, pack.byteCount, seen.storage)
            guard try download.run(to: place.work.raw, name, place.fileSystem) else {
                // Packs only save: the release does without it.
                lost.insert(pack.address)
                return false
            }
            let file = try place.fileSystem.open(place.work.raw, name, .reading, mode: 0)
            let body = StorageBody(
                file: file.raw, byteCount: pack.byteCount, address: pack.address)
            try seen.send(body, OriginKey(.pack, pack.address, in: new))
            try place.fileSystem.remove(place.work.raw, name, directory: false)
        }
        return true
    }
}
