extension Index {
    /// The connection to the file that is now at the path.
    /// - Parameter writing: whether this transaction excludes other writers.
    func openIfNeeded(writing: Bool) throws(StoreError) -> Connection {
        let root = directories.root.raw
        guard let status = try fileSystem.status(root, StoreLayout.index) else {
            close()
            throw StoreError(.index, "the index is absent")
        }
        if let connection, status.inode == openInode, status.linkCount < 2 { return connection }
        close()
        openInode = status.inode
        guard status.kind == .regular, status.byteCount > 0 else {
            throw StoreError(.index, "the index is not a database file")
        }
        if try mayBeTorn(), try isAbandoned(writing: writing, mayBeTorn) { throw Self.cutShort }
        let opened: Connection
        do throws(StoreError) {
            opened = try connect(.readWrite)
            try opened.execute(IndexSchema.settings)
        } catch {
            guard error.saysIndexIsUnreachable else { throw error }
            let log = try fileSystem.status(root, StoreLayout.indexLog)
            guard log == nil || log?.kind == .regular else { throw Self.cutShort }
            let reading = try connect(.readOnly)
            connection = reading
            return reading
        }
        try checkSchema(opened)
        try checkFile(opened, writing: writing)
        connection = opened
        return opened
    }

    func connect(_ mode: Connection.Mode) throws(StoreError) -> Connection {
        try Connection(
            path: path, in: directories.root.raw, of: fileSystem, mode: mode, options)
    }

    func close() {
        connection = nil
        memoryBasis = nil
        openInode = 0
        isReconciled = false
    }

    /// Whether an observation of the index still holds while no one writes, and so is not a change in progress.
    private func isAbandoned(
        writing: Bool, _ isSeen: () throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        guard !writing else { return try isSeen() }
        _ = try locks.excludeWriters(waiting: true)
        defer { locks.admitWriters() }
        return try isSeen()
    }

    /// A power cut or a kill interrupted a change; SQLite would trust its leftover journal and half-written page.
    static let cutShort = StoreError(.index, "a change of the index was cut short")

    /// Whether a transaction was announced but not committed, as after a power cut or a kill.
    func mayBeTorn() throws(StoreError) -> Bool {
        // In this order: a writer announces first, and commits last.
        let journal = try fileSystem.status(directories.root.raw, StoreLayout.indexJournal)
        // SQLite opens no database whose journal is, say, a pipe; the rebuild removes the journal.
        if let journal, journal.kind != .regular { return true }
        guard let stamp = try readStamp() else { return false }
        return stamp.committed != stamp.pending || (journal?.byteCount ?? 0) > 0
    }

    private func pragma(_ name: String, _ connection: Connection) throws(StoreError) -> Int64 {
        try connection.statement("PRAGMA \(name)").firstInteger() ?? 0
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

    // If the file disagrees with the stamp, it was written to or replaced from outside and may describe another time.
    private func checkFile(_ connection: Connection, writing: Bool) throws(StoreError) {
        guard try problem(of: connection) != nil else { return }
        // Or another process committed between the looks at the file and at the stamp.
        var found: String?
        let isTorn = try isAbandoned(writing: writing) { () throws(StoreError) in
            found = try self.problem(of: connection)
            return found == nil ? false : try self.mayBeTorn()
        }
        if isTorn { throw Self.cutShort }
        guard let found else { return }
        if let problem = try integrityProblem(connection) {
            throw StoreError(.index, "the index is damaged (\(problem))")
        }
        throw StoreError(.index, found)
    }

    private func problem(of connection: Connection) throws(StoreError) -> String? {
        let pages = try pragma("page_count", connection)
        let pageSize = try pragma("page_size", connection)
        guard let status = try fileSystem.status(directories.root.raw, StoreLayout.index) else {
            return "the index is absent"
        }
        if status.byteCount != pages * pageSize { return "the index is cut short" }
        guard let stamp = try readStamp() else {
            return "the stamp that must match the index is missing"
        }
        // A second name is that of a copy of the store (cp -al): each would trust what the other counts.
        if stamp.byteCount == status.byteCount, stamp.changedAt == status.changedAt,
            status.linkCount < 2
        {
            return nil
        }
        return "the index was copied or changed by another program"
    }

    /// The result of SQLite's integrity check; `nil` if it finds nothing.
    /// - Parameter quickly: skip looking every row up in every index (sqlite.org/pragma.html, quick_check).
    func integrityProblem(
        _ connection: Connection, quickly: Bool = false
    ) throws(StoreError) -> String? {
        let check = quickly ? "PRAGMA quick_check(1)" : "PRAGMA integrity_check(1)"
        let answer = try connection.statement(check).first { $0.text(0) } ?? nil
        return answer == "ok" ? nil : answer
    }
}
