package import CASStore

/// What an origin in a directory holds, by kind.
package struct OriginUsage: Sendable {
    /// The raw objects.
    package var objects = FileFigures()
    package var manifests = FileFigures()
    package var packs = FileFigures()
    package var deliveries = FileFigures()
    /// What says in which epochs objects stand, and the log: only in the copy of a bucket.
    package var places = FileFigures()
    package var log = FileFigures()
    /// What says whose signatures count: only where keys were rotated.
    package var trust = FileFigures()
    /// What the clients of other systems need: deflated twins, facts, what they are told.
    package var twins = FileFigures()
    package var facts = FileFigures()
    package var clients = FileFigures()
    /// What the publisher keeps for itself.
    package var work = FileFigures()
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
        twins = try Self.figures(of: OriginLayout.twins, in: root.raw, fileSystem)
        facts = try Self.figures(of: OriginLayout.facts, in: root.raw, fileSystem)
        clients = try Self.figures(of: OriginLayout.clients, in: root.raw, fileSystem)
        work = try Self.figures(of: OriginLayout.work, in: root.raw, fileSystem)
        trust = try Self.figures(of: OriginLayout.trust, in: root.raw, fileSystem)
        log = try Self.figures(of: OriginLayout.log, in: root.raw, fileSystem)
        try countEpochs(in: root.raw, fileSystem)
        for release in pointers.flatMap(\.releases) {
            guard let delivery = release.delivery, let version = release.version else { continue }
            let document = try DeliveryFile.read(delivery, of: version, root.raw, fileSystem)
            deliveryDocuments[delivery.address] = document
        }
    }

    /// Adds what stands in epochs: `e/<epoch>/…`.
    private mutating func countEpochs(
        in root: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) {
        guard let all = try fileSystem.openIfPresent(root, OriginLayout.epochs, .directory) else {
            return
        }
        for name in try fileSystem.names(in: all.raw) {
            guard let epoch = try fileSystem.openIfPresent(all.raw, name, .directory) else {
                continue
            }
            func more(_ kind: String) throws(StoreError) -> FileFigures {
                try Self.figures(of: kind, in: epoch.raw, fileSystem)
            }
            objects = objects + (try more(OriginLayout.objects))
            manifests = manifests + (try more(OriginLayout.manifests))
            packs = packs + (try more(OriginLayout.packs))
            deliveries = deliveries + (try more(OriginLayout.deliveries))
            places = places + (try more(OriginLayout.places))
        }
    }

    private static func figures(
        of name: String, in parent: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> FileFigures {
        var figures = FileFigures()
        guard let directory = try fileSystem.openIfPresent(parent, name, .directory) else {
            return figures
        }
        for entry in try fileSystem.names(in: directory.raw) {
            // What a publisher renames meanwhile is counted under its new name, or not at all.
            guard let status = try fileSystem.status(directory.raw, entry) else { continue }
            if status.kind == .directory {
                let inner = try Self.figures(of: entry, in: directory.raw, fileSystem)
                figures = figures + inner
            } else {
                figures.add(status.byteCount)
            }
        }
        return figures
    }
}
