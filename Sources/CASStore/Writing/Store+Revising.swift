// Replaces what a version names: while it waits for its content, or when its manifest was rebuilt.

extension Store {
    /// Protects what a version will name, whatever it names now: no collector deletes it while the lease lasts.
    package func reserve(
        _ references: References, lease: borrowing Lease
    ) throws(StoreError) {
        try reserve(count: references.count, { references[$0].address }, lease: lease)
    }

    /// Replaces the manifest of a version and its records in the index, in one transaction.
    /// - Parameters:
    ///   - mayReplace: whether the version as the index knows it may be replaced.
    ///   - acceptsContradictions: whether the manifest may give an existing object another size.
    ///   - replaceManifest: moves the new manifest into place, durably. Called once, when the index has accepted all
    ///     of it; throws `.lost` if another manifest is there by now.
    ///   - takingBack: removes it again if the version could not be recorded: it would look like an edited one.
    /// - Returns: whether the version is complete; `nil` if nothing was changed because it may not be replaced.
    /// - Throws: `.mismatch` if the new manifest gives an existing object another size.
    package func revise(
        _ registration: Registration, if mayReplace: (VersionRow?) -> Bool,
        acceptsContradictions: Bool = false,
        replaceManifest: () throws(StoreError) -> Void,
        takingBack: () throws(StoreError) -> Void = { () throws(StoreError) in }
    ) throws(StoreError) -> Bool? {
        var isReplaced = false
        return try index { (index) throws(StoreError) in
            do throws(StoreError) {
                return try index.write { (index) throws(StoreError) -> Bool? in
                    let before = try index.version(registration.name)
                    if !isReplaced, !mayReplace(before) { return nil }
                    if let before { try index.removeVersion(id: before.id) }
                    _ = try index.insertVersion(
                        registration, acceptsContradictions: acceptsContradictions
                    ) { (address) throws(StoreError) in try self.objects.contains(address) }
                    // After a rebuild of the index the transaction may run again.
                    if !isReplaced { try replaceManifest() }
                    isReplaced = true
                    let manifest = try self.fileSystem.status(
                        self.directories.manifests.raw, StoreLayout.manifest(registration.name))
                    if let manifest {
                        try index.noteManifest(
                            registration.name, Index.identity(manifest))
                    }
                    try index.noteManifestsDirectory()
                    _ = try index.completeVersions()
                    return try index.version(registration.name)?.isComplete == true
                }
            } catch {
                // The manifest may be the new one and the row the old: the next use compares them.
                index.isReconciled = false
                // Report the first error.
                if isReplaced { try? takingBack() }
                throw error
            }
        }
    }

    /// Deletes a version's manifest and forgets the version, durably.
    ///
    /// Both inside one write transaction: a writer that records the same version sees both or none.
    /// - Parameters:
    ///   - references: how many objects it names.
    ///   - beside: removes what goes with it, while no version can be recorded; may run twice, and must not use the
    ///     index or wait for another process.
    package func forgetVersion(
        _ name: String, references: Int, beside: () throws(StoreError) -> Void = {}
    ) throws(StoreError) {
        do throws(StoreError) {
            try forgetVersion(name, references: references, notingGarbage: true, beside)
        } catch {
            // On a completely full disk, the origin of the garbage is not worth a failure.
            guard error.code == .outOfSpace else { throw error }
            try forgetVersion(name, references: references, notingGarbage: false, beside)
        }
    }

    private func forgetVersion(
        _ name: String, references: Int, notingGarbage: Bool,
        _ beside: () throws(StoreError) -> Void
    ) throws(StoreError) {
        try writing(rows: references) { (index) throws(StoreError) in
            // What may fail comes first: a version can be shown again without its tree, but not without its manifest.
            try beside()
            try self.fileSystem.removeIfPresent(
                self.directories.manifests.raw, StoreLayout.manifest(name))
            if let row = try index.version(name) {
                let edges = try index.edges(of: row.id)
                try index.removeVersion(id: row.id)
                if notingGarbage {
                    try index.noteGarbage(of: name, edges, at: secondsNow())
                }
            }
            try index.noteManifestsDirectory()
        } syncing: { (index) throws(StoreError) in
            try self.sync(self.directories.manifests.raw)
            try index.sync()
        }
    }
}
