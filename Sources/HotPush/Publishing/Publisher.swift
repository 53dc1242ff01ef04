public import CASStore
public import VersionTree

/// Writes versions of a store to an origin, and says what its channels offer.
///
/// An origin is a directory that any web server can serve (`docs/origin-format.md`). Each verb takes
/// the origin's lock, so publishers in all processes take turns. Readers need no lock: objects come
/// first, then the manifest, and last the channel's pointer, replaced in one step. Nothing that is
/// already there is written again, so repeating an interrupted call continues it.
public struct Publisher: Sendable {
    /// The origin's directory.
    package let path: String
    /// How it works.
    package var options: PublisherOptions
    let fileSystem: any FileSystem
    /// Seconds since 1970.
    let now: @Sendable () -> Int64

    /// Makes a publisher; nothing is opened or made yet.
    public init(_ path: String, options: PublisherOptions = PublisherOptions()) {
        self.init(path, options: options, fileSystem: POSIXFileSystem(), now: { secondsNow() })
    }

    /// For tests: over another file system and clock.
    package init(
        _ path: String, options: PublisherOptions, fileSystem: any FileSystem,
        now: @escaping @Sendable () -> Int64
    ) {
        self.path = path
        self.options = options
        // Root publishes to another user's origin as that user; who may not is told when something is written.
        self.fileSystem = OwnersFileSystem.around(fileSystem, directory: path)
        self.now = now
    }

    /// What publishing a version would write; writes nothing and takes no lock.
    /// - Throws: as ``publish(_:of:as:)``.
    public func plan(
        _ name: String, of versions: VersionStore, as offer: ReleaseOffer = ReleaseOffer()
    ) throws(StoreError) -> PublishPlan {
        let (manifest, version) = try Self.describe(name, of: versions, offer, options.limits)
        try refuseInsideStore()
        var survey = OriginSurvey(
            fileSystem: fileSystem, options: options, objects: nil, manifests: nil)
        try checkKeptPacks(of: version, in: offer.channel)
        let packing =
            options.packs.moment == .never
            ? nil : try planPacks(manifest, version, of: versions, in: offer.channel)
        let facts = try planFacts(manifest, version, in: offer.channel, of: versions)
        guard
            let root = try OpenedDirectory.open(POSIXFileSystem.workingDirectory, path, fileSystem)
        else {
            return try sealed(
                makePlan(
                    manifest, version, offer, survey, pointers: [:], facts: nil, packing: packing),
                upon: [:])
        }
        try OriginWriter.checkIsOurs(root.raw, path, true, options, fileSystem)
        let objects = try OpenedDirectory.open(root.raw, OriginLayout.objects, fileSystem)
        let manifests = try OpenedDirectory.open(root.raw, OriginLayout.manifests, fileSystem)
        let channels = try OpenedDirectory.open(root.raw, OriginLayout.channels, fileSystem)
        defer { withExtendedLifetime((root, objects, manifests, channels)) {} }
        survey.objects = objects?.raw
        survey.manifests = manifests?.raw
        return try withoutLock { () throws(StoreError) in
            try channels.map { (channels) throws(StoreError) in
                try ChannelPointer.readSound(
                    channels.raw, fileSystem, needing: offer.channel, notice: options.notice)
            } ?? [:]
        } upon: { (pointers) throws(StoreError) in
            try sealed(
                makePlan(
                    manifest, version, offer, survey, pointers: pointers, facts: facts,
                    packing: packing),
                upon: pointers)
        }
    }

