import CASStore
import VersionTree

extension Publisher {
    /// Makes the packs of a version in a channel, unless it has them; takes no lock but the packers' own.
    /// - Returns: `nil` if there is nothing to do.
    func preparePacks(
        _ manifest: Manifest, _ version: PublishedVersion, in channel: ChannelName,
        of versions: VersionStore
    ) throws(StoreError) -> PreparedPacks? {
        let reader = try DirectoryOrigin(path, fileSystem: fileSystem)
        let pointer = try reader.pointer(channel)
        if let delivery = pointer?.delivery(of: version.manifest),
            try OfferedDelivery(delivery, of: version, in: path, fileSystem).isWhole()
        {
            return nil
        }
        let bases = try PackBases(pointer, of: version, options.packs, versions)
        let contents = try bases.load(from: reader, versions, options.notice)
        let root = try fileSystem.open(
            POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks, mode: 0)
        let place = try PackingPlace(
            in: root.raw, fileSystem, isInterrupted: options.isInterrupted)
        let objects = try OpenedDirectory.open(root.raw, OriginLayout.objects, fileSystem)
        let report = options.progress
        let progress = PackingProgress(isInterrupted: options.isInterrupted) { done, total in
            report(PublishProgress(bytes: done, bytesTotal: total, isPacking: true))
        }
        let packer = Packer(
            place: place, source: PackSource(versions.store, origin: objects, fileSystem),
            options: options.packs, progress: progress, notice: options.notice)
        let target = PackedContent(
            version: version.name.description, content: version.content, manifest)
        let packs = try packer.pack(target, manifest: manifest.serialized(), from: contents)
        return PreparedPacks(
            manifest: version.manifest, packs: packs, place: place,
            frameCounts: progress.frameCounts)
    }

    /// Makes the origin, where packs are made beside it, if there is none.
    func makeOriginIfAbsent() throws(StoreError) {
        if try OriginMarker.isThere(path, fileSystem) { return }
        let origin = try OriginWriter(path, isCreating: true, options, fileSystem)
        withExtendedLifetime(origin) {}
    }
}

extension ChannelPointer {
    /// The delivery of the release with a manifest, wherever it stands.
    func delivery(of manifest: ObjectID) -> PublishedDelivery? {
        releases.first { $0.version?.manifest == manifest && $0.delivery != nil }?.delivery
    }
}
