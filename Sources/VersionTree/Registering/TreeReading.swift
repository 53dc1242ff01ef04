import CASStore

/// A file that a tree shows, and the address it represents.
struct ShownFile: Sendable {
    var path: TreePath
    var byteCount: Int64
    var isExecutable: Bool
    var address: ObjectID
}

/// Reads what a tree shows, for a version whose manifest is lost.
///
/// A file that is the inode of an object represents that object, whatever has been written into it since; any other
/// represents its bytes.
struct TreeReading {
    let versions: VersionStore
    /// Whether a file that is an object's inode counts as that object without a look at its bytes.
    var trustsLinks = false

    private var fileSystem: any FileSystem { versions.fileSystem }
    private var store: Store { versions.store }

    private struct Found {
        /// The names on the way, each terminated by 0.
        var names: [[CChar]]
        var status: FileStatus

        /// `nil` if no manifest may hold it: only a stranger can have put a file there.
        var path: TreePath? {
            guard names.allSatisfy({ RawName.isText($0) }) else { return nil }
            // The reason does not matter.
            return try? TreePath(names.map(RawName.text(of:)).joined(separator: "/"))
        }
    }

    /// What a tree shows.
    struct Contents {
        /// The files under paths that a manifest may hold.
        var files: [ShownFile] = []
        /// What the other files contain, because there may be no better copy of it.
        var others: [Reference] = []
        var isEmpty: Bool { files.isEmpty && others.isEmpty }

        /// All of that together, without empty content.
        var references: [Reference] {
            files.filter { $0.byteCount > 0 }.map {
                Reference(address: $0.address, byteCount: $0.byteCount)
            } + others
        }
        var addresses: Set<ObjectID> { Set(references.map(\.address)) }
    }

    /// The regular files of a tree in `versions/`; passes over everything else there.
    func contents(of name: String) throws(StoreError) -> Contents {
        try contents(of: Array(name.utf8CString))
    }

    /// - Parameter name: terminated by 0; it need not be text.
    func contents(of name: [CChar]) throws(StoreError) -> Contents {
        let parent = versions.directories.versions.raw
        guard let root = try fileSystem.openIfPresent(parent, name, .directory) else {
            return Contents()
        }
        var found: [Found] = []
        try walk(root.raw, [], &found)
        let objects = try objects(of: found)
        var checker = try ObjectChecker()
        var contents = Contents()
        for file in found {
            try store.checkInterruption()
            guard let path = file.path else {
                guard file.status.byteCount > 0, let opened = try opened(root.raw, file.names)
                else { continue }
                let hash = try checker.hash(opened.raw, fileSystem)
                contents.others.append(
                    Reference(address: hash.address, byteCount: hash.byteCount))
                continue
            }
            var shown = ShownFile(
                path: path, byteCount: file.status.byteCount,
                isExecutable: file.status.mode & 0o111 != 0, address: .zero)
            let names = objects[file.status.inode] ?? []
            if trustsLinks, let name = names.first {
                shown.address = name
            } else {
                guard let opened = try opened(root.raw, file.names) else { continue }
                let hash = try checker.hash(opened.raw, fileSystem)
                let isRight = names.contains(hash.address) || names.count != 1
                shown.address = isRight ? hash.address : names[0]
                if isRight {
                    shown.byteCount = hash.byteCount
                } else if let known = try store.sizes(of: [names[0]]).first {
                    // What was written into it does not count as its size.
                    shown.byteCount = known.byteCount
                }
            }
            contents.files.append(shown)
        }
        return contents
    }

    private func opened(_ root: Int32, _ names: [[CChar]]) throws(StoreError) -> Descriptor? {
        do throws(StoreError) {
            return try fileSystem.openBeneath(root, names: names, .reading)
        } catch {
            // Gone meanwhile, or unreadable: it shows nothing.
            guard error.code == .notFound || error.code == .permission || error.isNotDirectory
            else { throw error }
            return nil
        }
    }

    private func walk(
        _ directory: Int32, _ path: [[CChar]], _ found: inout [Found]
    ) throws(StoreError) {
        var inner: [[CChar]] = []
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
        for name in inner {
            guard let opened = try fileSystem.openIfPresent(directory, name, .directory) else {
                continue
            }
            try walk(opened.raw, path + [name], &found)
        }
    }

    /// The objects that have the inodes of the files.
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
