// Fills the derived index from objects/ and manifests/, and compares it with manifests/.

extension IndexTransaction {
    func fill() throws(StoreError) -> (objects: Int, versions: Int) {
        try connection.execute(IndexSchema.creation)
        try statement("INSERT INTO meta VALUES ('epoch', ?), ('generation', 1)")
            .bind(1, index.epoch).run()
        let objects = ObjectDirectory(fileSystem: fileSystem, directories: directories)
        let insert = try statement(
            "INSERT INTO object (address, bytes, state, refs, keepers) VALUES (?, ?, 1, 0, 0)")
        var count = 0
        for shard in try objects.shards() {
            for (address, status) in try objects.list(shard: shard).objects
            where status.kind == .regular {
                try insert.bind(1, address).bind(2, status.byteCount).run()
                count += 1
            }
        }
        try reconcile(thoroughly: true)
        return (count, try versions().count)
    }

    /// Makes the registered versions agree with the manifest files, in the caller's transaction.
    ///
    /// A version whose manifest is gone keeps its row, and thus its objects, while its tree or the lifecycle mentions
    /// it. Neither mentions what an interrupted retirement left.
    /// - Parameter thoroughly: also reads a file of a known name if it has another inode, size or time than before.
    /// - Returns: the names of manifests that cannot be read, or are not what was registered; the roots are in doubt
    ///   while there are any, and the collector does not run.
    @discardableResult
    func reconcile(thoroughly: Bool) throws(StoreError) -> [String] {
        let changedAt = try fileSystem.status(directories.manifests.raw).changedAt
        var rows: [String: (id: Int64, manifest: ObjectID, status: String, isComplete: Bool)] = [:]
        let known = try statement(
            "SELECT name, id, manifest, manifest_status, complete FROM version")
        while try known.step() {
            guard let name = known.text(0), let manifest = known.address(2) else { continue }
            rows[name] = (
                known.integer(1), manifest, known.text(3) ?? "", known.integer(4) == 1
            )
        }
        var damaged: [String] = []
        var isUnread = false
        for (name, status) in try index.manifestFiles() {
            let identity = Index.identity(status)
            let row = rows.removeValue(forKey: name)
            if let row, row.status == identity || (!thoroughly && row.status.isEmpty) { continue }
            var isClosed = true
            do throws(StoreError) {
                let registration = try index.readManifest(name)
                isClosed = false
                if row?.manifest != registration.manifest {
                    if let row {
                        // An incomplete version may be revised; a complete one is as it was registered.
                        guard !row.isComplete else {
                            damaged.append(name)
                            index.options.notice(StoreError.editedManifest(name))
                            continue
                        }
                        index.options.notice(
                            "manifest \(printable(name)) was changed by another program; "
                                + "castree goes by what it says now")
                        try removeVersion(id: row.id)
                    }
                    try register(registration)
                }
                try noteManifest(name, identity)
            } catch {
                // Retired between the listing and this look.
                if error.code == .notFound {
                    if let row { try removeVersion(id: row.id) }
                    continue
                }
                // An unreadable manifest keeps its references: nothing is lost by waiting until fsck names it and it
                // is repaired. A file that is only missing permissions and was never read may be the one that is shown.
                let isUnreadNow =
                    error.isUnreadable || row != nil && isClosed && error.isOfOneName
                let isDamaged = error.cause == nil || error.isNotDirectory || isUnreadNow
                guard error.code != .index, isDamaged else { throw error }
                isUnread = isUnread || isUnreadNow
                damaged.append(name)
                index.options.notice("manifest \(printable(name)) is not used: \(error.message)")
            }
        }
        for (name, row) in rows
        where try !index.manifests.isSpokenOf(name, directories, fileSystem) {
            try removeVersion(id: row.id)
        }
        // What is unreadable now may become readable.
        try setMeta("manifests_changed_at", isUnread ? -1 : changedAt)
        _ = try completeVersions()
        return damaged
    }

    /// Registers a version known only from its manifest file, whose writer died, or which was copied there.
    ///
    /// Objects on disk that the index does not prove are read; those that match their address are recorded.
    private func register(_ registration: Registration) throws(StoreError) {
        let objects = ObjectDirectory(fileSystem: fileSystem, directories: directories)
        let absent = try insertVersion(
            registration, acceptsContradictions: true
        ) { (address) throws(StoreError) in try objects.contains(address) }
        guard !absent.isEmpty else { return }
        var checker = try ObjectChecker()
        for position in absent {
            let address = registration.references[Int(position)].address
            if let object = try objects.verified(address, checker: &checker) {
                try setPresent(object)
            }
        }
    }

    /// The versions whose manifest file is not, or no longer, the registered one.
    func touchedManifests() throws(StoreError) -> [String] {
        var rows: [String: String] = [:]
        let known = try statement("SELECT name, manifest_status FROM version")
        while try known.step() {
            if let name = known.text(0) { rows[name] = known.text(1) ?? "" }
        }
        let files = try index.manifestFiles()
        return files.filter { file in
            rows[file.name].map { $0 != Index.identity(file.status) } ?? false
        }.map(\.name)
    }

    func noteManifest(_ name: String, _ identity: String) throws(StoreError) {
        try statement(
            "UPDATE version SET manifest_status = ? WHERE name = ?"
        )
        .bind(1, identity).bind(2, name).run()
    }

    /// Records that the manifests agree with the index now; if it cannot, the next open reads all of them.
    func noteManifestsDirectory() throws(StoreError) {
        // This must not fail: the manifest has its name or has lost it, and the index must say so.
        guard let changedAt = try? fileSystem.status(directories.manifests.raw).changedAt else {
            return
        }
        try statement("UPDATE meta SET value = ? WHERE key = 'manifests_changed_at'")
            .bind(1, changedAt).run()
    }
}
