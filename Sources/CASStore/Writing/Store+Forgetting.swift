// Taking a version out of the store, durably.

extension Store {
    /// Deletes a version's manifest and forgets the version, durably.
    ///
    /// Both inside one write transaction: a writer that settles the same version sees both or none.
    /// - Parameters:
    ///   - references: how many objects it names.
    ///   - beside: removes what goes with it, while nobody settles a version; may run twice, and must neither use
    ///     the index nor wait for anybody.
    package func forgetVersion(
        _ name: String, references: Int, beside: () throws(StoreError) -> Void = {}
    ) throws(StoreError) {
        do throws(StoreError) {
            try forgetVersion(name, references: references, notingGarbage: true, beside)
        } catch {
            // On a disk without any room, a note of whose the garbage was is not worth a failure.
            guard error.code == .outOfSpace else { throw error }
            try forgetVersion(name, references: references, notingGarbage: false, beside)
        }
    }

    private func forgetVersion(
        _ name: String, references: Int, notingGarbage: Bool,
        _ beside: () throws(StoreError) -> Void
    ) throws(StoreError) {
        try writing(rows: references) { (index) throws(StoreError) in
            // What may fail comes first: a version without its tree can be shown again, one without its manifest
            // cannot.
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
