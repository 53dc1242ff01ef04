import CASStore

/// A delivery that a pointer names, and whether the origin has all of it.
struct OfferedDelivery {
    private let delivery: PublishedDelivery
    private let version: PublishedVersion
    private let path: String
    private let fileSystem: any FileSystem

    init(
        _ delivery: PublishedDelivery, of version: PublishedVersion, in path: String,
        _ fileSystem: any FileSystem
    ) {
        self.delivery = delivery
        self.version = version
        self.path = path
        self.fileSystem = fileSystem
    }

    /// Whether it is there with the bytes that its name promises, and its packs with their sizes.
    ///
    /// What another libzstd has made is as good: nothing is made again for that, nor for another level.
    /// - Parameter bases: contents for which a pack must have been considered, as far as that is known here.
    func isWhole(consideringAll bases: Set<ObjectID>) throws(StoreError) -> Bool {
        let root = try fileSystem.open(
            POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks, mode: 0)
        guard let document = try DeliveryFile.read(delivery, of: version, root.raw, fileSystem)
        else {
            return false
        }
        for pack in document.packs {
            let place = OriginLayout.pack(pack.address)
            guard let status = try fileSystem.status(root.raw, place), status.kind == .regular,
                status.byteCount == pack.byteCount
            else { return false }
        }
        guard
            let publishing = try fileSystem.openIfPresent(
                root.raw, OriginLayout.work, .directory)
        else { return true }
        let record = try PackingRecord.read(publishing.raw, fileSystem)
        return record.works[delivery.address].map { bases.isSubset(of: $0.bases) } ?? true
    }
}
