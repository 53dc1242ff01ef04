package import CASStore
import VersionTree

// Facts of what is offered, for the clients of other systems.

extension OriginWriter {
    /// The origin, for who writes there beside this one.
    var originPlace: OriginPlace {
        OriginPlace(
            path: path, root: root.raw, of: self, fileSystem: fileSystem,
            isDurable: options.isDurable, rights: rights,
            notice: options.notice)
    }
}

extension Publisher {
    /// Makes what a version's release needs for the clients of other systems; takes no lock but the packers' own.
    ///
    /// - Parameter packing: where the packs of the version were made; whoever packs alone can clean up afterwards.
    /// - Returns: `nil` if nobody is told of the channel.
    func prepareFacts(
        _ manifest: Manifest, _ version: PublishedVersion, in channel: ChannelName,
        of versions: VersionStore, beside packing: PackingPlace?
    ) throws(StoreError) -> PreparedFacts? {
        guard let reader = try toldOrigin(of: channel) else { return nil }
        defer { withExtendedLifetime(reader) {} }
        let pointers = try reader.soundPointers(for: channel)
        // Before anything is compressed in vain.
        try Self.checkName(version, pointers)
        try checkSigning(channel, upon: pointers)
        let place =
            if let packing { packing } else {
                try PackingPlace(
                    in: reader.directory, fileSystem.owners(of: reader.directory, path),
                    isInterrupted: options.isInterrupted)
            }
        return try facts(of: manifest, version, in: channel, versions, place)
    }

    /// The same without leaving anything anywhere.
    func planFacts(
        _ manifest: Manifest, _ version: PublishedVersion, in channel: ChannelName,
        of versions: VersionStore
    ) throws(StoreError) -> PreparedFacts? {
        guard try toldOrigin(of: channel) != nil else { return nil }
        return try facts(of: manifest, version, in: channel, versions, nil)
    }

    private func facts(
        of manifest: Manifest, _ version: PublishedVersion, in channel: ChannelName,
        _ versions: VersionStore, _ place: PackingPlace?
    ) throws(StoreError) -> PreparedFacts {
        var made: [ObjectID: ObjectFacts] = [:]
        return try facts(
            of: manifest, version.manifest, in: channel,
            PackSource(versions.store, origin: nil, fileSystem), place, besides: &made)
    }

    /// - Returns: the origin, if anybody is told of its channel.
    private func toldOrigin(of channel: ChannelName) throws(StoreError) -> DirectoryOrigin? {
        let here = POSIXFileSystem.workingDirectory
        // One call for those who have no such clients.
        guard let telling = options.telling,
            try fileSystem.status(here, "\(path)/\(OriginLayout.clients)") != nil,
            try OriginMarker.isThere(path, fileSystem)
        else { return nil }
        let reader = try DirectoryOrigin(path, fileSystem: fileSystem)
        try OriginMarker.refuseCopyOfBucket(reader.directory, path, fileSystem)
        return try telling.tells(of: channel, in: reader.place) ? reader : nil
    }

    /// - Parameters:
    ///   - place: where twins are left; `nil` to leave none.
    ///   - made: what this call of a publisher has made so far.
    private func facts(
        of manifest: Manifest, _ address: ObjectID, in channel: ChannelName,
        _ source: PackSource, _ place: PackingPlace?, besides made: inout [ObjectID: ObjectFacts]
    ) throws(StoreError) -> PreparedFacts {
        let wanted = Array(manifest.references)
        guard wanted.count <= ContentFacts.objectCountMax else {
            throw ContentFacts.excess(of: manifest, wanted.count)
        }
        let reader = try DirectoryOrigin(path, fileSystem: fileSystem)
        let known = try KnownFacts(of: wanted, address, in: channel, reader, options)
        let others = wanted.filter { known.objects[$0.address] == nil }
        let lacking = others.filter { made[$0.address] == nil }
        let new = try FactsMaking(
            source, in: place?.work.raw, place?.fileSystem ?? fileSystem, options,
            byteCount: lacking.reduce(0) { $0.addingClamped($1.byteCount) }
        ).run(lacking)
        for object in new { made[object.address] = object }
        return try PreparedFacts(
            known, and: others.compactMap { made[$0.address] }, made: new, in: place, reader)
    }

