// The index is derived: made from objects/ and manifests/, and held against manifests/ on opening.

extension Index {
    /// Throws the index file away and makes it again from the objects and manifests.
    func rebuild(because reason: String) throws(StoreError) {
        let seen = (inode: openInode, epoch: lastStamp?.stamp.epoch)
        close()
        try locks.lock(.rebuilding)
        defer { locks.unlock() }
        let root = directories.root.raw
        let now = try fileSystem.status(root, StoreLayout.index)?.inode ?? 0
        // Another process has rebuilt it while we waited for the lock; the file may have got the number of
        // the one before.
        if now != 0, now != seen.inode { return }
        if now != 0, try isMadeSince(seen.epoch) { return }
        // One that may be torn is what a power cut or a kill leaves, and no damage.
        if now != 0, try !mayBeTorn() { damage = reason }
        for suffix in ["", "-journal", "-wal", "-shm"] {
            try fileSystem.removeTree(root, StoreLayout.index + suffix)
        }
        let stamp = try fileSystem.status(root, StoreLayout.stamp)
        if let stamp, stamp.kind != .regular {
            try fileSystem.removeTree(root, StoreLayout.stamp)
        }
        let (objects, versions) = try create()
        options.notice(
            "\(reason); rebuilt it from \(counted(objects, "object")) and "
                + counted(versions, "manifest"))
    }

    /// Whether the index is whole and another one than that of an epoch.
    private func isMadeSince(_ epoch: String?) throws(StoreError) -> Bool {
        guard let epoch, let stamp = try readStamp() else { return false }
        return stamp.epoch != epoch && stamp.settled == stamp.pending
    }

    private func counted(_ number: Int, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }

    /// Makes the index file of a store; the caller holds the lock for rebuilding.
    @discardableResult
    func create() throws(StoreError) -> (objects: Int, versions: Int) {
        epoch = try randomToken()
        // Whoever finds an index that nobody finished sees that it was begun, and does not call it damage.
        try announceFirst()
        let root = directories.root.raw
        try fileSystem.setMode(root, StoreLayout.stamp, 0o644)  // the umask has cut it
        if fileSystem is OwnersFileSystem {
            // SQLite makes files by itself; this one is the owner's.
            _ = try fileSystem.open(root, StoreLayout.index, .updating, mode: 0o644)
        }
        let made = try Connection(path: path, mode: .readWrite, options)
        try fileSystem.setMode(root, StoreLayout.index, 0o644)  // the same
        try made.execute(IndexSchema.settings)
        try made.execute(IndexSchema.cacheWhileMaking)
        let counts = try made.transaction(writing: true) {
            () throws(StoreError) -> (objects: Int, versions: Int) in
            try self.fill(made)
        }
        try made.execute(IndexSchema.cache)
        connection = made
        openInode = try fileSystem.status(directories.root.raw, StoreLayout.index)?.inode ?? 0
        try syncAll(made)
        try writeFirstStamp()
        isReconciled = true
        return counts
    }

    func fill(_ made: Connection) throws(StoreError) -> (objects: Int, versions: Int) {
        try made.execute(IndexSchema.creation)
        try made.statement("INSERT INTO meta VALUES ('epoch', ?), ('generation', 1)")
            .bind(1, epoch).run()
        let objects = ObjectDirectory(fileSystem, directories)
        let insert = try made.statement(
            "INSERT INTO object (address, bytes, state, refs, keepers) VALUES (?, ?, 1, 0, 0)")
        var count = 0
        try objects.forEach { (address, status) throws(StoreError) in
            guard status.kind == .regular else { return }
            try insert.bind(1, address).bind(2, status.byteCount).run()
            count += 1
        }
        try reconcile(made, thoroughly: true)
        return (count, try versions(made).count)
    }

