public import CASStore

extension VersionStore {
    /// Registers a version whose content may still be missing.
    ///
    /// From here on the store keeps what the version names, and ``missing(of:)`` lists what must still come.
    /// - Returns: whether the version is complete.
    /// - Throws: `.versionExists` if other content has the name; `.mismatch` if it promises a size that an object of
    ///   the store does not have; `.outOfSpace`.
    @discardableResult
    public func register(_ manifest: Manifest) throws(StoreError) -> Bool {
        try recoverUnknownTree(
            manifest.version.description, for: manifest.contentAddress())
        let lease = try store.makeLease()
        var manifest = manifest
        if manifest.ordinal == 0 { manifest.ordinal = try store.nextOrdinal() }
        if manifest.createdAt == 0 { manifest.createdAt = secondsNow() }
        let file = ManifestFile(self, manifest, lease: lease.name)
        let registration = try file.registration()
        _ = try store.reserve(registration, lease: lease)
        var completed: [String]?
        while completed == nil {
            // Repeated only if the version was retired meanwhile.
            completed = try PreparedVersion(self, registration, file, file.write(), nil)
                .publishAndRecord(cached: EmptyCollection())
        }
        return try row(of: manifest.version.description).isComplete
    }

    /// Replaces the manifest of a registered version that waits for its content, in one step.
    ///
    /// For publishers whose format does not give the addresses: the version is registered with placeholders for
    /// unknown content, and revised as the content arrives. The store thus keeps what came, and ``missing(of:)``
    /// lists what must still come. The version keeps its ordinal and its time of registration. After a crash at any
    /// point the manifest is the whole old one or the whole new one.
    /// - Returns: whether the version is complete.
    /// - Throws: `.noVersion`; `.versionInUse` for a version that is complete, has a tree, is needed by the lifecycle
    ///   or is pinned; `.mismatch` if the manifest promises a size that an object of the store does not have;
    ///   `.outOfSpace`.
    @discardableResult
    package func revise(_ manifest: Manifest) throws(StoreError) -> Bool {
        let name = manifest.version.description
        let before = try row(of: name)
        let lease = try store.makeLease()
        var manifest = manifest
        manifest.ordinal = before.ordinal
        manifest.createdAt = before.createdAt
        let file = ManifestFile(self, manifest, lease: lease.name)
        let registration = try file.registration()
        try store.reserve(registration.references, lease: lease)
        return try file.revise(registration) { (row) throws(StoreError) in
            try self.refuseNeeded(name)
            guard let row else { throw StoreError.noVersion(name) }
            if row.isComplete { throw Self.notRevisable(name, "it is complete") }
        }
    }

    private func refuseNeeded(_ name: String) throws(StoreError) {
        let lifecycle = try lifecycle()
        if lifecycle.needed.contains(name) {
            throw Self.notRevisable(
                name, lifecycle.need(of: name)?.rawValue ?? "it is known good")
        }
        if try isMaterialized(name) { throw Self.notRevisable(name, "its tree is there") }
        if try pinRefusal(name) != nil { throw Self.notRevisable(name, "a process has pinned it") }
    }

    private static func notRevisable(_ name: String, _ reason: String) -> StoreError {
        StoreError(
            .versionInUse,
            "the manifest of version \(name) cannot be replaced: \(reason); register the content "
                + "under another name")
    }

    // MARK: Versions that have lost only their publisher's manifest are whole without it

    /// The versions that are missing only their publisher's manifest, each with its address.
    ///
    /// Excludes versions that are still being fetched, which have neither a tree nor a place in the lifecycle, and
    /// those whose manifest was rebuilt from a tree, since only the mark on what they received says so.
    /// - Parameters:
    ///   - gone: objects that are lost, whether or not the index knows it yet.
    ///   - back: objects that will be there.
    func versionsLackingOnlyReceived(
        _ gone: Set<ObjectID>, besides back: Set<ObjectID> = []
    ) throws(StoreError) -> [String: ObjectID] {
        let rows = try store.versionRows().map(\.row).filter {
            $0.recovery == .none && !($0.isComplete && gone.isEmpty)
        }
        guard !rows.isEmpty else { return [:] }
        var found: [String: ObjectID] = [:]
        let needed = try lifecycleIfReadable()?.needed ?? []
        for row in rows {
            guard let manifest = try readable(row.name),
                let received = manifest.received, !manifest.lacksFields,
                !manifest.records.contains(where: { $0.address == received.address })
            else { continue }
            var lacking: Set<ObjectID> = []
            if !row.isComplete {
                lacking.formUnion(try store.missingObjects(of: row.name)?.map(\.address) ?? [])
            }
            if gone.contains(received.address) { lacking.insert(received.address) }
            for record in manifest.records where gone.contains(record.address) {
                lacking.insert(record.address)
            }
            guard lacking.subtracting(back) == [received.address] else { continue }
            // It was whole until now, or once was.
            let isWhole = gone.contains(received.address) || needed.contains(row.name)
            if !isWhole, try !isMaterialized(row.name) { continue }
            found[row.name] = received.address
        }
        return found
    }

    /// Drops the lost publisher's manifest from versions that are missing nothing else.
    /// - Parameter gone: objects that are lost.
    /// - Returns: the versions that are complete as a result, each with the address of the dropped manifest.
    func dropLostReceived(_ gone: Set<ObjectID>) throws(StoreError) -> [String: ObjectID] {
        var dropped: [String: ObjectID] = [:]
        for (name, address) in try versionsLackingOnlyReceived(gone) {
            if try dropReceived(address, of: name) { dropped[name] = address }
        }
        return dropped
    }

    /// - Returns: `false` if the manifest has come back, or the version has changed, meanwhile.
    private func dropReceived(
        _ address: ObjectID, of name: String
    ) throws(StoreError) -> Bool {
        let existing = try manifestStatus(name)
        guard var manifest = try readable(name), manifest.received?.address == address else {
            return false
        }
        manifest.received = nil
        let lease = try store.makeLease()
        let file = ManifestFile(self, manifest, lease: lease.name)
        do throws(StoreError) {
            return try file.revise(file.registration()) { (row) throws(StoreError) in
                guard row?.isComplete == false else { throw Self.lost }
            } makingWay: { () throws(StoreError) in
                guard try self.manifestStatus(name) == existing else { throw Self.lost }
            }
        } catch {
            guard error.code == .lost || error.code == .mismatch else { throw error }
            return false
        }
    }

    static let lost = StoreError(.lost, "somebody has changed the version meanwhile")
}
