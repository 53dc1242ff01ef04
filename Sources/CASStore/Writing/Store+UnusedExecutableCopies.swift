extension Store {
    /// Deletes the executable copies of objects to which no tree links.
    ///
    /// An executable copy is a copy of what the store has, and can be made again. A process that has just looked at
    /// it and is about to link to it then misses it, and MUST begin again. The executable copy of an object that may
    /// be damaged stays: a repair makes the object from it.
    /// - Parameter lease: the caller's; what is being deleted goes when the lease ends.
    package func removeUnusedExecutableCopies(
        of addresses: some Sequence<ObjectID>, lease: borrowing Lease
    ) throws(StoreError) {
        for address in addresses {
            guard let executableCopy = try objects.status(address, executable: true),
                executableCopy.kind == .regular, executableCopy.linkCount == 1,
                try objects.hasShard(of: address),
                try canSpareExecutableCopy(of: address, executableCopy)
            else { continue }
            try removeUnusedExecutableCopy(of: address, lease: lease.name)
        }
    }

    /// Whether an object's own file is there, and sound if a version still names it, and the copy has its size, and
    /// so is not something else.
    private func canSpareExecutableCopy(
        of address: ObjectID, _ executableCopy: FileStatus
    ) throws(StoreError) -> Bool {
        let known = try reading { (index) throws(StoreError) in try index.object(address) }
        guard let known, let own = try objects.status(address), own.kind == .regular,
            own.byteCount == known.byteCount, executableCopy.byteCount == known.byteCount
        else { return false }
        guard known.references > 0 else { return true }
        var checker = try ObjectChecker()
        return try objects.isSound(address, checker: &checker)
    }

    private func removeUnusedExecutableCopy(of address: ObjectID, lease: String) throws(StoreError)
    {
        let staging = directories.staging.raw
        try fileSystem.makeDirectoryIfAbsent(staging, lease)
        let own = try fileSystem.open(staging, lease, .directory, mode: 0)
        let aside = "unused" + StoreLayout.executableCopySuffix
        let objects = directories.objects.raw
        let path = StoreLayout.objectPath(address, executable: true)
        do throws(StoreError) {
            try fileSystem.rename(objects, path, to: own.raw, aside)
        } catch {
            guard error.code == .notFound else { throw error }
            return
        }
        // From now on nobody can link to it; a tree may have done so since the check.
        if let executableCopy = try fileSystem.status(own.raw, aside), executableCopy.linkCount > 1
        {
            do throws(StoreError) {
                return try fileSystem.renameNew(own.raw, aside, to: objects, path)
            } catch {
                // Another copy has taken its place: of the two, the one that a tree shows stays.
                guard error.isExisting else { throw error }
                if try self.objects.status(address, executable: true)?.linkCount == 1 {
                    return try fileSystem.rename(own.raw, aside, to: objects, path)
                }
            }
        }
        try fileSystem.removeIfPresent(own.raw, aside)
    }
}
