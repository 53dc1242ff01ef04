import CASStore

/// A file that a tree shows, and the address that it stands for.
struct ShownFile: Sendable {
    var path: TreePath
    var byteCount: Int64
    var isExecutable: Bool
    var address: ObjectID
}

/// Reads what a tree shows, for a version whose manifest is lost.
///
/// A file that is the inode of an object stands for that object, whatever has been written into it since; any other
/// stands for its bytes.
struct TreeReading {
    let versions: VersionStore
    /// Whether a file that is an object's inode is taken for that without a look at its bytes.
    var trustsLinks = false

    private var fileSystem: any FileSystem { versions.fileSystem }
    private var store: Store { versions.store }

    private typealias Found = (path: String, status: FileStatus)

    /// The regular files of a tree of `versions/`; what else stands there is passed over.
    func files(of name: String) throws(StoreError) -> [ShownFile] {
        let parent = versions.directories.versions.raw
        guard let root = try fileSystem.openIfPresent(parent, name, .directory) else { return [] }
        var found: [Found] = []
        try walk(root.raw, "", &found)
        let objects = try objects(of: found)
        var checker = try ObjectChecker()
        var files: [ShownFile] = []
        for file in found {
            try store.checkInterruption()
            // Only a stranger can have put a file there whose name is no path.
            guard let path = try? TreePath(file.path) else { continue }
            var shown = ShownFile(
                path: path, byteCount: file.status.byteCount,
                isExecutable: file.status.mode & 0o111 != 0, address: .zero)
            let names = objects[file.status.inode] ?? []
            if trustsLinks, let name = names.first {
                shown.address = name
            } else {
                guard let opened = try opened(root.raw, file.path) else { continue }
                let hash = try checker.hash(opened.raw, fileSystem)
                let isRight = names.contains(hash.address) || names.count != 1
                shown.address = isRight ? hash.address : names[0]
                if isRight {
                    shown.byteCount = hash.byteCount
                } else if let known = try store.sizes(of: [names[0]]).first {
                    // What was written into it is not its size.
                    shown.byteCount = known.byteCount
                }
            }
            files.append(shown)
        }
        return files
    }

    private func opened(_ root: Int32, _ path: String) throws(StoreError) -> Descriptor? {
        do throws(StoreError) {
            return try fileSystem.openBeneath(root, path, .reading)
        } catch {
            // Gone meanwhile, or not to be read: it shows nothing.
            guard error.code == .notFound || error.code == .permission || error.isNotDirectory
            else { throw error }
            return nil
        }
    }

    private func walk(
        _ directory: Int32, _ prefix: String, _ found: inout [Found]
    ) throws(StoreError) {
        var inner: [String] = []
        try fileSystem.list(directory) { (entry, _) throws(StoreError) in
            guard let status = try fileSystem.status(directory, entry) else { return true }
            let name = String(cString: entry)
            switch status.kind {
            case .regular: found.append((prefix + name, status))
            case .directory: inner.append(name)
            default: break
            }
            return true
        }
        for name in inner {
            guard let opened = try fileSystem.openIfPresent(directory, name, .directory) else {
                continue
            }
            try walk(opened.raw, prefix + name + "/", &found)
        }
    }

    /// Which objects have the inodes of the files.
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
