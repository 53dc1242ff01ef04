// The index is derived: its file can be deleted and made again.

extension Index {
    /// Deletes the index file and makes it again from the objects and manifests.
    func rebuild(because reason: String) throws(StoreError) {
        let seen = (inode: openInode, epoch: lastStamp?.stamp.epoch)
        close()
        try locks.lock(.rebuilding)
        defer { locks.unlock() }
        let root = directories.root.raw
        let now = try fileSystem.status(root, StoreLayout.index)?.inode ?? 0
        // Another process rebuilt it while we waited for the lock, perhaps with the old file's inode number.
        if now != 0, now != seen.inode { return }
        if now != 0, try isMadeSince(seen.epoch) { return }
        // A torn index is what a power cut or a kill leaves; it is not damage.
        if now != 0, try !mayBeTorn() { damage = (reason, isRepaired: false) }
        for name in StoreLayout.indexFiles { try clear(name) }
        let stamp = try fileSystem.status(root, StoreLayout.stamp)
        if let stamp, stamp.kind != .regular { try clear(StoreLayout.stamp) }
        let (objects, versions) = try create()
        damage?.isRepaired = true
        options.notice(
            "\(reason); rebuilt it from \(counted(objects, "object")) and "
                + counted(versions, "manifest"))
    }

    /// Removes a derived file; a directory in its place goes to quarantine with its content.
    private func clear(_ name: String) throws(StoreError) {
        let root = directories.root.raw
        guard try fileSystem.status(root, name)?.kind == .directory else {
            return try fileSystem.removeIfPresent(root, name)
        }
        try fileSystem.removeEmpty(
            root, name, orMoveTo: directories.quarantine.raw, try StoreLayout.aside(name))
    }

    /// Whether the index is whole and not the one that an epoch names.
    private func isMadeSince(_ epoch: String?) throws(StoreError) -> Bool {
        guard let epoch, let stamp = try readStamp() else { return false }
        return stamp.epoch != epoch && stamp.committed == stamp.pending
    }

    /// Creates the index file of a store; the caller holds the lock for rebuilding.
    @discardableResult
    func create() throws(StoreError) -> (objects: Int, versions: Int) {
        epoch = try randomToken()
        // A process that finds an unfinished index sees that it was begun, and does not call it damage.
        try writeFirstStamp(isMade: false)
        let root = directories.root.raw
        try fileSystem.setMode(root, StoreLayout.stamp, 0o644)  // the umask cut it
        // Closed to others from the beginning: they could lock it.
        _ = try fileSystem.open(root, StoreLayout.index, .updating, mode: 0o600)
        try fileSystem.setMode(root, StoreLayout.index, 0o600)  // as above
        let made = try connect(.readWrite)
        try made.execute(IndexSchema.settings)
        try made.execute(IndexSchema.cacheWhileMaking)
        let counts = try made.transaction(writing: true) {
            () throws(StoreError) -> (objects: Int, versions: Int) in
            try IndexTransaction(index: self, connection: made).fill()
        }
        try made.execute(IndexSchema.cache)
        connection = made
        openInode = try fileSystem.status(directories.root.raw, StoreLayout.index)?.inode ?? 0
        try syncAll(made)
        try writeFirstStamp(isMade: true)
        isReconciled = true
        return counts
    }

    static func identity(_ status: FileStatus) -> String {
        "\(status.inode):\(status.byteCount):\(status.modifiedAt):\(status.changedAt)"
    }

    func manifestFiles() throws(StoreError) -> [(name: String, status: FileStatus)] {
        var files: [(name: String, status: FileStatus)] = []
        let directory = directories.manifests.raw
        try fileSystem.list(directory) { (entry, _) throws(StoreError) in
            let file = String(cString: entry)
            guard file.hasSuffix(StoreLayout.manifestSuffix), !file.hasPrefix(".") else {
                return true
            }
            guard let status = try fileSystem.status(directory, entry) else { return true }
            files.append((String(file.dropLast(StoreLayout.manifestSuffix.count)), status))
            return true
        }
        return files.sorted { $0.name < $1.name }
    }

    func readManifest(_ name: String) throws(StoreError) -> Registration {
        let file = try fileSystem.openRegular(
            directories.manifests.raw, StoreLayout.manifest(name), limit: manifests.byteCountMax)
        return try manifests.registration(of: name, from: file, fileSystem)
    }

    // Reading from objects and manifests, for a disk on which the index file cannot be used.

    /// What an index in memory was made from, and the file that could not be used.
    struct MemoryBasis: Equatable {
        var index, stamp: FileStatus?
        var manifests: FileStatus
    }

    func basis() throws(StoreError) -> MemoryBasis {
        let root = directories.root.raw
        return MemoryBasis(
            index: try fileSystem.status(root, StoreLayout.index),
            stamp: try fileSystem.status(root, StoreLayout.stamp),
            manifests: try fileSystem.status(directories.manifests.raw))
    }

    /// Makes an index in memory, for disks that cannot hold one.
    func fillMemory() throws(StoreError) {
        close()
        let basis = try basis()
        epoch = try randomToken()
        let made = try Connection(path: ":memory:", mode: .memory)
        _ = try made.transaction(writing: true) { () throws(StoreError) in
            try IndexTransaction(index: self, connection: made).fill()
        }
        connection = made
        memoryBasis = basis
        isReconciled = true
    }
}
