import CASStore
import VersionTree

/// Packs that are made and have no name in the origin yet; the directory in which they are goes with the value.
struct PreparedPacks: Sendable {
    /// The manifest to which they lead.
    let manifest: ObjectID
    /// The packs.
    let packs: [StagedPack]
    /// Where they are.
    let place: PackingPlace
    /// How many frames were there already, and how many were compressed.
    let frameCounts: (reused: Int, made: Int)

    /// The delivery of those packs that fit what the channel offers by now.
    func delivery(fitting bases: PackBases) -> (delivery: Delivery, packs: [StagedPack]) {
        let contents = bases.contents
        let fitting = packs.filter { pack in pack.pack.base.map(contents.contains) ?? true }
        return (Delivery(manifest: manifest, packs: fitting.map(\.pack)), fitting)
    }
}

/// Gives prepared packs, and the delivery that names them, their places in an origin.
struct PackPublishing {
    private let origin: OriginWriter
    private let place: PackingPlace
    private let packs: [StagedPack]
    private let delivery: [UInt8]
    /// Where the delivery is, as the pointer names it.
    let published: PublishedDelivery

    private static let stagedDelivery = "delivery"

    init(
        _ prepared: PreparedPacks, fitting bases: PackBases, to origin: OriginWriter
    ) throws(StoreError) {
        let (document, packs) = prepared.delivery(fitting: bases)
        self.origin = origin
        self.packs = packs
        place = prepared.place
        delivery = document.serialized()
        published = PublishedDelivery(
            address: try ObjectID(of: delivery), byteCount: Int64(delivery.count))
    }

    /// Writes the delivery aside; the caller makes it and the packs durable, then calls ``publish()``.
    func stage() throws(StoreError) {
        let file = try origin.fileSystem.open(
            origin.staging.raw, Self.stagedDelivery, .creating, mode: OriginWriter.fileMode)
        try origin.fileSystem.write(file.raw, delivery)
        guard !origin.fileSystem.canSyncAll else { return }
        try origin.sync(file.raw)
        for pack in packs {
            let file = try origin.fileSystem.open(place.work.raw, pack.name, .reading, mode: 0)
            try origin.sync(file.raw)
        }
    }

    /// Names the packs, then the delivery; the caller makes the names durable.
    func publish() throws(StoreError) {
        let directories = try origin.makePackDirectories()
        for pack in packs {
            try origin.makeShard(of: pack.pack.address, in: directories.packs.raw)
            try StoreLayout.withObjectPath(pack.pack.address) { (path) throws(StoreError) in
                try origin.fileSystem.rename(
                    place.work.raw, pack.name, to: directories.packs.raw, path)
            }
        }
        try origin.fileSystem.rename(
            origin.staging.raw, Self.stagedDelivery, to: directories.deliveries.raw,
            OriginLayout.manifestFile(published.address))
    }
}
