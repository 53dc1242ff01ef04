/// A file of the store that has the bytes of an object which is lost in its own place.
package struct ObjectCopy: Sendable, Hashable {
    /// Whose bytes they are.
    package var address: ObjectID
    /// Where the file stands, inside the store.
    package var path: String
}

/// Looks for the bytes of lost objects wherever in a store they may be: executable copies, trees of every kind,
/// quarantine, what is staged, and the files that stand in place of the lost ones.
///
/// What a file is called decides nothing: it is a copy if its bytes hash to the address. Only files of a size that
/// is looked for are read.
struct CopySearch: ~Copyable {
    private let store: Store
    private let wanted: Set<ObjectID>
    private let sizes: Set<Int64>
    private var checker: ObjectChecker
    /// Files that were read: trees show one under many names.
    private var seen: Set<FileID> = []
    private var found: [ObjectID: ObjectCopy] = [:]

    private struct FileID: Hashable {
        var device: UInt64
        var inode: UInt64
    }

    /// - Parameters:
    ///   - wanted: the addresses.
    ///   - sizes: the sizes that they may have.
    init(_ store: Store, _ wanted: Set<ObjectID>, sizes: Set<Int64>) throws(StoreError) {
        self.store = store
        self.wanted = wanted
        self.sizes = sizes
        checker = try ObjectChecker()
    }

    /// One copy of each object of which there is any.
    mutating func run() throws(StoreError) -> [ObjectCopy] {
        try lookAtObjects()
        for name in [StoreLayout.versions, StoreLayout.quarantine, StoreLayout.staging] {
            let directory = try fileSystem.open(
                store.directories.root.raw, name, .directory, mode: 0)
            try look(into: directory.raw, name)
        }
        return found.values.sorted { $0.address < $1.address }
    }

    private var fileSystem: any FileSystem { store.fileSystem }
    private var isDone: Bool { found.count == wanted.count }

    /// The executable copies of the wanted, and what stands in their own places: it may be another's.
    private mutating func lookAtObjects() throws(StoreError) {
        // Something else may stand in place of the shard; nothing is read through a link.
        for address in wanted where try store.objects.hasShard(of: address) {
            for isExecutable in [true, false] {
                let path = StoreLayout.objectPath(address, executable: isExecutable)
                guard let status = try fileSystem.status(store.directories.objects.raw, path)
                else { continue }
                try look(
                    at: path, status, in: store.directories.objects.raw,
                    "\(StoreLayout.objects)/\(path)")
            }
        }
    }

    private mutating func look(into directory: Int32, _ path: String) throws(StoreError) {
        for name in try fileSystem.names(in: directory).sorted() where !isDone {
            try store.checkInterruption()
            guard let status = try fileSystem.status(directory, name) else { continue }
            let inner = "\(path)/\(name)"
            guard status.kind == .directory else {
                try look(at: name, status, in: directory, inner)
                continue
            }
            guard let opened = try opened(directory, name, .directory) else { continue }
            try look(into: opened.raw, inner)
        }
    }

    private mutating func look(
        at name: String, _ status: FileStatus, in directory: Int32, _ path: String
    ) throws(StoreError) {
        guard status.kind == .regular, sizes.contains(status.byteCount),
            seen.insert(FileID(device: status.device, inode: status.inode)).inserted,
            let file = try opened(directory, name, .reading)
        else { return }
        let address: ObjectID
        do throws(StoreError) {
            address = try checker.hash(file.raw, fileSystem).address
        } catch {
            // What cannot be read is no copy.
            guard error.code == .io else { throw error }
            return
        }
        guard wanted.contains(address), found[address] == nil else { return }
        found[address] = ObjectCopy(address: address, path: path)
    }

    /// `nil` for what is gone, or may not be read, which is no copy.
    private func opened(
        _ directory: Int32, _ name: String, _ access: Access
    ) throws(StoreError) -> Descriptor? {
        do throws(StoreError) {
            return try fileSystem.openIfPresent(directory, name, access)
        } catch {
            guard error.code == .permission || error.isNotDirectory else { throw error }
            return nil
        }
    }
}

extension Store {
    /// Finds a copy of each lost object of which there is any in the store.
    ///
    /// Reads the files of their sizes, wherever they stand; nothing is changed.
    package func findCopies(of lost: [Reference]) throws(StoreError) -> [ObjectCopy] {
        guard !lost.isEmpty else { return [] }
        var search = try CopySearch(
            self, Set(lost.map(\.address)), sizes: Set(lost.map(\.byteCount)))
        return try search.run()
    }
}
