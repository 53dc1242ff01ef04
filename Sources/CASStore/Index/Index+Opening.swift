extension Index {
    /// The connection to the file that is at the path now.
    /// - Parameter writing: no other transaction writes meanwhile; otherwise one may.
    func openIfNeeded(writing: Bool) throws(StoreError) -> Connection {
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
        if try mayBeTorn(), try isAbandoned(writing: writing, mayBeTorn) { throw Self.cutShort }
        let opened: Connection
        do throws(StoreError) {
            opened = try Connection(path: path, mode: .readWrite)
            try opened.execute(IndexSchema.settings)
        } catch {
            guard error.saysIndexIsUnreachable else { throw error }
            let reading = try Connection(path: path, mode: .readOnly)
            connection = reading
            return reading
        }
        try checkSchema(opened)
        try checkFile(opened, writing: writing)
        connection = opened
        return opened
    }

    func close() {
        connection = nil
        memoryBasis = nil
        openInode = 0
        isReconciled = false
    }

    /// Whether what was seen of the index is still so while nobody writes: then it is no writer's
    /// unfinished work.
    private func isAbandoned(
        writing: Bool, _ isSeen: () throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        guard !writing else { return try isSeen() }
        _ = try locks.excludeWriters(waiting: true)
        defer { locks.admitWriters() }
        return try isSeen()
    }

    /// What a power cut or a kill in the middle of a change leaves.
    ///
    /// SQLite would believe in a journal that is left, and in a page that was half written.
    private static let cutShort = StoreError(.index, "a change of the index was cut short")

    /// Whether a transaction was announced and not settled.
    ///
    /// A process that is killed leaves the same as a power cut, and nobody can tell which it was.
    func mayBeTorn() throws(StoreError) -> Bool {
        // In this order: who writes announces first, and settles last.
        let journal = try fileSystem.status(directories.root.raw, StoreLayout.index + "-journal")
        guard let stamp = try readStamp() else { return false }
        return stamp.settled != stamp.pending || (journal?.byteCount ?? 0) > 0
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

    // Somebody else wrote to a file that is not as the stamp says, or put another in its place: whatever
    // it says, it may be about another time.
    private func checkFile(_ connection: Connection, writing: Bool) throws(StoreError) {
        guard try problem(of: connection) != nil else { return }
        // Or another process has committed between the looks at the file and at the stamp.
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

    /// What is wrong with the file as a whole; perhaps only because somebody writes just now.
    private func problem(of connection: Connection) throws(StoreError) -> String? {
        let pages = try pragma("page_count", connection)
        let pageSize = try pragma("page_size", connection)
        guard let status = try fileSystem.status(directories.root.raw, StoreLayout.index) else {
            return "the index is absent"
        }
        if status.byteCount != pages * pageSize { return "the index is cut short" }
        guard let stamp = try readStamp() else {
            return "the stamp that the index must agree with is gone"
        }
        if stamp.byteCount == status.byteCount, stamp.changedAt == status.changedAt { return nil }
        return "the index was copied or changed by another program"
    }

    /// What SQLite's integrity check says of the file; `nil` for nothing.
    ///
    /// - Parameter quickly: look at every page, but do not look every row up in every index
    ///   (sqlite.org/pragma.html, quick_check): what reads all rows by their index finds out itself.
    func integrityProblem(
        _ connection: Connection, quickly: Bool = false
    ) throws(StoreError) -> String? {
        let row = try connection.statement(
            quickly ? "PRAGMA quick_check(1)" : "PRAGMA integrity_check(1)")
        defer { row.reset() }
        guard try row.step(), let answer = row.text(0), answer != "ok" else { return nil }
        return answer
    }

    // MARK: The stamp

    func readStamp() throws(StoreError) -> IndexStamp? {
        let status = try fileSystem.status(directories.root.raw, StoreLayout.stamp)
        guard let status, status.kind == .regular, status.byteCount <= 4096 else { return nil }
        // It is written over in place: a look in the middle of that sees no stamp, the next one does.
        for _ in 0..<3 {
            let bytes = try fileSystem.contents(
                directories.root.raw, StoreLayout.stamp, limit: 4096)
            // Every transaction looks; seldom has it changed.
            if let lastStamp, lastStamp.bytes == bytes { return lastStamp.stamp }
            if let stamp = IndexStamp(bytes) {
                lastStamp = (bytes, stamp)
                return stamp
            }
        }
        return nil
    }

    /// Compares the index with the stamp, inside a transaction; returns the generation.
    ///
    /// - Parameter writing: no other transaction writes meanwhile; otherwise one may.
    /// - Throws: `.index` if the index is older than the stamp, or another process was killed while it
    ///   changed it: what this one has open is torn, then.
    func checkStamp(_ connection: Connection, writing: Bool) throws(StoreError) -> Int64 {
        let (generation, stamp) = try stampedGeneration(connection)
        guard stamp.settled != stamp.pending else { return generation }
        if writing { throw Self.cutShort }
        // Whoever writes now cannot commit: the transaction holds SQLite's lock.
        guard try locks.excludeWriters(waiting: false) else { return generation }
        defer { locks.admitWriters() }
        guard let now = try readStamp(), now.settled == now.pending else { throw Self.cutShort }
        return generation
    }

    /// The generation of the index, which agrees with the stamp, and the stamp.
    private func stampedGeneration(
        _ connection: Connection
    ) throws(StoreError) -> (generation: Int64, stamp: IndexStamp) {
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
        return (row.integer(1), stamp)
    }

    /// Where the index stands, inside a transaction.
    func moment(_ connection: Connection) throws(StoreError) -> IndexMoment {
        let row = try connection.statement("SELECT value FROM meta WHERE key = 'generation'")
        defer { row.reset() }
        return IndexMoment(epoch: epoch, generation: try row.step() ? row.integer(0) : 0)
    }

    /// Says that a transaction begins, before it changes a page: from here on a power cut may tear the
    /// index.
    /// - Parameter durably: otherwise the caller makes it durable before the first page is changed.
    func announce(_ generation: Int64, durably: Bool = true) throws(StoreError) {
        try writeStamp(settled: generation - 1, pending: generation, durably: durably)
    }

    /// Counts the transaction in the index.
    func count(_ generation: Int64, _ connection: Connection) throws(StoreError) {
        try connection.statement("UPDATE meta SET value = ? WHERE key = 'generation'")
            .bind(1, generation).run()
    }

    /// Makes what was committed durable.
    func sync(_ connection: Connection) throws(StoreError) {
        guard options.isDurable else { return }
        try connection.sync()
    }

    /// Makes an index durable together with all that it counted: some of that may be the work of a killed
    /// process, which no sync has reached.
    func syncAll(_ connection: Connection) throws(StoreError) {
        guard options.isDurable else { return }
        if try !fileSystem.syncAll(directories.root.raw) { try connection.sync() }
    }

    /// Says that the transaction is durable.
    ///
    /// Not synced: if a power cut loses it, the index is in doubt and made again.
    func settle(_ generation: Int64) throws(StoreError) {
        try writeStamp(settled: generation, pending: generation, durably: false)
    }

    /// Says that the transaction was not made.
    func withdraw(_ generation: Int64, _ connection: Connection) throws(StoreError) {
        guard try stampedGeneration(connection).generation == generation - 1 else { return }
        try sync(connection)
        try settle(generation - 1)
    }

    private func writeStamp(
        settled: Int64, pending: Int64, durably: Bool
    ) throws(StoreError) {
        let status = try fileSystem.status(directories.root.raw, StoreLayout.index)
        let stamp = IndexStamp(
            epoch: epoch, settled: settled, pending: pending,
            byteCount: status?.byteCount ?? 0, changedAt: status?.changedAt ?? 0)
        var bytes = stamp.encoded
        // One size for ever: writing over it needs no new space, even on a full disk.
        bytes.append(contentsOf: repeatElement(10, count: max(0, 256 - bytes.count)))
        let file = try fileSystem.open(
            directories.root.raw, StoreLayout.stamp, .updating, mode: 0o644)
        try fileSystem.write(file.raw, bytes)
        if durably, options.isDurable { try fileSystem.sync(file.raw) }
    }

    /// Says that an index is being made, before there is a file of it.
    func announceFirst() throws(StoreError) {
        try writeStamp(settled: 0, pending: 1, durably: true)
        if options.isDurable { try fileSystem.sync(directories.root.raw) }
    }

    /// Writes the stamp of an index that was just made and is durable.
    func writeFirstStamp() throws(StoreError) {
        try writeStamp(settled: 1, pending: 1, durably: true)
        // Its entry, and that of the index.
        if options.isDurable { try fileSystem.sync(directories.root.raw) }
    }
}

// MARK: The index in memory

extension Index {
    /// What an index in memory was made from, and what was in the way of the file.
    struct MemoryBasis: Equatable {
        var index, stamp: FileStatus?
        var manifests: FileStatus
    }

    /// What the disk shows now.
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
        _ = try made.transaction(writing: true) { () throws(StoreError) in try self.fill(made) }
        connection = made
        memoryBasis = basis
        isReconciled = true
    }
}
