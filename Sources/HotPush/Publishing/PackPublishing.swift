import CASStore
import VersionTree

/// Gives prepared packs, and the delivery that names them, their places in an origin that is a directory.
struct PackPublishing {
    private let origin: OriginWriter
    private let prepared: PreparedPacks
    private let draft: DeliveryDraft
    /// Where the delivery is, as the pointer names it.
    let published: PublishedDelivery
    /// What is published.
    var report: PackReport { draft.report }

    private static let stagedDelivery = "delivery"

    /// - Parameters:
    ///   - bases: the contents that are wanted by now; packs made from others are dropped.
    ///   - pointer: what the channel offers by now.
    init(
        _ prepared: PreparedPacks, fitting bases: PackBases, in pointer: ChannelPointer?,
        of version: PublishedVersion, to origin: OriginWriter
    ) throws(StoreError) {
        let offered = try pointer?.delivery(of: version.manifest).map {
            (delivery) throws(StoreError) in
            try OfferedDelivery(delivery, of: version, in: origin.path, origin.fileSystem)
                .state()
        }
        self.origin = origin
        self.prepared = prepared
        draft = try DeliveryDraft(
            prepared, fitting: bases, listed: pointer?.contents ?? [], offered: offered ?? nil)
        published = PublishedDelivery(
            address: draft.address, byteCount: Int64(draft.bytes.count))
    }

    /// Writes the delivery aside; the caller makes it and the packs durable, then calls ``publishPacks()`` and
    /// ``publishDelivery()``.
    func stage() throws(StoreError) {
        let file = try origin.fileSystem.open(
            origin.staging.raw, Self.stagedDelivery, .creating, mode: OriginWriter.fileMode)
        try origin.fileSystem.write(file.raw, draft.bytes)
        guard !origin.fileSystem.canSyncAll else { return }
        try origin.sync(file.raw)
        for pack in draft.packs {
            let file = try origin.fileSystem.open(
                prepared.place.work.raw, pack.name, .reading, mode: 0)
            try origin.sync(file.raw)
        }
    }

    /// Names the packs; the caller makes the names durable.
    func publishPacks() throws(StoreError) {
        let directories = try origin.makePackDirectories()
        for pack in draft.packs {
            let shard = try origin.shard(of: pack.pack.address, in: directories.packs.raw)
            try StoreLayout.withShardName(pack.pack.address) { (name) throws(StoreError) in
                try origin.rename(
                    prepared.place.work.raw, pack.name, to: shard.raw, name)
            }
        }
    }

    /// Names the delivery; the caller makes the name durable.
    func publishDelivery() throws(StoreError) {
        let directories = try origin.makePackDirectories()
        try origin.rename(
            origin.staging.raw, Self.stagedDelivery, to: directories.deliveries.raw,
            OriginLayout.manifestFile(published.address))
    }

    /// Notes what the delivery was made from, and drops what no delivery of the origin needs.
    func note() throws(StoreError) {
        let releases = try origin.pointers().values.flatMap(\.releases)
        try prepared.note(
            published.address, offered: Set(releases.compactMap { $0.delivery?.address }))
    }
}
