package import CASStore
package import VersionTree

extension Publisher {
    /// Makes the packs of a version that a channel offers, and offers them: the second half of a
    /// publication without packs.
    ///
    /// The release keeps its place and its sequence. If it has been withdrawn meanwhile, nothing happens.
    /// - Returns: what was made; `nil` if the release has its packs already, and nothing was refused.
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
        try checkSigning(channel, upon: [channel: pointer])
        return try pack(manifest, version, of: versions, in: channel)
    }

    func pack(
        _ manifest: Manifest, _ version: PublishedVersion, of versions: VersionStore,
        in channel: ChannelName
    ) throws(StoreError) -> PackReport? {
        let outcome = try preparePacks(manifest, version, in: channel, of: versions)
        guard case .made(let prepared) = outcome else {
            try inWork { (work, fileSystem) throws(StoreError) in
                try PackingPlace.dropLeftovers(in: work, fileSystem)
            }
            return outcome.report
        }
        return try withAdvice(version, in: channel) { () throws(StoreError) in
            try offer(prepared, version, of: versions, in: channel)
        }
    }

    /// Gives a release the packs that were made of it.
    private func offer(
        _ prepared: PreparedPacks, _ version: PublishedVersion, of versions: VersionStore,
        in channel: ChannelName
    ) throws(StoreError) -> PackReport {
        let origin = try OriginWriter(path, isCreating: true, options, fileSystem)
        defer { withExtendedLifetime(origin) {} }
        let pointers = try origin.pointers(for: channel)
        guard let pointer = pointers[channel], pointer.offers(version.manifest) else {
            return .withdrawn
        }
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
            try origin.write(next, upon: pointers)
        }
        // The packs are offered; whatever is not noted is made again.
        try? packs.note()
        return packs.report
    }

    /// What packing would make.
    ///
    /// `nil` if there is nothing to do, and nothing was refused. Makes nothing.
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
        guard !need.isMet else { return PackReport(nothingFor: need) }
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

    /// What came of preparing packs.
    enum PackOutcome {
        case made(PreparedPacks)
        /// There was nothing to do; what is said of contents that were refused.
        case nothing(PackReport?)

        var report: PackReport? {
            if case .nothing(let report) = self { report } else { nil }
        }

        /// Where they were made.
        var place: PackingPlace? {
            if case .made(let prepared) = self { prepared.place } else { nil }
        }
    }

    /// Makes the packs of a version in a channel, unless it has them; takes no lock but the packers' own.
    func preparePacks(
        _ manifest: Manifest, _ version: PublishedVersion, in channel: ChannelName,
        of versions: VersionStore
    ) throws(StoreError) -> PackOutcome {
        let reader = try DirectoryOrigin(path, fileSystem: fileSystem)
        // Before anything is compressed in vain.
        let root = try fileSystem.open(
            POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks, mode: 0)
        try OriginMarker.refuseCopyOfBucket(root.raw, path, fileSystem)
        let need = try need(version, in: channel, of: versions, reader)
        guard !need.isMet else { return .nothing(PackReport(nothingFor: need)) }
        do throws(StoreError) {
            return .made(try preparePacks(manifest, version, need, of: versions, reader))
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
        let fileSystem = try fileSystem.owners(of: root.raw, path)
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
        let need = PackNeed(bases, try offered.state(options))
        for base in need.refused { options.notice(Packer.uselessNotice(base.version)) }
        return need
    }

    /// Says what is wrong with the packs that a release keeps, where none are made.
    func checkKeptPacks(
        of version: PublishedVersion, in channel: ChannelName
    ) throws(StoreError) {
        guard options.verifiesObjects, options.packs.moment == .never,
            try OriginMarker.isThere(path, fileSystem),
            let delivery = try DirectoryOrigin(path, fileSystem: fileSystem).pointer(channel)?
                .delivery(of: version.manifest)
        else { return }
        let name = version.name
        let remedy =
            "castree pack \(name) \(printable(path)) --channel \(channel) --verify makes again what is wrong"
        let state = try OfferedDelivery(delivery, of: version, in: path, fileSystem).state(options)
        guard let state else {
            return options.notice(
                "the delivery of version \(name) is missing or damaged; \(remedy)")
        }
        let (wrong, all) = (state.damaged.count, state.damaged.count + state.packs.count)
        guard wrong > 0 else { return }
        options.notice(
            "\(wrong) of \(all) packs of version \(name) \(wrong == 1 ? "is" : "are") missing or damaged; "
                + remedy)
    }

    /// Packs only save: where there is no room for them, the release does without.
    func withRoom<R>(
        _ version: PublishedVersion, in channel: ChannelName, _ body: () throws(StoreError) -> R?
    ) throws(StoreError) -> R? {
        try options.withRoom(for: version, in: printable(path), channel, body)
    }

    private func dropUnused(_ reader: DirectoryOrigin) throws(StoreError) {
        // What a damaged pointer offers may need it.
        guard let pointers = try? reader.pointers() else { return }
        let releases = pointers.values.flatMap(\.releases)
        try inWork { (work, fileSystem) throws(StoreError) in
            try PackingPlace.dropUnused(
                in: work, offered: Set(releases.compactMap { $0.delivery?.address }), fileSystem)
        }
    }

    /// Does something in the publishers' own directory, if it is there.
    private func inWork(
        _ body: (Int32, any FileSystem) throws(StoreError) -> Void
    ) throws(StoreError) {
        let root = try fileSystem.open(
            POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks, mode: 0)
        let fileSystem = try fileSystem.owners(of: root.raw, path)
        guard let work = try OpenedDirectory.open(root.raw, OriginLayout.work, fileSystem) else {
            return
        }
        try body(work.raw, fileSystem)
    }

    /// Makes the origin, in which packs are made, if there is none.
    func makeOriginIfAbsent() throws(StoreError) {
        if try OriginMarker.isThere(path, fileSystem) { return }
        let origin = try OriginWriter(path, isCreating: true, options, fileSystem)
        withExtendedLifetime(origin) {}
    }
}
