/// Executable twins that become durable together: stage all, sync once, rename all.
///
/// The twin of an object holds the same bytes in a file of mode 0555, so that one inode never serves
/// two modes. It is a reflink where the file system has them, else a copy.
package struct TwinBatch: Sendable {
    private let store: Store
    private let lease: String
    /// The objects whose twin is staged here.
    package private(set) var staged: Set<ObjectID> = []

    package init(_ store: Store, lease: borrowing Lease) {
        self.store = store
        self.lease = lease.name
    }

    private func stagedName(_ address: ObjectID) -> String {
        address.description + StoreLayout.twinSuffix
    }

    /// Stages the twin of an object, unless it is there.
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

    // A twin of another size is no twin; `fsck` looks at the bytes of the others.
    private func stands(_ address: ObjectID) throws(StoreError) -> Bool {
        guard let twin = try store.objects.status(address, executable: true),
            twin.kind == .regular
        else { return false }
        guard let object = try store.objects.status(address) else { return true }
        return twin.byteCount == object.byteCount
    }

    /// Gives the staged twins their names.
    ///
    /// The caller makes the entries durable.
    package func publish() throws(StoreError) {
        guard !staged.isEmpty else { return }
        let fileSystem = store.fileSystem
        let directory = try fileSystem.open(
            store.directories.staging.raw, lease, .directory, mode: 0)
        let objects = store.directories.objects.raw
        for address in staged {
            try store.objects.makeShard(of: address)
            do throws(StoreError) {
                try StoreLayout.withObjectPath(address, executable: true) {
                    (path) throws(StoreError) in
                    try fileSystem.rename(directory.raw, stagedName(address), to: objects, path)
                }
            } catch {
                // Published before: the work around it is repeated.
                guard error.code == .notFound, try stands(address) else { throw error }
            }
        }
    }
}
