package import CASStore

extension VersionStore {
    /// Replaces the manifest of a registered version that waits for its content, in one step.
    ///
    /// For publishers whose format does not give the addresses: the version is registered with
    /// stand-ins for content that nobody knows yet, and revised as the content arrives. So the store
    /// keeps what came, and ``missing(of:)`` says what must still come. The version keeps its
    /// ordinal and its time of registration.
    ///
    /// After a crash at any point the manifest is the whole old one or the whole new one.
    /// - Returns: whether the version is complete.
    /// - Throws: `.noVersion`; `.versionInUse` for a version that is complete, has a tree, is needed by
    ///   the lifecycle or is pinned; `.mismatch` if the manifest promises a size that an object of the
    ///   store does not have; `.outOfSpace`.
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
        try store.claim(registration.references, lease: lease)
        try file.write()
        do throws(StoreError) {
            try store.syncAll()
            // Under the lock of the lifecycle: nobody makes it current or retires it meanwhile.
            return try withLifecycleLocked { () throws(StoreError) -> Bool in
                try self.refuseNeeded(name)
                let revision = try self.store.revise(registration) { () throws(StoreError) in
                    try file.replace()
                }
                switch revision {
                case .revised(let isComplete): return isComplete
                case .complete: throw Self.notRevisable(name, "it is complete")
                case .unknown: throw StoreError.noVersion(name)
                }
            }
        } catch {
            // The error to report is the first; a leftover is hidden.
            try? file.discard()
            throw error
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
