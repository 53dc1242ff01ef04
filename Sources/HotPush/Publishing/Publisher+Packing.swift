package import CASStore
package import VersionTree

extension Publisher {
    /// Makes the packs of a version that a channel offers, and offers them: the second half of a
    /// publication without packs.
    ///
    /// The release keeps its place and its sequence. If it has been withdrawn meanwhile, nothing happens.
    /// - Returns: what was made; `nil` if the release has its packs already.
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
        else { return .withdrawn }
        let packs = try PackPublishing(
            prepared, fitting: PackBases(pointer, of: version, options.packs, versions),
            in: pointer, of: version, to: origin)
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
        guard try OriginMarker.isThere(path, fileSystem) else {
            let need = PackNeed(try PackBases(nil, of: version, options.packs, versions), nil)
            return try preparation(manifest, version, need, of: versions, nil).planned
        }
        let reader = try DirectoryOrigin(path, fileSystem: fileSystem)
        let need = try need(version, in: channel, of: versions, reader)
        guard !need.isMet else { return nil }
        return try preparation(manifest, version, need, of: versions, reader).planned
    }

    /// - Parameter reader: `nil` if there is no origin yet.
    private func preparation(
        _ manifest: Manifest, _ version: PublishedVersion, _ need: PackNeed,
        of versions: VersionStore, _ reader: DirectoryOrigin?
    ) throws(StoreError) -> PackPreparation {
        let contents = try PackBases.load(need.lacking, versions, options.notice) {
            (address) throws(StoreError) in
            try reader?.manifest(address)
        }
        return PackPreparation(manifest, version, need, from: contents, options)
    }

    /// Makes the packs of a version in a channel, unless it has them; takes no lock but the packers' own.
    /// - Returns: `nil` if there is nothing to do.
    func preparePacks(
        _ manifest: Manifest, _ version: PublishedVersion, in channel: ChannelName,
        of versions: VersionStore
    ) throws(StoreError) -> PreparedPacks? {
        let reader = try DirectoryOrigin(path, fileSystem: fileSystem)
        // Before anything is compressed in vain.
        let root = try fileSystem.open(
            POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks, mode: 0)
        try OriginMarker.refuseCopyOfBucket(root.raw, path, fileSystem)
        let need = try need(version, in: channel, of: versions, reader)
        guard !need.isMet else { return nil }
        do throws(StoreError) {
            return try preparePacks(manifest, version, need, of: versions, reader)
        } catch {
            // What was kept of it takes room that others need.
            if error.code == .outOfSpace { try? dropUnused(reader) }
            throw error
        }
    }

    private func preparePacks(
        _ manifest: Manifest, _ version: PublishedVersion, _ need: PackNeed,
        of versions: VersionStore, _ reader: DirectoryOrigin
    ) throws(StoreError) -> PreparedPacks {
        let preparation = try preparation(manifest, version, need, of: versions, reader)
        let root = try fileSystem.open(
            POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks, mode: 0)
        try preparation.checkSpace(
            in: root.raw, printable(path), "castree prune deletes what no channel offers",
            fileSystem)
        let place = try PackingPlace(
            in: root.raw, fileSystem, isInterrupted: options.isInterrupted)
        let objects = try OpenedDirectory.open(root.raw, OriginLayout.objects, fileSystem)
        return try preparation.run(
            in: place, source: PackSource(versions.store, origin: objects, fileSystem))
    }

    /// What a release has of packs, and what it lacks.
    private func need(
        _ version: PublishedVersion, in channel: ChannelName, of versions: VersionStore,
        _ reader: DirectoryOrigin
    ) throws(StoreError) -> PackNeed {
        let pointer = try reader.pointer(channel)
        let bases = try PackBases(pointer, of: version, options.packs, versions)
        guard let delivery = pointer?.delivery(of: version.manifest) else {
            return PackNeed(bases, nil)
        }
        let offered = OfferedDelivery(delivery, of: version, in: path, fileSystem)
        let need = PackNeed(
            bases,
            try offered.state(
                isVerifying: options.verifiesObjects, isInterrupted: options.isInterrupted))
        for base in need.refused { options.notice(Packer.uselessNotice(base.version)) }
        return need
    }

    /// Packs only save: where there is no room for them, the release does without.
    func withRoom<R>(
        _ version: PublishedVersion, in channel: ChannelName, _ body: () throws(StoreError) -> R?
    ) throws(StoreError) -> R? {
        try options.withRoom(for: version, in: printable(path), channel, body)
    }

    private func dropUnused(_ reader: DirectoryOrigin) throws(StoreError) {
        let work = try fileSystem.open(
            POSIXFileSystem.workingDirectory, "\(path)/\(OriginLayout.work)", .directory, mode: 0)
        let releases = try reader.pointers().values.flatMap(\.releases)
        try PackingPlace.dropUnused(
            in: work.raw, offered: Set(releases.compactMap { $0.delivery?.address }), fileSystem)
    }

    /// Makes the origin, in which packs are made, if there is none.
    func makeOriginIfAbsent() throws(StoreError) {
        if try OriginMarker.isThere(path, fileSystem) { return }
        let origin = try OriginWriter(path, isCreating: true, options, fileSystem)
        withExtendedLifetime(origin) {}
    }
}
