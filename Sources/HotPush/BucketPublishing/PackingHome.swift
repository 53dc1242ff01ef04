import CASStore
import Storage
import VersionTree

/// Where packs and twins for buckets are made: a directory of the store for each bucket, whose deliveries decide what is of
/// use.
struct PackingHome {
    private let versions: VersionStore
    private let bucket: any ObjectStorage
    private let options: PublisherOptions
    var fileSystem: any FileSystem { UnsharedFileSystem(base: versions.store.fileSystem) }

    init(_ versions: VersionStore, _ bucket: any ObjectStorage, _ options: PublisherOptions) {
        self.versions = versions
        self.bucket = bucket
        self.options = options
    }

    /// Opens the place, and makes it if it is not there.
    /// - Throws: `.io` if something else stands there; `.readOnly`, `.permission`, `.outOfSpace`, `.interrupted`.
    func openPlace() throws(StoreError) -> PackingPlace {
        do throws(StoreError) {
            return try PackingPlace(
                makeDirectory(), PackingPlace.Name(path: try directoryPath(), owner: "the store"),
                fileSystem, isInterrupted: options.isInterrupted)
        } catch {
            guard error.code == .io else { throw error }
            let place = "\(versions.store.path)/\(StoreLayout.packing)"
            throw StoreError(
                .io,
                "packs cannot be made in \(printable(place)) (\(error.message)): delete it, what stands there is only "
                    + "kept to be quicker", cause: error.cause)
        }
    }

    func makeDirectory() throws(StoreError) -> Descriptor {
        let root = versions.store.directories.root.raw
        let path = try directoryPath()
        try fileSystem.makeDirectoryIfAbsent(root, StoreLayout.packing)
        // A link there would lead out of the store.
        _ = try fileSystem.open(root, StoreLayout.packing, .directory, mode: 0)
        try fileSystem.makeDirectoryIfAbsent(root, path)
        return try fileSystem.open(root, path, .directory, mode: 0)
    }

    /// What the deliveries of the bucket were made from; `nil` if nothing says it.
    func record() throws(StoreError) -> PackingRecord? {
        let (fileSystem, root) = (fileSystem, versions.store.directories.root.raw)
        let path = try directoryPath()
        return try fileSystem.cached { () throws(StoreError) -> PackingRecord? in
            guard let directory = try fileSystem.openIfPresent(root, path, .directory) else {
                return nil
            }
            return try PackingRecord.read(directory.raw, fileSystem)
        }
    }

    private func directoryPath() throws(StoreError) -> String {
        StoreLayout.packingPath(try ObjectID(of: Array(bucket.place.utf8)))
    }
}

/// Makes files and directories into which nobody but their owner may write, whatever the umask.
///
/// In an origin that is a directory the umask lets a group publish together; a store has one owner.
struct UnsharedFileSystem: FileSystemWrapper {
    let base: any FileSystem

    func open(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
    ) throws(StoreError) -> Descriptor {
        // What is opened so is locked: whoever can read it can lock it.
        let withheld: UInt32 = access == .updating ? 0o077 : 0o022
        return try base.open(directory, path, access, mode: mode & ~withheld)
    }

    func makeDirectory(
        _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32
    ) throws(StoreError) {
        try base.makeDirectory(directory, path, mode: mode & ~0o022)
    }
}