    /// Begins to tell the clients of a system what channels offer.
    ///
    /// Makes facts of all that the channels offer, from the origin's own objects, marks the origin, gives the releases their
    /// facts, and tells of them. They keep their sequences. Only then `configure` lets it be seen. If it is killed, the
    /// call may be repeated.
    /// - Parameter configure: makes durable what ``PublisherOptions/telling`` goes by from then on; called with the origin's
    ///   lock held.
    /// - Returns: what the channels offer then, sorted by name; those that exist.
    /// - Throws: `.noOrigin`; `.damagedOrigin` if something that is offered is not there; `.untrusted`, `.busy`, `.outOfSpace`,
    ///   `.interrupted`; what `configure` throws.
    @discardableResult
    package func beginTelling(
        of channels: Set<ChannelName>, _ configure: (OriginPlace) throws(StoreError) -> Void
    ) throws(StoreError) -> [ChannelPointer] {
        let reader = try DirectoryOrigin(path, fileSystem: fileSystem)
        try OriginMarker.refuseCopyOfBucket(reader.directory, path, fileSystem)
        let offered = try reader.pointers()
        for channel in channels.sorted() where offered[channel] != nil {
            try checkSigning(channel, upon: offered)
        }
        let (facts, place) = try facts(ofAll: channels, offered, reader)
        defer { withExtendedLifetime(place) {} }
        return try withAdvice(roomByPruning) { () throws(StoreError) in
            let origin = try OriginWriter(path, isCreating: true, options, fileSystem)
            defer { withExtendedLifetime(origin) {} }
            let publishing = try FactsPublishing(Array(facts.values), to: origin)
            try publishing.stage()
            try origin.syncAll()
            try publishing.publishTwins()
            if !publishing.isEmpty { try origin.syncAll() }
            try publishing.publishFacts()
            try origin.markToldClients()
            let published = facts.mapValues { PublishedFacts(address: $0.address) }
            let pointers = try know(published, in: channels, origin)
            try configure(origin.originPlace)
            return pointers
        }
    }

    private func facts(
        ofAll channels: Set<ChannelName>, _ offered: [ChannelName: ChannelPointer],
        _ reader: DirectoryOrigin
    ) throws(StoreError) -> ([ObjectID: PreparedFacts], PackingPlace) {
        let fileSystem = try fileSystem.owners(of: reader.directory, path)
        let place = try PackingPlace(
            in: reader.directory, fileSystem, isInterrupted: options.isInterrupted)
        let objects = try OpenedDirectory.open(
            reader.directory, OriginLayout.objects, fileSystem)
        let source = PackSource(
            nil, origin: objects, fileSystem, absence: "not in the origin \(printable(path))")
        var prepared: [ObjectID: PreparedFacts] = [:]
        var made: [ObjectID: ObjectFacts] = [:]
        for channel in channels.sorted() {
            for release in offered[channel]?.releases ?? [] {
                guard let version = release.version, prepared[version.manifest] == nil else {
                    continue
                }
                guard let manifest = try reader.manifest(version.manifest) else {
                    throw StoreError(
                        .damagedOrigin,
                        "channel \(channel) of \(printable(path)) names manifest \(version.manifest), which is not "
                            + "there; publish version \(version.name) again or withdraw it",
                        object: version.manifest)
                }
                prepared[version.manifest] = try facts(
                    of: manifest, version.manifest, in: channel, source, place, besides: &made)
            }
        }
        return (prepared, place)
    }

    /// Gives the releases of channels their facts, and tells those that stand already.
    private func know(
        _ facts: [ObjectID: PublishedFacts], in channels: Set<ChannelName>, _ origin: OriginWriter
    ) throws(StoreError) -> [ChannelPointer] {
        var pointers = try origin.pointers()
        var told: [ChannelPointer] = []
        for channel in channels.sorted() {
            guard let before = pointers[channel] else { continue }
            if let next = before.knowing(facts, now: now()) {
                pointers[channel] = try origin.write(next, upon: pointers)
            } else {
                try origin.tellAgain(before)
            }
            if let pointer = pointers[channel] { told.append(pointer) }
        }
        return told
    }
}