    /// Writes a version to the origin and offers it at the head of a channel.
    ///
    /// Makes the origin if there is none. What the call acknowledges survives a power cut.
    /// - Returns: the plan that was carried out; nothing was written if the channel already offered exactly this and
    ///   the origin had all of it.
    /// - Throws: `.noVersion`; `.incompleteVersion`; `.insideStore`; `.badManifest` if the manifest is damaged or
    ///   not the registered one; `.damagedObject` if the store's bytes are wrong: then the channel offers what it
    ///   did before; `.versionExists` if the origin offers other content under the name; `.badPointer`, `.busy`,
    ///   `.outOfSpace`, `.interrupted`.
    @discardableResult
    public func publish(
        _ name: String, of versions: VersionStore, as offer: ReleaseOffer = ReleaseOffer()
    ) throws(StoreError) -> PublishPlan {
        let pin = try Self.pin(name, of: versions)
        defer { withExtendedLifetime(pin) {} }
        let (manifest, version) = try Self.describe(name, of: versions, offer, options.limits)
        try refuseInsideStore()
        var prepared: PackOutcome?
        try checkKeptPacks(of: version, in: offer.channel)
        if options.packs.moment == .before {
            try makeOriginIfAbsent()
            let origin = try DirectoryOrigin(path, fileSystem: fileSystem)
            try withoutLock { () throws(StoreError) in
                try origin.soundPointers(for: offer.channel)
            } upon: { (pointers) throws(StoreError) in
                try Self.checkName(version, pointers)
                try checkSigning(offer.channel, upon: pointers)
            }
            // Before the origin's lock is taken: nobody waits while this one compresses.
            prepared = try withRoom(version, in: offer.channel) { () throws(StoreError) in
                try preparePacks(manifest, version, in: offer.channel, of: versions)
            }
        }
        var plan = try withAdvice(version, in: offer.channel) { () throws(StoreError) in
            let facts = try prepareFacts(
                manifest, version, in: offer.channel, of: versions, beside: prepared?.place)
            return try publish(manifest, version, as: offer, prepared, facts, of: versions)
        }
        if options.packs.moment == .after {
            options.notice("version \(name) is offered; its packs follow")
            plan.packing = try withRoom(version, in: offer.channel) { () throws(StoreError) in
                try pack(manifest, version, of: versions, in: offer.channel)
            }
        }
        return plan
    }

    /// The part of publishing that needs the origin's lock.
    private func publish(
        _ manifest: Manifest, _ version: PublishedVersion, as offer: ReleaseOffer,
        _ outcome: PackOutcome?, _ facts: PreparedFacts?, of versions: VersionStore
    ) throws(StoreError) -> PublishPlan {
        let origin = try OriginWriter(path, isCreating: true, options, fileSystem)
        if options.verifiesObjects { try origin.mendRights() }
        defer { withExtendedLifetime(origin) {} }
        let survey = OriginSurvey(
            fileSystem: origin.fileSystem, options: options, objects: origin.objects.raw,
            manifests: origin.manifests.raw)
        let pointers = try origin.soundPointers(for: offer.channel)
        try checkSigning(offer.channel, upon: pointers)
        if pointers[offer.channel] == nil, !pointers.isEmpty {
            let others = pointers.keys.sorted().map(\.description).joined(separator: ", ")
            options.notice("channel \(offer.channel) is new; the origin had \(others)")
        }
        var packs: PackPublishing?
        if case .made(let prepared) = outcome {
            // Looked at again: somebody may have published or withdrawn meanwhile.
            let bases = try PackBases(
                pointers[offer.channel], of: version, options.packs, versions)
            packs = try PackPublishing(
                prepared, fitting: bases, in: pointers[offer.channel], of: version, to: origin)
        }
        var plan = try makePlan(
            manifest, version, offer, survey, pointers: pointers, delivery: packs?.published,
            facts: facts, packing: packs?.report ?? outcome?.report)
        let publishing = try facts.map { (facts) throws(StoreError) in
            try FactsPublishing([facts], to: origin)
        }
        plan.pointer = try write(
            plan, manifest, packs, publishing, of: versions, to: origin, upon: pointers)
        return plan
    }

