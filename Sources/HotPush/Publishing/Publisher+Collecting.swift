public import CASStore
import VersionTree

extension Publisher {
    /// Deletes what no channel offers: old releases, then manifests, then objects.
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
        let origin = try OriginWriter(path, isCreating: false, options, fileSystem)
        defer { withExtendedLifetime(origin) {} }
        let (plan, notes) = try makeCollectionPlan(retention, in: origin)
        for delta in plan.deltas {
            try fileSystem.removeIfPresent(
                origin.manifests.raw, OriginLayout.deltaFile(delta.manifest, from: delta.base))
        }
        let late = try named(plan, in: origin)
        try delete(plan.manifests.filter { !late.manifests.contains($0) }, in: origin)
        try delete(plan.objects.filter { !late.objects.contains($0.address) }, in: origin)
        for pointer in plan.pointers { try origin.write(pointer) }
        if notes.known != notes.before { try notes.known.write(in: origin) }
        guard !late.manifests.isEmpty else { return plan }
        try delete(plan.manifests.filter { late.manifests.contains($0) }, in: origin)
        try delete(plan.objects.filter { late.objects.contains($0.address) }, in: origin)
        return plan
    }

    /// The part of a plan that the current pointers still name: it is deleted after they are replaced.
    private func named(
        _ plan: OriginCollectionPlan, in origin: OriginWriter
    ) throws(StoreError) -> (manifests: Set<ObjectID>, objects: Set<ObjectID>) {
        var manifests: Set<ObjectID> = []
        var objects: Set<ObjectID> = []
        guard !plan.pointers.isEmpty else { return (manifests, objects) }
        for pointer in try origin.pointers().values {
            for release in pointer.releases {
                if let version = release.version { manifests.insert(version.manifest) }
            }
        }
        manifests.formIntersection(plan.manifests)
        do throws(StoreError) {
            for manifest in manifests.sorted() { try addReferences(of: manifest, to: &objects) }
        } catch {
            guard error.code != .interrupted else { throw error }
            // Nobody knows what it names: all objects must wait.
            objects = Set(plan.objects.map(\.address))
        }
        return (manifests, objects)
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

    private typealias Notes = (before: UnreferencedManifests, known: UnreferencedManifests)

    private func makeCollectionPlan(
        _ retention: OriginRetention, in origin: OriginWriter
    ) throws(StoreError) -> (plan: OriginCollectionPlan, notes: Notes) {
        let now = now()
        var plan = OriginCollectionPlan()
        var kept: Set<ObjectID> = []
        for (_, pointer) in try origin.pointers().sorted(by: { $0.key < $1.key }) {
            let trimmed = pointer.trimmed(to: max(retention.releaseCount, 1), now: now)
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
        let deltas = try fileSystem.names(in: origin.manifests.raw)
            .compactMap(OriginLayout.delta(ofFile:))
        for delta in deltas.sorted(by: { ($0.manifest, $0.base) < ($1.manifest, $1.base) })
        where !standing.contains(delta.manifest) || !standing.contains(delta.base) {
            plan.deltas.append(delta)
        }
        var needed: Set<ObjectID> = []
        for manifest in standing.sorted() {
            try origin.checkInterruption()
            try addReferences(of: manifest, to: &needed)
        }
        plan.objects = try garbage(except: needed, in: origin)
        return (plan, (before, known))
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

    private func garbage(
        except needed: Set<ObjectID>, in origin: OriginWriter
    ) throws(StoreError) -> [Reference] {
        var garbage: [Reference] = []
        for shard in try origin.shards(in: origin.objects.raw).sorted() {
            let directory = try fileSystem.open(origin.objects.raw, shard, .directory, mode: 0)
            try fileSystem.list(directory.raw) { (entry, _) throws(StoreError) in
                guard shard.utf8.count == 2,
                    let address = ObjectID(shard + String(cString: entry)),
                    !needed.contains(address),
                    let status = try fileSystem.status(directory.raw, entry),
                    status.kind == .regular
                else { return true }
                garbage.append(Reference(address: address, byteCount: status.byteCount))
                return true
            }
        }
        return garbage.sorted()
    }
}
