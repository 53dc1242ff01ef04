public import CASStore
import VersionTree

extension Publisher {
    /// Deletes what no channel offers: old releases, then deliveries, packs, manifests, objects.
    ///
    /// What no pointer names any longer is deleted before a byte is written, so that a full disk has room
    /// for the pointers and the notes; the rest follows. If it is killed half-way, every channel is as it
    /// was or as it will be, and the next call continues. If a pointer or a manifest to be kept cannot be
    /// read, nothing is deleted.
    ///
    /// - Returns: the plan that was carried out.
    /// - Throws: `.noOrigin`; `.badPointer`; `.damagedOrigin`; `.busy`, `.interrupted`; `.outOfSpace` if
    ///   there is no room for the pointers even then.
    @discardableResult
    public func collect(
        _ retention: OriginRetention = OriginRetention()
    ) throws(StoreError) -> OriginCollectionPlan {
        let advice = "nothing that a channel offers is gone; make room in \(printable(path))"
        return try withAdvice(advice) { () throws(StoreError) in try carryOut(retention) }
    }

    private func carryOut(_ retention: OriginRetention) throws(StoreError) -> OriginCollectionPlan {
        let origin = try OriginWriter(path, isCreating: false, options, fileSystem)
        defer { withExtendedLifetime(origin) {} }
        var (plan, notes) = try makeCollectionPlan(retention, in: origin)
        // Before anything is deleted for what could not be written.
        for pointer in plan.pointers where notes.pointers[pointer.channel]?.isSigned ?? false {
            try checkSigning(pointer.channel, upon: notes.pointers)
        }
        for delta in plan.deltas {
            try fileSystem.removeIfPresent(
                origin.manifests.raw, OriginLayout.deltaFile(delta.manifest, from: delta.base))
        }
        let late = try named(plan, in: origin)
        let packs = try PackCollection(in: origin)
        let facts = try FactsCollection(in: origin)
        try packs?.delete(plan, in: origin) { !late.contains($0) }
        try facts?.delete(plan, in: origin) { !late.contains($0) }
        try delete(plan, in: origin) { !late.contains($0) }
        for pointer in plan.pointers { try write(pointer, upon: notes.pointers, to: origin) }
        if notes.known != notes.before { try notes.known.write(in: origin) }
        if !late.isEmpty {
            try packs?.delete(plan, in: origin, where: late.contains)
            try facts?.delete(plan, in: origin, where: late.contains)
            try delete(plan, in: origin, where: late.contains)
        }
        if !plan.leftovers.isEmpty, let telling = options.telling {
            // Writing the pointers may have told again what nobody knew of.
            let unneeded = Set(try telling.leftovers(in: origin.originPlace))
            plan.leftovers.removeAll { !unneeded.contains($0) }
        }
        for path in plan.leftovers { try origin.originPlace.remove(path) }
        // Derived; the next one tries again.
        try? packs?.dropUnused(in: origin)
        return plan
    }

    /// Writes a pointer that lists fewer releases; one that nobody had signed stays so.
    private func write(
        _ pointer: ChannelPointer, upon pointers: [ChannelName: ChannelPointer],
        to origin: OriginWriter
    ) throws(StoreError) {
        if pointers[pointer.channel]?.isSigned ?? false {
            try origin.write(pointer, upon: pointers)
        } else {
            try origin.write(sealed: pointer, upon: pointers[pointer.channel])
        }
    }

    private func delete(
        _ plan: OriginCollectionPlan, in origin: OriginWriter, where isNow: (ObjectID) -> Bool
    ) throws(StoreError) {
        try delete(plan.manifests.filter(isNow), in: origin)
        try delete(plan.objects.filter { isNow($0.address) }, in: origin)
    }

    /// The part of a plan that the current pointers still name: it is deleted after they are replaced.
    private func named(
        _ plan: OriginCollectionPlan, in origin: OriginWriter
    ) throws(StoreError) -> Set<ObjectID> {
        guard !plan.pointers.isEmpty else { return [] }
        var manifests: Set<ObjectID> = []
        var objects: Set<ObjectID> = []
        let pointers = try origin.pointers().values
        for pointer in pointers {
            for release in pointer.releases {
                if let version = release.version { manifests.insert(version.manifest) }
            }
        }
        manifests.formIntersection(plan.manifests)
        let deliveries = try PackCollection(in: origin)?.named(by: pointers, in: origin) ?? []
        let facts = try FactsCollection(in: origin)?.named(by: pointers) ?? []
        do throws(StoreError) {
            for manifest in manifests.sorted() { try addReferences(of: manifest, to: &objects) }
        } catch {
            guard error.code != .interrupted else { throw error }
            // Nobody knows what it names: all objects must wait.
            objects = Set(plan.objects.map(\.address))
        }
        return manifests.union(objects).union(deliveries).union(facts)
    }

