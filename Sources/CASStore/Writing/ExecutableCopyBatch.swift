/// Executable copies that become durable together: stage all, sync once, rename all.
///
/// The executable copy of an object holds the same bytes in a file of mode 0555, so that one inode never serves
/// two modes. It is a reflink if the file system has them, else a copy.
package struct ExecutableCopyBatch: Sendable {
    private let store: Store
    private let lease: String
    /// The objects whose executable copy is staged here.
    package private(set) var staged: Set<ObjectID> = []

    package init(_ store: Store, lease: borrowing Lease) {
        self.store = store
        self.lease = lease.name
    }

    private func stagedName(_ address: ObjectID) -> String {
        address.description + StoreLayout.executableCopySuffix
    }

    /// Stages the executable copy of an object, unless it is there.
    ///
    /// The object itself may be staged by the same lease, not yet published. The caller makes it
    /// durable before ``publish()``.
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

    /// Gives the staged executable copies their names.
    ///
    /// The caller makes the entries durable.
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

    /// An executable copy that is already there stays: somebody else's trees may link to it.
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
