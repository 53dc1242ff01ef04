/// Executable copies that become durable together: stage all, sync once, rename all.
///
/// The executable copy of an object holds the same bytes in a file of mode 0555, so that one inode never serves two
/// modes. It is a reflink if the file system has them, else a copy.
package struct ExecutableCopyBatch: Sendable {
    private let store: Store
    private let lease: String
    package private(set) var staged: Set<ObjectID> = []

    package init(_ store: Store, lease: borrowing Lease) {
        self.store = store
        self.lease = lease.name
    }

    private func stagedName(_ address: ObjectID) -> String {
        address.description + StoreLayout.executableCopySuffix
    }

    /// Stages the executable copy of an object, unless it exists.
    ///
    /// The object itself may be staged by the same lease. The caller makes the copy durable before ``publish()``.
    package mutating func stage(_ address: ObjectID) throws(StoreError) {
        guard !staged.contains(address), try !stands(address) else { return }
        let fileSystem = store.fileSystem
        let staging = store.directories.staging.raw
        try fileSystem.makeDirectoryIfAbsent(staging, lease)
        let directory = try fileSystem.open(staging, lease, .directory, mode: 0)
        try fileSystem.removeIfPresent(directory.raw, stagedName(address))
        if let own = try fileSystem.openIfPresent(directory.raw, address.description, .reading) {
            _ = try store.copy(
                own.raw, of: address, to: directory.raw, stagedName(address), mode: 0o555,
                allowingReflink: true)
        } else {
            _ = try store.copyObject(
                address, to: directory.raw, stagedName(address), mode: 0o555,
                allowingReflink: true)
        }
        staged.insert(address)
    }

    // A file of another size is no executable copy; one that was touched is read.
    private func stands(_ address: ObjectID) throws(StoreError) -> Bool {
        guard let executableCopy = try store.objects.status(address, executable: true),
            executableCopy.kind == .regular
        else { return false }
        guard let object = try store.objects.status(address) else { return true }
        return try store.objects.isRight(
            address, executableCopy, byteCount: object.byteCount, executable: true)
    }

    /// Gives the staged executable copies their names; the caller makes the entries durable.
    package func publish() throws(StoreError) {
        guard !staged.isEmpty else { return }
        let directory = try store.fileSystem.open(
            store.directories.staging.raw, lease, .directory, mode: 0)
        for address in staged {
            try store.objects.makeShard(of: address)
            do throws(StoreError) {
                try publish(address, from: directory.raw)
            } catch {
                // Published before: the caller repeats its work.
                guard error.code == .notFound, try stands(address) else { throw error }
            }
        }
    }

    /// An existing executable copy stays: other trees may link to it.
    private func publish(_ address: ObjectID, from directory: Int32) throws(StoreError) {
        let (fileSystem, objects) = (store.fileSystem, store.directories.objects.raw)
        let (staged, path) = (
            stagedName(address), StoreLayout.objectPath(address, executable: true)
        )
        store.objects.seal(directory, staged, as: address, at: nanosecondsNow())
        do throws(StoreError) {
            try fileSystem.renameNew(directory, staged, to: objects, path)
        } catch {
            guard error.isExisting else { throw error }
            if try stands(address) {
                try fileSystem.removeIfPresent(directory, staged)
            } else {
                // A file of another size may be the last copy of something else.
                var checker = try ObjectChecker()
                try store.objects.keepUnlessObject(at: path, of: address, checker: &checker)
                try fileSystem.rename(directory, staged, to: objects, path)
            }
        }
    }
}

extension Store {
    /// Deletes the executable copies of objects to which no tree links; they can be made again.
    ///
    /// A process that is just about to link to one misses it and must start over. The executable copy of an object
    /// that may be damaged stays: a repair restores the object from it.
    /// - Parameter lease: the caller's; copies being deleted go when the lease ends.
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

    /// Whether an object's own file exists, intact if a version still names it, and the copy has its size.
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
        let renamed: Void? = try fileSystem.ifPresent { () throws(StoreError) in
            try fileSystem.rename(objects, path, to: own.raw, aside)
        }
        if renamed == nil { return }
        // From now on no tree can link to it; one may have done so since the check.
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
