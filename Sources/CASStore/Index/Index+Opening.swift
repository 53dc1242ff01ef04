extension Index {
    /// The connection to the file that is at the path now.
    func openIfNeeded() throws(StoreError) -> Connection {
        let root = directories.root.raw
        guard let status = try fileSystem.status(root, StoreLayout.index) else {
            close()
            throw StoreError(.index, "the index is absent")
        }
        if let connection, status.inode == openInode { return connection }
        close()
        openInode = status.inode
        guard status.kind == .regular, status.byteCount > 0 else {
            throw StoreError(.index, "the index is not a database file")
        }
        let opened: Connection
        do throws(StoreError) {
            opened = try Connection(path: path, mode: .readWrite)
            try opened.execute(IndexSchema.settings(isDurable: options.isDurable))
        } catch {
            guard error.saysIndexIsUnreachable else { throw error }
            let reading = try Connection(path: path, mode: .readOnly)
            connection = reading
            return reading
        }
        try checkSchema(opened)
        try checkFile(opened)
        connection = opened
        return opened
    }

    func close() {
        connection = nil
        openInode = 0
        isReconciled = false
    }

    private func pragma(_ name: String, _ connection: Connection) throws(StoreError) -> Int64 {
        let row = try connection.statement("PRAGMA \(name)")
        defer { row.reset() }
        return try row.step() ? row.integer(0) : 0
    }

    private func checkSchema(_ connection: Connection) throws(StoreError) {
        guard try pragma("application_id", connection) == IndexSchema.applicationID else {
            throw StoreError(.index, "the index is not an index of castree")
        }
        let version = try pragma("user_version", connection)
        if version > IndexSchema.version {
            throw StoreError(
                .unsupportedFormat,
                "the index has schema \(version), this castree knows \(IndexSchema.version); "
                    + "use the newer castree, or delete \(path) to have it rebuilt")
        }
        guard version == IndexSchema.version else {
            throw StoreError(.index, "the index has the older schema \(version)")
        }
    }

    // A file that is not as we left it may be sound (a copied store, a rolled-back transaction) or
    // scribbled on: SQLite reads every page and tells (sqlite.org/pragma.html, integrity_check).
    private func checkFile(_ connection: Connection) throws(StoreError) {
        let status = try fileSystem.status(directories.root.raw, StoreLayout.index)
        let pages = try pragma("page_count", connection)
        let pageSize = try pragma("page_size", connection)
        guard let status, status.byteCount == pages * pageSize else {
            throw StoreError(.index, "the index is cut short")
        }
        if let stamp = try readStamp(), stamp.byteCount == status.byteCount,
            stamp.modifiedAt == status.modifiedAt
        {
            return
        }
        if let problem = try integrityProblem(connection) {
            throw StoreError(.index, "the index is damaged (\(problem))")
        }
    }

    /// What SQLite's integrity check says of the file; `nil` for nothing.
    func integrityProblem(_ connection: Connection) throws(StoreError) -> String? {
        let row = try connection.statement("PRAGMA integrity_check(1)")
        defer { row.reset() }
        guard try row.step(), let answer = row.text(0), answer != "ok" else { return nil }
        return answer
    }

    // MARK: The stamp

    func readStamp() throws(StoreError) -> IndexStamp? {
        do throws(StoreError) {
            return IndexStamp(
                try fileSystem.contents(directories.root.raw, StoreLayout.stamp, limit: 4096))
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    /// Compares the index with the stamp, inside a transaction; returns the generation.
    func checkStamp(_ connection: Connection) throws(StoreError) -> Int64 {
        let row = try connection.statement(
            "SELECT (SELECT value FROM meta WHERE key = 'epoch'), "
                + "(SELECT value FROM meta WHERE key = 'generation')")
        defer { row.reset() }
        guard try row.step(), let epoch = row.text(0), !row.isNull(1) else {
            throw StoreError(.index, "the index has lost its name")
        }
        guard let stamp = try readStamp() else {
            throw StoreError(.index, "the stamp that the index must agree with is gone")
        }
        guard stamp.agrees(epoch: epoch, generation: row.integer(1)) else {
            throw StoreError(.index, "the index is older than the store")
        }
        self.epoch = epoch
        return row.integer(1)
    }

    func announce(_ generation: Int64, _ connection: Connection) throws(StoreError) {
        try connection.statement("UPDATE meta SET value = ? WHERE key = 'generation'")
            .bind(1, generation).run()
        try writeStamp(settled: generation - 1, pending: generation)
    }

    func settle(_ generation: Int64) throws(StoreError) {
        try writeStamp(settled: generation, pending: generation)
    }

    func writeStamp(
        settled: Int64, pending: Int64, sync: Bool = false
    ) throws(StoreError) {
        let status = try fileSystem.status(directories.root.raw, StoreLayout.index)
        let stamp = IndexStamp(
            epoch: epoch, settled: settled, pending: pending,
            byteCount: status?.byteCount ?? 0, modifiedAt: status?.modifiedAt ?? 0)
        var bytes = stamp.encoded
        // One size for ever: writing over it needs no new space, even on a full disk.
        bytes.append(contentsOf: repeatElement(10, count: max(0, 256 - bytes.count)))
        let file = try fileSystem.open(
            directories.root.raw, StoreLayout.stamp, .updating, mode: 0o644)
        try fileSystem.write(file.raw, bytes)
        if sync, options.isDurable {
            try fileSystem.sync(file.raw)
            try fileSystem.sync(directories.root.raw)
        }
    }
}
