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
                .record(cached: EmptyCollection())
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
        return try file.replacing(registration, by: file.write()) {
            (registration) throws(StoreError) -> Bool in
            try self.refuseNeeded(name)
            var row: VersionRow?
            let isComplete = try self.store.revise(
                registration,
                if: {
                    row = $0
                    return $0?.isComplete == false
                }, replaceManifest: { () throws(StoreError) in try file.replace() })
            guard let isComplete else {
                throw row == nil
                    ? StoreError.noVersion(name) : Self.notRevisable(name, "it is complete")
            }
            return isComplete
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
}