    /// - Returns: the pointer as it stands then.
    private func write(
        _ plan: PublishPlan, _ manifest: Manifest, _ packs: PackPublishing?,
        _ facts: FactsPublishing?, of versions: VersionStore, to origin: OriginWriter,
        upon pointers: [ChannelName: ChannelPointer]
    ) throws(StoreError) -> ChannelPointer {
        if !plan.objects.isEmpty || plan.writesManifest {
            try origin.checkSpace(for: plan.spaceNeeded, beside: PublishPlan.reservedByteCount)
        }
        try ObjectPublishing(plan.objects, from: versions.store, to: origin).run()
        if plan.writesManifest { try stage(manifest, in: origin) }
        try packs?.stage()
        try facts?.stage()
        // One sync for the names of the objects and the bytes of all else. Needed even if nothing was
        // written: a killed publisher may have left names that are not durable.
        try origin.syncAll()
        try packs?.publishPacks()
        try facts?.publishTwins()
        if plan.writesManifest { try publishManifest(plan.version.manifest, in: origin) }
        try packs?.publishDelivery()
        if packs != nil || facts?.isEmpty == false {
            try origin.syncAll()
        } else if plan.writesManifest {
            try origin.sync(origin.manifests.raw)
        }
        try facts?.publishFacts()
        var pointer = plan.pointer
        if plan.writesPointer {
            try UnreferencedManifests.forget(pointer, in: origin)
            pointer = try origin.write(pointer, upon: pointers)
        } else {
            // A full disk may have kept it from being written.
            try origin.listChannels()
            try origin.tellAgain(pointer)
        }
        // The release is offered; whatever is not noted is made again.
        try? packs?.note()
        return pointer
    }

    /// An origin is not part of a store: a foreign file among the store's files is a finding.
    private func refuseInsideStore() throws(StoreError) {
        // If it does not exist yet, the directory in which it will be made.
        var place = path
        while place.count > 1, place.hasSuffix("/") { place.removeLast() }
        let end = place.lastIndex(of: "/")
        let parent = end.map { String(place[...$0]) } ?? "."
        let here = POSIXFileSystem.workingDirectory
        for candidate in [path, parent] {
            guard
                let directory = try fileSystem.openIfPresent(
                    here, candidate, .directoryFollowingLinks)
            else { continue }
            guard try fileSystem.isInsideStore(directory.raw) else { return }
            throw StoreError(
                .insideStore,
                "unable to publish to \(printable(path)): it is inside a store; publish to a directory "
                    + "of its own")
        }
    }

    // MARK: What is published

    // The store's collector must not delete what is being copied. If no pin can be made, nothing is
    // retired either; somebody else's store may change, and the copying notices that.
    static func pin(
        _ name: String, of versions: VersionStore
    ) throws(StoreError) -> VersionPin? {
        do throws(StoreError) {
            return try versions.pin(name)
        } catch {
            guard error.code == .readOnly || error.code == .permission else { throw error }
            return nil
        }
    }

    static func describe(
        _ name: String, of versions: VersionStore, _ offer: ReleaseOffer,
        _ limits: DeviceLimits? = nil
    ) throws(StoreError) -> (Manifest, PublishedVersion) {
        try offer.validate()
        let manifest = try versions.registeredManifest(of: name)
        let missing = try versions.missing(of: name)
        guard missing.isEmpty else {
            let byteCount = missing.reduce(0) { $0 + $1.bytes }
            throw StoreError(
                .incompleteVersion,
                "version \(name) lacks \(counted(missing.count, "object")) (\(sizeText(byteCount))) and is not "
                    + "published; add or pull it again")
        }
        var digester = try Digester(.sha256)
        var byteCount: Int64 = 0
        try manifest.serialize { (piece) throws(StoreError) in
            piece.withUnsafeBytes { digester.update($0) }
            byteCount += Int64(piece.count)
        }
        if let objection = try limits?.objection(to: manifest, byteCount: byteCount) {
            throw StoreError(
                .tooLarge,
                "version \(name) is not published, because devices would refuse it: \(objection); give publish the "
                    + "--max-entries that your devices have")
        }
        let version = PublishedVersion(
            name: manifest.version, manifest: digester.finish { ObjectID(unchecked: $0) },
            manifestByteCount: byteCount, content: try manifest.contentAddress())
        return (manifest, version)
    }

