// Checks whether the store that a process has open is still the one at its path.

extension Store {
    package enum Place: Sendable, Hashable {
        /// At its path, or elsewhere while nothing is at its path.
        case here
        /// It may be whole, but its path leads to something else.
        case replaced
        /// Its root exists, but directories in it were removed.
        case broken
        case gone
    }

    /// The store's path, independent of the working directory; a symbolic link in the given path stays one.
    package var absolutePath: String {
        path.hasPrefix("/") ? path : Self.absolute(path, directories.root.raw)
    }

    /// Finds out where the store is now, with one call for each of its directories.
    /// - Parameter path: where it was.
    package func place(at path: String) throws(StoreError) -> Place {
        // Not every file system counts a directory's links, but none says 0 for a directory that exists.
        func isRemoved(_ directory: Int32) throws(StoreError) -> Bool {
            try fileSystem.status(directory).linkCount == 0
        }
        let root = try fileSystem.status(directories.root.raw)
        if root.linkCount == 0 { return .gone }
        let removed = try (
            objects: isRemoved(directories.objects.raw),
            manifests: isRemoved(directories.manifests.raw),
            versions: isRemoved(directories.versions.raw),
            leases: isRemoved(directories.leases.raw)
        )
        // Everything in it has been deleted, or is being deleted.
        if removed.manifests && removed.versions { return .gone }
        if removed.objects || removed.manifests || removed.versions || removed.leases {
            return .broken
        }
        let there: FileStatus
        do throws(StoreError) {
            let directory = try fileSystem.open(
                POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks, mode: 0)
            there = try fileSystem.status(directory.raw)
        } catch {
            // Moved away, or hidden by a mount that failed: nothing has replaced it.
            return .here
        }
        return there.isSameFile(as: root) ? .here : .replaced
    }

    /// Whether a complete store is at a path.
    ///
    /// Opening a store during its deletion would recreate lost directories, and the deletion would fail.
    package static func stands(at path: String, _ fileSystem: any FileSystem) -> Bool {
        do throws(StoreError) {
            let root = try fileSystem.open(
                POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks, mode: 0)
            for name in StoreLayout.directories {
                guard try fileSystem.status(root.raw, name)?.kind == .directory else {
                    return false
                }
            }
            return try fileSystem.status(root.raw, StoreLayout.format)?.kind == .regular
        } catch {
            return false
        }
    }

    // Removal of an unused store.

    /// Removes an empty store, so that a command which created it and failed leaves no trace.
    ///
    /// Directories go only while they are empty, first those in which a writer begins. What another process has begun
    /// meanwhile stays, and the next open recreates the missing parts.
    /// - Parameters:
    ///   - isUnfinished: whether it was never completed: one that another process has completed since stays.
    ///   - withRoot: whether its directory goes, too.
    /// - Returns: whether it is gone.
    package func removeUnlessUsed(
        unfinished isUnfinished: Bool = false, withRoot: Bool = true
    ) throws(StoreError) -> Bool {
        let (root, leases) = (directories.root.raw, directories.leases.raw)
        func isFinished() throws(StoreError) -> Bool {
            guard isUnfinished else { return false }
            return try fileSystem.status(root, StoreLayout.format) != nil
        }
        if try isFinished() { return false }
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
        if try isFinished() { return false }
        for name in try fileSystem.names(in: root) { try fileSystem.removeIfPresent(root, name) }
        if !withRoot { return true }
        let above = try fileSystem.outside.open(root, "..", .directory, mode: 0)
        return try removeIfEmpty(
            above.raw, fileSystem.fileName(in: Self.absolute(path, root)))
    }

    private func removeIfEmpty(_ directory: Int32, _ name: String) throws(StoreError) -> Bool {
        try allowing(\.isExisting, try fileSystem.remove(directory, name, directory: true))
            != nil
    }
}
