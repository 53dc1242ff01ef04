package import CASStore

/// What an origin in a directory holds, by kind.
package struct OriginUsage: Sendable {
    /// Files and their bytes.
    package struct Figures: Sendable, Hashable {
        package var count = 0
        package var byteCount: Int64 = 0
    }

    /// The raw objects.
    package var objects = Figures()
    package var manifests = Figures()
    package var packs = Figures()
    package var deliveries = Figures()
    /// What the publisher keeps for itself.
    package var work = Figures()
    /// What the channels offer, sorted by name.
    package var pointers: [ChannelPointer] = []
    /// The deliveries of what they offer, by address, as far as they are there.
    package var deliveryDocuments: [ObjectID: Delivery] = [:]

    /// - Throws: `.noOrigin`, `.badPointer`, what reading throws.
    package init(
        of path: String, fileSystem: any FileSystem = POSIXFileSystem()
    ) throws(StoreError) {
        pointers = try DirectoryOrigin(path, fileSystem: fileSystem).pointers().values
            .sorted { $0.channel < $1.channel }
        let root = try fileSystem.open(
            POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks, mode: 0)
        objects = try Self.figures(of: OriginLayout.objects, in: root.raw, fileSystem)
        manifests = try Self.figures(of: OriginLayout.manifests, in: root.raw, fileSystem)
        packs = try Self.figures(of: OriginLayout.packs, in: root.raw, fileSystem)
        deliveries = try Self.figures(of: OriginLayout.deliveries, in: root.raw, fileSystem)
        work = try Self.figures(of: OriginLayout.work, in: root.raw, fileSystem)
        for release in pointers.flatMap(\.releases) {
            guard let delivery = release.delivery, let version = release.version else { continue }
            let document = try DeliveryFile.read(delivery, of: version, root.raw, fileSystem)
            deliveryDocuments[delivery.address] = document
        }
    }

    private static func figures(
        of name: String, in parent: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Figures {
        var figures = Figures()
        guard let directory = try fileSystem.openIfPresent(parent, name, .directory) else {
            return figures
        }
        for entry in try fileSystem.names(in: directory.raw) {
            // What a publisher renames meanwhile is counted under its new name, or not at all.
            guard let status = try fileSystem.status(directory.raw, entry) else { continue }
            if status.kind == .directory {
                let inner = try Self.figures(of: entry, in: directory.raw, fileSystem)
                figures.count += inner.count
                figures.byteCount += inner.byteCount
            } else {
                figures.count += 1
                figures.byteCount += status.byteCount
            }
        }
        return figures
    }
}