    private func makePlan(
        _ manifest: Manifest, _ version: PublishedVersion, _ offer: ReleaseOffer,
        _ survey: OriginSurvey, pointers: [ChannelName: ChannelPointer],
        delivery: PublishedDelivery? = nil, facts: PreparedFacts?, packing: PackReport?
    ) throws(StoreError) -> PublishPlan {
        try Self.checkName(version, pointers)
        let wanted = Array(manifest.references)
        let objects = try survey.missing(wanted).map { wanted[$0] }
        let now = now()
        let before = pointers[offer.channel]
        var release = offer.release(.version(version))
        release.delivery = delivery
        release.facts = facts?.address
        var after = (before ?? .empty(offer.channel, now: now)).offering(
            release, keepingDeliveries: options.packs.keptReleaseCount, now: now)
        if options.verifiesObjects, let before, before.offersOlder(version) {
            options.notice(Self.mending(version, offer.channel))
            after = before.mending(release, now: now)
        }
        if after == nil, let before, options.sealing.renews(before, now: now) {
            after = before.renewed(now: now)
        }
        return PublishPlan(
            version: version, objects: objects,
            reusedObjectCount: wanted.count - objects.count,
            reusedByteCount: wanted.reduce(0) { $0 + $1.byteCount }
                - objects.reduce(0) { $0 + $1.byteCount },
            writesManifest: try !survey.hasManifest(version), packing: packing,
            facts: facts.map { PlannedFacts($0) },
            pointer: after ?? before ?? .empty(offer.channel, now: now),
            before: before, head: before?.releases.first?.sequence,
            writesPointer: after != nil)
    }

    /// What is said where an older release is published only to be verified.
    static func mending(_ version: PublishedVersion, _ channel: ChannelName) -> String {
        "version \(version.name) is not the newest of channel \(channel): it is checked and mended, and not offered again"
    }

    // A device that has one of them would refuse the other.
    static func checkName(
        _ version: PublishedVersion, _ pointers: [ChannelName: ChannelPointer]
    ) throws(StoreError) {
        let name = version.name.description
        for pointer in pointers.values.sorted(by: { $0.channel < $1.channel }) {
            for known in pointer.releases.compactMap(\.version) {
                let other = known.name.description
                guard other.lowercased() == name.lowercased() else { continue }
                if other == name, known.content == version.content { continue }
                throw StoreError(
                    .versionExists,
                    "channel \(pointer.channel) offers a version \(other) with other content; "
                        + "choose another name: devices that have it would refuse this one")
            }
            for known in pointer.withdrawn {
                let other = known.name.description
                guard other.lowercased() == name.lowercased() else { continue }
                if other == name, known.content == version.content { continue }
                throw StoreError(
                    .versionExists,
                    "a version \(other) with other content was withdrawn from channel \(pointer.channel), and devices that "
                        + "have it would refuse this one; choose another name")
            }
        }
    }

    // MARK: The manifest

    private static let stagedManifest = "manifest"

    private func stage(_ manifest: Manifest, in origin: OriginWriter) throws(StoreError) {
        let fileSystem = origin.fileSystem
        let file = try fileSystem.open(
            origin.staging.raw, Self.stagedManifest, .creating, mode: OriginWriter.fileMode)
        try manifest.serialize { (piece) throws(StoreError) in
            try fileSystem.write(file.raw, piece)
        }
        if !fileSystem.canSyncAll { try origin.sync(file.raw) }
    }

    private func publishManifest(
        _ address: ObjectID, in origin: OriginWriter
    ) throws(StoreError) {
        try origin.rename(
            origin.staging.raw, Self.stagedManifest, to: origin.manifests.raw,
            OriginLayout.manifestFile(address))
    }
}
