import CASStore
import Storage
import VersionTree

/// Where packs and twins of an origin are made: the directory for such work that the origin has, or else one of the store for
/// each origin, whose deliveries decide what is of use.
struct PackingHome {
    private let versions: VersionStore?
    private let storage: any ObjectStorage
    private let options: PublisherOptions
    var fileSystem: any FileSystem {
        if let work = storage.work { return work.fileSystem }
        return versions.map { UnsharedFileSystem(base: $0.store.fileSystem) } ?? POSIXFileSystem()
    }
    /// Whose disk it is, and what makes room there: for people.
    var disk: (path: String, remedy: String) {
        if let work = storage.work {
            return (printable(work.place), "castree prune deletes what no channel offers")
        }
        return (printable(versions?.store.path ?? ""), "castree gc deletes what no version has")
    }

    init(_ versions: VersionStore?, _ storage: any ObjectStorage, _ options: PublisherOptions) {
        self.versions = versions
        self.storage = storage
        self.options = options
    }

    /// Opens the place, and makes it if it is not there.
    /// - Throws: `.io` if something else stands there; `.readOnly`, `.permission`, `.outOfSpace`, `.interrupted`.
    func openPlace() throws(StoreError) -> PackingPlace {
        if let work = storage.work {
            return try PackingPlace(
                work.open(), PackingPlace.Name(path: work.name, owner: "the origin"),
                work.fileSystem, isInterrupted: options.isInterrupted)
        }
        let versions = try store
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

    private var store: VersionStore {
        get throws(StoreError) {
            if let versions { return versions }
            throw StoreError(
                .noStore,
                "what the channels offer is compressed for its clients in a store: castree init makes one"
            )
        }
    }

    func makeDirectory() throws(StoreError) -> Descriptor {
        if let work = storage.work { return try work.open() }
        let versions = try store
        let root = versions.store.directories.root.raw
        let path = try directoryPath()
        try fileSystem.makeDirectoryIfAbsent(root, StoreLayout.packing)
        // A link there would lead out of the store.
        _ = try fileSystem.open(root, StoreLayout.packing, .directory, mode: 0)
        try fileSystem.makeDirectoryIfAbsent(root, path)
        return try fileSystem.open(root, path, .directory, mode: 0)
    }

    /// What the deliveries of the origin were made from; `nil` if nothing says it.
    func record() throws(StoreError) -> PackingRecord? {
        let fileSystem = fileSystem
        if let work = storage.work {
            return try fileSystem.cached { () throws(StoreError) -> PackingRecord? in
                guard let directory = try work.openIfPresent() else { return nil }
                return try PackingRecord.read(directory.raw, fileSystem)
            }
        }
        guard let root = versions?.store.directories.root.raw else { return nil }
        let path = try directoryPath()
        return try fileSystem.cached { () throws(StoreError) -> PackingRecord? in
            guard let directory = try fileSystem.openIfPresent(root, path, .directory) else {
                return nil
            }
            return try PackingRecord.read(directory.raw, fileSystem)
        }
    }

    private func directoryPath() throws(StoreError) -> String {
        StoreLayout.packingPath(try ObjectID(of: Array(storage.place.utf8)))
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