    private func delete(
        _ manifests: [ObjectID], in origin: OriginWriter
    ) throws(StoreError) {
        for manifest in manifests {
            try fileSystem.removeIfPresent(
                origin.manifests.raw, OriginLayout.manifestFile(manifest))
        }
        // A manifest that came back after a power cut would name objects that are gone.
        if !manifests.isEmpty { try origin.sync(origin.manifests.raw) }
    }

    private func delete(
        _ objects: [Reference], in origin: OriginWriter
    ) throws(StoreError) {
        for object in objects {
            try origin.checkInterruption()
            try StoreLayout.withObjectPath(object.address) { (path) throws(StoreError) in
                try fileSystem.removeIfPresent(origin.objects.raw, path)
            }
        }
    }

    /// What collecting would delete; deletes nothing.
    ///
    /// Holds the lock while it looks, and notes nothing.
    /// - Throws: as ``collect(_:)``.
    public func planCollection(
        _ retention: OriginRetention = OriginRetention()
    ) throws(StoreError) -> OriginCollectionPlan {
        let origin = try OriginWriter(path, isCreating: false, options, fileSystem)
        defer { withExtendedLifetime(origin) {} }
        return try makeCollectionPlan(retention, in: origin).plan
    }

    private typealias Notes = (
        before: UnreferencedManifests, known: UnreferencedManifests,
        pointers: [ChannelName: ChannelPointer]
    )

    private func makeCollectionPlan(
        _ retention: OriginRetention, in origin: OriginWriter
    ) throws(StoreError) -> (plan: OriginCollectionPlan, notes: Notes) {
        let now = now()
        var plan = OriginCollectionPlan()
        var kept: Set<ObjectID> = []
        let pointers = try origin.pointers()
        for (_, pointer) in pointers.sorted(by: { $0.key < $1.key }) {
            let trimmed = trimmed(pointer, to: retention, now)
            if let trimmed {
                plan.pointers.append(trimmed)
                plan.releaseCount += pointer.releases.count - trimmed.releases.count
            }
            for release in (trimmed ?? pointer).releases {
                if let version = release.version { kept.insert(version.manifest) }
            }
        }
        let before = try UnreferencedManifests.read(in: origin)
        var known = UnreferencedManifests()
        let manifests = try fileSystem.names(in: origin.manifests.raw)
            .compactMap(OriginLayout.address(ofManifestFile:))
        for manifest in manifests.sorted() where !kept.contains(manifest) {
            let since = before.since[manifest] ?? now
            if retention.graceSeconds > 0, now - since < retention.graceSeconds {
                known.since[manifest] = since
                plan.waiting.append(manifest)
            } else {
                plan.manifests.append(manifest)
            }
        }
        let standing = kept.union(plan.waiting)
        plan.deltas = try fileSystem.names(in: origin.manifests.raw)
            .compactMap(OriginLayout.delta(ofFile:))
            .sorted { ($0.manifest, $0.base) < ($1.manifest, $1.base) }
        if let packs = try PackCollection(in: origin) {
            known.deliveriesSince = try packs.plan(
                &plan, retention, since: before.deliveriesSince, now: now, in: origin)
        }
        if let facts = try FactsCollection(in: origin) {
            known.factsSince = try facts.plan(
                &plan, retention, since: before.factsSince, now: now, in: origin)
        }
        plan.leftovers = try options.telling?.leftovers(in: origin.originPlace) ?? []
        var needed: Set<ObjectID> = []
        for manifest in standing.sorted() {
            try origin.checkInterruption()
            try addReferences(of: manifest, to: &needed)
        }
        plan.objects = try origin.stored(in: origin.objects.raw, except: needed)
        return (plan, (before, known, pointers))
    }

    /// The pointer with fewer releases; `nil` if that changes nothing, or it is signed and nobody signs now.
    private func trimmed(
        _ pointer: ChannelPointer, to retention: OriginRetention, _ now: Int64
    ) -> ChannelPointer? {
        let sealing = options.sealing
        guard !pointer.isSigned || sealing.isSigning || sealing.allowsFewer else { return nil }
        return pointer.trimmed(to: max(retention.releaseCount, 1), now: now)
    }

    private func addReferences(
        of address: ObjectID, to needed: inout Set<ObjectID>
    ) throws(StoreError) {
        let reader = try DirectoryOrigin(path, fileSystem: fileSystem)
        guard let bytes = try reader.manifestBytes(address) else {
            throw StoreError(
                .damagedOrigin,
                "a channel of \(printable(path)) names manifest \(address), which is not there; "
                    + "nothing is deleted until its version is published again or withdrawn",
                object: address)
        }
        needed.formUnion(try Manifest(parsing: bytes).references.map(\.address))
    }
}