    /// Makes the registered versions agree with the manifest files, in the caller's transaction.
    ///
    /// - Parameter thoroughly: also reads files whose name is known, if they are not the file that
    ///   was read before (inode, size, times).
    /// A version whose manifest is gone keeps its row, and so what it names, while something else speaks of it: its
    /// tree, or the lifecycle. What a retire that was cut has left is spoken of by neither.
    ///
    /// - Returns: the names of manifests that cannot be read, or are not what was registered; the roots
    ///   are in doubt while there are any, and the collector does not run.
    @discardableResult
    func reconcile(
        _ connection: Connection, thoroughly: Bool
    ) throws(StoreError) -> [String] {
        let changedAt = try fileSystem.status(directories.manifests.raw).changedAt
        var rows: [String: (id: Int64, manifest: ObjectID, status: String, isComplete: Bool)] = [:]
        let known = try connection.statement(
            "SELECT name, id, manifest, manifest_status, complete FROM version")
        while try known.step() {
            guard let name = known.text(0), let manifest = known.address(2) else { continue }
            rows[name] = (
                known.integer(1), manifest, known.text(3) ?? "", known.integer(4) == 1
            )
        }
        var damaged: [String] = []
        for (name, status) in try manifestFiles() {
            let identity = Self.identity(status)
            let row = rows.removeValue(forKey: name)
            if let row, row.status == identity || (!thoroughly && row.status.isEmpty) { continue }
            do throws(StoreError) {
                let registration = try readManifest(name)
                if row?.manifest != registration.manifest {
                    if let row {
                        // What waits for its content may be revised; what is whole is what was registered.
                        guard !row.isComplete else {
                            damaged.append(name)
                            options.notice(StoreError.editedManifest(name))
                            continue
                        }
                        options.notice(
                            "manifest \(printable(name)) was changed by another program; "
                                + "castree goes by what it says now")
                        try removeVersion(id: row.id, connection)
                    }
                    try register(registration, connection)
                }
                try noteManifest(name, identity, connection)
            } catch {
                // Retired between the listing and the look at it.
                if error.code == .notFound {
                    if let row { try removeVersion(id: row.id, connection) }
                    continue
                }
                // A manifest that cannot be read keeps the references it had: nothing is lost by
                // waiting for fsck to name it and for someone to repair it.
                guard error.code != .index, error.cause == nil || error.isNotDirectory else {
                    throw error
                }
                damaged.append(name)
                options.notice("manifest \(printable(name)) is not used: \(error.message)")
            }
        }
        for (name, row) in rows
        where try !manifests.isSpokenOf(name, directories, fileSystem) {
            try removeVersion(id: row.id, connection)
        }
        try connection.statement(
            "INSERT INTO meta VALUES ('manifests_changed_at', ?1) "
                + "ON CONFLICT (key) DO UPDATE SET value = ?1"
        ).bind(1, changedAt).run()
        return damaged
    }

    /// Registers a version that only its manifest file knows: its writer died before it could
    /// record it, or somebody put the file there.
    ///
    /// Objects on disk that the index does not vouch for are read; those that match their address
    /// are recorded.
    private func register(
        _ registration: Registration, _ connection: Connection
    ) throws(StoreError) {
        let objects = ObjectDirectory(fileSystem, directories)
        let (_, absent) = try insertVersion(
            registration, connection, acceptsContradictions: true
        ) { (address) throws(StoreError) in try objects.contains(address) }
        guard !absent.isEmpty else { return }
        var checker = try ObjectChecker()
        for position in absent {
            let address = registration.references[Int(position)].address
            if let object = try objects.verified(address, checker: &checker) {
                try setPresent(object, connection)
            }
        }
        _ = try completeVersions(connection)
    }

    /// Records which file the registered version was read from.
    func noteManifest(
        _ name: String, _ identity: String, _ connection: Connection
    ) throws(StoreError) {
        try connection.statement(
            "UPDATE version SET manifest_status = ? WHERE name = ?"
        )
        .bind(1, identity).bind(2, name).run()
    }

    /// Records that the manifests were as the index says at this moment.
    ///
    /// Or leaves it: then the next open finds another time, and looks at all of them.
    func noteManifestsDirectory(_ connection: Connection) throws(StoreError) {
        // The manifest has its name or has lost it by now, and the index must say the same.
        guard let changedAt = try? fileSystem.status(directories.manifests.raw).changedAt else {
            return
        }
        try connection.statement("UPDATE meta SET value = ? WHERE key = 'manifests_changed_at'")
            .bind(1, changedAt).run()
    }

    static func identity(_ status: FileStatus) -> String {
        "\(status.inode):\(status.byteCount):\(status.modifiedAt):\(status.changedAt)"
    }

    /// The manifest files by version name, sorted.
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
}
