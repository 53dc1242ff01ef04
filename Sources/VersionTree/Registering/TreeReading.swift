import CASStore

/// Reads what a tree shows, for a version whose manifest is lost.
///
/// A file that is an object's inode represents that object, whatever was written into it since; any other file
/// represents its bytes. Bytes that differ from the object's are recorded as well: it may be there by mistake.
struct TreeReading {
    let versions: VersionStore
    /// Whether a file that is an object's inode counts as that object without reading its bytes.
    var trustsLinks = false

    private var fileSystem: any FileSystem { versions.fileSystem }
    private var store: Store { versions.store }

    private struct Found {
        /// The names on the way, each terminated by 0.
        var names: [[CChar]]
        var status: FileStatus

        /// `nil` if no manifest may hold it, so that castree cannot have put the file there.
        var path: TreePath? {
            guard names.allSatisfy({ RawName.isText($0) }) else { return nil }
            // The reason does not matter.
            return try? TreePath(names.map(RawName.text(of:)).joined(separator: "/"))
        }
    }

    struct Contents {
        /// The files under paths that a manifest may hold.
        var files: [Manifest.Entry] = []
        /// The content of other files, and of files that differ from their object: there may be no better copy.
        var others: [Reference] = []
        /// Errors for unreadable directories and for unreadable files that are no object's inode.
        var unread: [StoreError] = []
        var isEmpty: Bool { files.isEmpty && others.isEmpty && unread.isEmpty }

        /// All of that together, without empty content.
        var references: [Reference] {
            files.filter { $0.byteCount > 0 }.map {
                Reference(address: $0.address, byteCount: $0.byteCount)
            } + others
        }
        var addresses: Set<ObjectID> { Set(references.map(\.address)) }
    }

    /// The regular files of a tree in `versions/`; skips everything else there.
    func contents(of name: String) throws(StoreError) -> Contents {
        try contents(of: Array(name.utf8CString))
    }

    /// - Parameter name: terminated by 0; it need not be text.
    func contents(of name: [CChar]) throws(StoreError) -> Contents {
        let parent = versions.directories.versions.raw
        var contents = Contents()
        let tree = try read(&contents.unread) { () throws(StoreError) in
            try fileSystem.openIfPresent(parent, name, .directory)
        }
        guard let root = tree else { return contents }
        var found: [Found] = []
        try walk(root.raw, [], &found, &contents.unread)
        let objects = try objects(of: found)
        var checker = try ObjectChecker()
        for file in found {
            try store.checkInterruption()
            let names = objects[file.status.inode] ?? []
            var unread: [StoreError] = []
            let isTrusted = trustsLinks && !names.isEmpty && file.path != nil
            var hash: StoredObject?
            if !isTrusted {
                hash = try read(&unread) { () throws(StoreError) in
                    let opened = try fileSystem.openBeneath(
                        root.raw, names: file.names, .reading)
                    return try checker.hash(opened.raw, fileSystem)
                }
                // Gone meanwhile, or its content is unknown.
                if hash == nil, names.isEmpty || unread.isEmpty {
                    contents.unread += unread
                    continue
                }
            }
            let shown = try shown(by: file, hash, names)
            if let hash, hash.address != shown.address, hash.byteCount > 0 {
                contents.others.append(
                    Reference(address: hash.address, byteCount: hash.byteCount))
            }
            if let path = file.path {
                contents.files.append(
                    Manifest.Entry(
                        path: path, address: shown.address, byteCount: shown.byteCount,
                        isExecutable: file.status.mode & 0o111 != 0))
            } else if file.status.byteCount > 0 {
                contents.others.append(shown)
            }
        }
        return contents
    }

    /// - Parameters:
    ///   - hash: of its bytes; `nil` if they are not read or cannot be.
    ///   - names: the objects whose inode it is; not empty if there is no hash.
    private func shown(
        by file: Found, _ hash: StoredObject?, _ names: [ObjectID]
    ) throws(StoreError) -> Reference {
        if let hash, names.contains(hash.address) || names.count != 1 || file.path == nil {
            return Reference(address: hash.address, byteCount: hash.byteCount)
        }
        // Its current size may include what was written into it.
        let known = trustsLinks ? nil : try store.sizes(of: [names[0]]).first?.byteCount
        return Reference(address: names[0], byteCount: known ?? file.status.byteCount)
    }

    /// Returns the result of `body`; `nil` if the file is gone meanwhile or unreadable, which is added to `unread`.
    @discardableResult
    private func read<R: ~Copyable>(
        _ unread: inout [StoreError], _ body: () throws(StoreError) -> R?
    ) throws(StoreError) -> R? {
        do throws(StoreError) {
            return try body()
        } catch {
            if error.code == .notFound || error.isNotDirectory { return nil }
            guard error.code == .permission || error.code == .io else { throw error }
            unread.append(error)
            return nil
        }
    }

    private func walk(
        _ directory: Int32, _ path: [[CChar]], _ found: inout [Found],
        _ unread: inout [StoreError]
    ) throws(StoreError) {
        var inner: [[CChar]] = []
        try read(&unread) { () throws(StoreError) in
            try fileSystem.list(directory) { (entry, _) throws(StoreError) in
                guard let status = try fileSystem.status(directory, entry) else { return true }
                let name = RawName.bytes(of: entry)
                switch status.kind {
                case .regular: found.append(Found(names: path + [name], status: status))
                case .directory: inner.append(name)
                default: break
                }
                return true
            }
        }
        for name in inner {
            let opened = try read(&unread) { () throws(StoreError) in
                try fileSystem.openIfPresent(directory, name, .directory)
            }
            guard let opened else { continue }
            try walk(opened.raw, path + [name], &found, &unread)
        }
    }

    private func objects(of found: [Found]) throws(StoreError) -> [UInt64: [ObjectID]] {
        let device = try fileSystem.status(versions.directories.objects.raw).device
        let inodes = Set(found.lazy.filter { $0.status.device == device }.map(\.status.inode))
        var objects: [UInt64: [ObjectID]] = [:]
        guard !inodes.isEmpty else { return objects }
        for shard in try store.objects.shards() {
            let listing = try store.objects.list(shard: shard)
            for (address, status) in listing.objects + listing.executableCopies
            where inodes.contains(status.inode) {
                objects[status.inode, default: []].append(address)
            }
        }
        return objects
    }
}
