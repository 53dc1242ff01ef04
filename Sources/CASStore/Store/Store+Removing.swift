// Taking an unused store away again.

extension Store {
    /// Removes a store in which nothing is, so that a command which made it and failed leaves no trace.
    ///
    /// Directories go only while they are empty, first those in which a writer begins. So what another process has
    /// begun meanwhile stays, and the next open makes again what is lacking.
    /// - Returns: whether it is gone.
    package func removeUnlessUsed() throws(StoreError) -> Bool {
        let (root, leases) = (directories.root.raw, directories.leases.raw)
        let locks = try fileSystem.names(in: leases)
        guard locks.allSatisfy(StoreLayout.plainLocks.contains),
            try fileSystem.names(in: root).allSatisfy(StoreLayout.isMadeUnasked)
        else { return false }
        for name in [
            StoreLayout.staging, StoreLayout.objects, StoreLayout.versions, StoreLayout.quarantine,
            StoreLayout.manifests,
        ] {
            guard try removeIfEmpty(root, name) else { return false }
        }
        for name in locks { try fileSystem.removeIfPresent(leases, name) }
        guard try removeIfEmpty(root, StoreLayout.leases) else { return false }
        for name in try fileSystem.names(in: root) { try fileSystem.removeIfPresent(root, name) }
        return try removeIfEmpty(POSIXFileSystem.workingDirectory, path)
    }

    private func removeIfEmpty(_ directory: Int32, _ name: String) throws(StoreError) -> Bool {
        do throws(StoreError) {
            try fileSystem.remove(directory, name, directory: true)
            return true
        } catch {
            guard error.isExisting else { throw error }
            return false
        }
    }
}
