import CASStore
import VersionTree

/// Packs that are made and have no name in the origin yet; the directory in which they are goes with the value.
struct PreparedPacks: Sendable {
    /// The content to which they lead.
    let content: ObjectID
    /// The manifest to which they lead.
    let manifest: ObjectID
    /// What was made.
    let result: Packer.Result
    /// What was wanted, and what there was.
    let need: PackNeed
    /// Where they are.
    let place: PackingPlace
    /// How many frames were there already, and how many were compressed.
    let frameCounts: (reused: Int, made: Int)
}

/// Gives prepared packs, and the delivery that names them, their places in an origin.
struct PackPublishing {
    private let origin: OriginWriter
    private let prepared: PreparedPacks
    private let packs: [StagedPack]
    private let delivery: [UInt8]
    /// Where the delivery is, as the pointer names it.
    let published: PublishedDelivery
    /// What is published.
    let report: PackReport

    private static let stagedDelivery = "delivery"

    /// - Parameters:
    ///   - bases: the contents that are wanted by now; packs made from others are dropped.
    ///   - pointer: what the channel offers by now.
    init(
        _ prepared: PreparedPacks, fitting bases: PackBases, in pointer: ChannelPointer?,
        of version: PublishedVersion, to origin: OriginWriter
    ) throws(StoreError) {
        let contents = bases.contents
        let packs = prepared.result.packs.filter { pack in
            pack.pack.base.map(contents.contains) ?? true
        }
        // Somebody may have made packs of the same release meanwhile: whatever it has stays.
        let offered = try pointer?.delivery(of: version.manifest).map {
            (delivery) throws(StoreError) in
            try OfferedDelivery(delivery, of: version, in: origin.path, origin.fileSystem)
                .state(isVerifying: false)
        }
        let made = Set(packs.map(\.pack.base))
        let damaged = Set(prepared.need.damaged.map(\.address))
        let kept = (offered ?? nil)?.packs.filter {
            !made.contains($0.base) && !damaged.contains($0.address)
        }
        let listed = Set(pointer?.releases.compactMap(\.version?.content) ?? [])
        let all = Self.fitting(
            (kept ?? []) + packs.map(\.pack), wanted: contents, listed: listed)
        let document = Delivery(manifest: prepared.manifest, packs: all)
        self.origin = origin
        self.prepared = prepared
        self.packs = packs
        delivery = document.serialized()
        published = PublishedDelivery(
            address: try ObjectID(of: delivery), byteCount: Int64(delivery.count))
        report = PackReport(
            packs, keeping: all.count - packs.count, from: bases,
            lacking: prepared.need.lacking, prepared.frameCounts)
    }

    /// As many packs as a delivery may name: first go those from contents that nobody lists or asks for.
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

    /// Writes the delivery aside; the caller makes it and the packs durable, then calls ``publishPacks()`` and
    /// ``publishDelivery()``.
    func stage() throws(StoreError) {
        let file = try origin.fileSystem.open(
            origin.staging.raw, Self.stagedDelivery, .creating, mode: OriginWriter.fileMode)
        try origin.fileSystem.write(file.raw, delivery)
        guard !origin.fileSystem.canSyncAll else { return }
        try origin.sync(file.raw)
        for pack in packs {
            let file = try origin.fileSystem.open(
                prepared.place.work.raw, pack.name, .reading, mode: 0)
            try origin.sync(file.raw)
        }
    }

    /// Names the packs; the caller makes the names durable.
    func publishPacks() throws(StoreError) {
        let directories = try origin.makePackDirectories()
        for pack in packs {
            try origin.makeShard(of: pack.pack.address, in: directories.packs.raw)
            try StoreLayout.withObjectPath(pack.pack.address) { (path) throws(StoreError) in
                try origin.fileSystem.rename(
                    prepared.place.work.raw, pack.name, to: directories.packs.raw, path)
            }
        }
    }

    /// Names the delivery; the caller makes the name durable.
    func publishDelivery() throws(StoreError) {
        let directories = try origin.makePackDirectories()
        try origin.fileSystem.rename(
            origin.staging.raw, Self.stagedDelivery, to: directories.deliveries.raw,
            OriginLayout.manifestFile(published.address))
    }

    /// Notes what the delivery was made from, and drops what no delivery of the origin needs.
    ///
    /// When the pointer is written: what is lost here is only made again.
    func note() throws(StoreError) {
        var offered: Set<ObjectID> = [published.address]
        for pointer in try origin.pointers().values {
            for release in pointer.releases {
                if let delivery = release.delivery { offered.insert(delivery.address) }
            }
        }
        let publishing = prepared.place.publishing.raw
        var record = try PackingRecord.read(publishing, origin.fileSystem)
        record.works = record.works.filter { offered.contains($0.key) }
        record.works[published.address] = PackingRecord.Work(
            content: prepared.content,
            bases: prepared.need.bases.contents.union(prepared.need.work?.bases ?? []),
            frames: prepared.result.frames.union(prepared.need.work?.frames ?? []))
        try record.write(publishing, aside: prepared.place.work.raw, origin.fileSystem)
        try prepared.place.dropUnused(record)
    }
}
