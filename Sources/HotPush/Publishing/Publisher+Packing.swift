package import CASStore
package import VersionTree

extension Publisher {
    /// Makes the packs of a version that a channel offers, and offers them: the second half of a
    /// publication without packs.
    ///
    /// The release keeps its place and its sequence. If it has been withdrawn meanwhile, nothing happens.
    /// - Returns: what was made; `nil` if the release has its packs already, or is offered no more.
    /// - Throws: `.notOffered` if the channel does not offer the version; what ``publish(_:of:as:)`` throws.
    @discardableResult
    package func pack(
        _ name: String, of versions: VersionStore, in channel: ChannelName = .stable
    ) throws(StoreError) -> PackReport? {
        let pin = try Self.pin(name, of: versions)
        defer { withExtendedLifetime(pin) {} }
        let (manifest, version) = try Self.describe(name, of: versions, ReleaseOffer())
        let pointer = try DirectoryOrigin(path, fileSystem: fileSystem).pointer(channel)
        guard let pointer, pointer.offers(version.manifest) else {
            throw StoreError(
                .notOffered,
                "channel \(channel) of \(printable(path)) does not offer version \(name); publish it"
            )
        }
        return try pack(manifest, version, of: versions, in: channel)
    }

    func pack(
        _ manifest: Manifest, _ version: PublishedVersion, of versions: VersionStore,
        in channel: ChannelName
    ) throws(StoreError) -> PackReport? {
        guard let prepared = try preparePacks(manifest, version, in: channel, of: versions)
        else {
            if let work = try OpenedDirectory.open(
                POSIXFileSystem.workingDirectory, "\(path)/\(OriginLayout.work)", fileSystem)
            {
                try PackingPlace.dropLeftovers(in: work.raw, fileSystem)
            }
            return nil
        }
        let origin = try OriginWriter(path, isCreating: true, options, fileSystem)
        defer { withExtendedLifetime(origin) {} }
        guard let pointer = try ChannelPointer.read(channel, origin.channels.raw, fileSystem),
            pointer.offers(version.manifest)
        else { return nil }
        let packs = try PackPublishing(
            prepared, fitting: PackBases(pointer, of: version, options.packs, versions), to: origin)
        try packs.stage()
        try origin.syncAll()
        try packs.publishPacks()
        try packs.publishDelivery()
        try origin.syncAll()
        if let next = pointer.delivering(version.manifest, by: packs.published, now: now()) {
            try UnreferencedManifests.forget(next, in: origin)
            try origin.write(next)
        }
        // The packs are offered; whatever is not noted is made again.
        try? packs.note()
        return packs.report
    }

    /// What packing would make.
    ///
    /// `nil` if there is nothing to do. Makes nothing.
    package func planPacks(
        _ name: String, of versions: VersionStore, in channel: ChannelName = .stable
    ) throws(StoreError) -> PackReport? {
        let (manifest, version) = try Self.describe(name, of: versions, ReleaseOffer())
        return try planPacks(manifest, version, of: versions, in: channel)
    }

    func planPacks(
        _ manifest: Manifest, _ version: PublishedVersion, of versions: VersionStore,
        in channel: ChannelName
    ) throws(StoreError) -> PackReport? {
        let target = PackedContent(
            version: version.name.description, content: version.content, manifest)
        guard try OriginMarker.isThere(path, fileSystem) else {
            let bases = try PackBases(nil, of: version, options.packs, versions)
            return PackReport(
                planned: target, from: try bases.load(from: nil, versions, options.notice))
        }
        guard let (bases, reader) = try wantedBases(version, in: channel, of: versions) else {
            return nil
        }
        return PackReport(
            planned: target, from: try bases.load(from: reader, versions, options.notice))
    }

    /// Makes the packs of a version in a channel, unless it has them; takes no lock but the packers' own.
    /// - Returns: `nil` if there is nothing to do.
    func preparePacks(
        _ manifest: Manifest, _ version: PublishedVersion, in channel: ChannelName,
        of versions: VersionStore
    ) throws(StoreError) -> PreparedPacks? {
        guard let (bases, reader) = try wantedBases(version, in: channel, of: versions) else {
            return nil
        }
        let contents = try bases.load(from: reader, versions, options.notice)
        let root = try fileSystem.open(
            POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks, mode: 0)
        try checkSpace(for: manifest, version, in: root.raw)
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
        let result = try packer.pack(target, manifest: manifest.serialized(), from: contents)
        return PreparedPacks(
            content: version.content, manifest: version.manifest, result: result,
            bases: bases.contents, place: place, frameCounts: progress.frameCounts)
    }

    /// The contents from which packs are to lead.
    /// - Returns: `nil` if the release has packs, and they were made with all these in mind.
    private func wantedBases(
        _ version: PublishedVersion, in channel: ChannelName, of versions: VersionStore
    ) throws(StoreError) -> (PackBases, DirectoryOrigin)? {
        let reader = try DirectoryOrigin(path, fileSystem: fileSystem)
        let pointer = try reader.pointer(channel)
        let bases = try PackBases(pointer, of: version, options.packs, versions)
        guard let delivery = pointer?.delivery(of: version.manifest) else { return (bases, reader) }
        let offered = OfferedDelivery(delivery, of: version, in: path, fileSystem)
        return try offered.isWhole(consideringAll: bases.contents) ? nil : (bases, reader)
    }

    // About what the packs and the frames that are kept have, where content can be compressed at all.
    private func checkSpace(
        for manifest: Manifest, _ version: PublishedVersion, in root: Int32
    ) throws(StoreError) {
        let needed = manifest.byteCount.addingClamped(version.manifestByteCount)
        let available = try fileSystem.freeSpace(root).available
        guard available < needed else { return }
        throw StoreError(
            .outOfSpace,
            "not enough free space in \(printable(path)) to make packs: \(needed) bytes are needed, "
                + "\(available) are free; castree prune deletes what no channel offers")
    }

    /// Makes the origin, in which packs are made, if there is none.
    func makeOriginIfAbsent() throws(StoreError) {
        if try OriginMarker.isThere(path, fileSystem) { return }
        let origin = try OriginWriter(path, isCreating: true, options, fileSystem)
        withExtendedLifetime(origin) {}
    }
}

extension ChannelPointer {
    fileprivate func offers(_ manifest: ObjectID) -> Bool {
        releases.contains { $0.version?.manifest == manifest }
    }
}
