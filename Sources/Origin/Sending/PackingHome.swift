import CASStore
import HotPush
import Storage
import VersionTree

/// Where an origin's packs and deflated copies are made: in its own directory, or in one of the store for each origin.
///
/// The origin's deliveries decide what stays there.
struct PackingHome {
    let versions: VersionStore?
    let storage: any ObjectStorage
    let options: PublisherOptions

    var fileSystem: any FileSystem {
        if let work = storage.work { return work.fileSystem }
        return versions.map { UnsharedFileSystem(base: $0.store.fileSystem) } ?? POSIXFileSystem()
    }
    /// The disk and what frees space there, for people.
    var disk: (path: String, remedy: String) {
        if let work = storage.work {
            return (printable(work.place), "castree prune deletes files that no channel offers")
        }
        return (
            printable(versions?.store.path ?? ""), "castree gc deletes objects that no version has"
        )
    }

    /// - Throws: `.io` if something else is there; `.noStore`; `.readOnly`, `.permission`, `.outOfSpace`,
    ///   `.interrupted`.
    func openPlace() throws(StoreError) -> PackingPlace {
        if let work = storage.work {
            return try PackingPlace(
                work.open(), PackingPlace.Name(path: work.name, owner: "the origin"),
                work.fileSystem, isInterrupted: options.isInterrupted)
        }
        do throws(StoreError) {
            return try PackingPlace(
                makeDirectory(), PackingPlace.Name(path: try directoryPath(), owner: "the store"),
                fileSystem, isInterrupted: options.isInterrupted)
        } catch {
            guard error.code == .io, let versions else { throw error }
            let place = "\(versions.store.path)/\(StoreLayout.packing)"
            throw StoreError(
                .io,
                "packs cannot be made in \(printable(place)) (\(error.message)): delete it: it is only a cache",
                cause: error.cause)
        }
    }

    func makeDirectory() throws(StoreError) -> Descriptor {
        if let work = storage.work { return try work.open() }
        guard let versions else {
            throw StoreError(
                .noStore,
                "offered files are compressed in a store: castree init creates one"
            )
        }
        let root = versions.store.directories.root.raw
        let path = try directoryPath()
        try fileSystem.makeDirectoryIfAbsent(root, StoreLayout.packing)
        // A link there would lead out of the store.
        _ = try fileSystem.open(root, StoreLayout.packing, .directory, mode: 0)
        try fileSystem.makeDirectoryIfAbsent(root, path)
        return try fileSystem.open(root, path, .directory, mode: 0)
    }

    private func openIfPresent() throws(StoreError) -> Descriptor? {
        if let work = storage.work { return try work.openIfPresent() }
        guard let root = versions?.store.directories.root.raw else { return nil }
        return try fileSystem.openIfPresent(root, directoryPath(), .directory)
    }

    /// What the origin's deliveries were made from; `nil` if unknown.
    func record() throws(StoreError) -> PackingRecord? {
        guard let directory = try allowing(\.isOfCache, try openIfPresent()) else { return nil }
        return try PackingRecord.read(directory.raw, fileSystem)
    }

    private func directoryPath() throws(StoreError) -> String {
        StoreLayout.packingPath(try ObjectID(of: Array(storage.place.utf8)))
    }

    /// Fetches objects of the origin into a place, and leaves out unavailable ones.
    /// - Parameter what: what they are, for people.
    /// - Returns: a directory laid out as `objects/` of an origin; `nil` if there was nothing to fetch.
    func fetch(
        _ objects: [SizedKey], into place: PackingPlace, saying what: String
    ) throws(StoreError) -> OpenedDirectory? {
        guard !objects.isEmpty else { return nil }
        if !storage.isOnDisk {
            options.notice(
                "fetching \(counted(objects.count, "object")), \(sizeText(objects.byteCount)): \(what)"
            )
        }
        let (storage, options, fileSystem) = (storage, options, place.fileSystem)
        let name = OriginLayout.objects
        try fileSystem.makeDirectoryIfAbsent(place.work.raw, name, mode: 0o755)
        guard let directory = try OpenedDirectory.open(place.work.raw, name, fileSystem) else {
            return nil
        }
        try storage.inParallel(objects.count) { (index) throws(StoreError) in
            if options.isInterrupted() { throw .publishingInterrupted }
            let path = StoreLayout.objectPath(objects[index].key.address)
            try fileSystem.makeDirectoryIfAbsent(directory.raw, String(path.prefix(2)))
            _ = try storage.download(objects[index], to: directory.raw, path, fileSystem)
        }
        return directory
    }
}

extension ObjectStorage {
    /// Writes a file to a disk, and compares it with its address.
    /// - Returns: whether it exists now; otherwise the origin does not have it, or has other bytes.
    func download(
        _ wanted: SizedKey, to directory: Int32, _ path: String, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Bool {
        let file = try fileSystem.open(directory, path, .creating, mode: 0o644)
        let found = try allowing(
            ReleaseFiles.isHarmless,
            try address(of: wanted.key.path, limit: wanted.byteCount) {
                (piece) throws(StoreError) in try fileSystem.write(file.raw, piece)
            })
        if found == wanted.key.address { return true }
        try fileSystem.remove(directory, path, directory: false)
        return false
    }
}

/// Creates files and directories that only their owner may write, whatever the umask.
///
/// In an origin's directory, the umask lets a group publish together; a store has one owner.
struct UnsharedFileSystem: FileSystemWrapper {
    let base: any FileSystem

    func open(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
    ) throws(StoreError) -> Descriptor {
        // A file opened for updating is a lock, which anybody who can read it could hold.
        let withheld: UInt32 = access == .updating ? 0o077 : 0o022
        return try base.open(directory, path, access, mode: mode & ~withheld)
    }

    func makeDirectory(
        _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32
    ) throws(StoreError) {
        try base.makeDirectory(directory, path, mode: mode & ~0o022)
    }
}
