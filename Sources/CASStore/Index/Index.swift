/// The derived index in SQLite: which version names which objects, their sizes, and what nothing names.
///
/// SQL is in this folder; queries that only Usage/ or Checking/ needs are there. Every use is one transaction, given
/// as a closure that cannot suspend. A transaction holds a shared lock on `leases/.index` and first checks whether
/// the file at the path is still the one it has open; a rebuild holds the lock alone, so the file is never replaced
/// under a running transaction. Writers queue on `leases/.writer`.
///
/// `@unchecked Sendable`: `Store` calls it under a mutex only.
package final class Index: @unchecked Sendable {
    let fileSystem: any FileSystem
    let directories: StoreDirectories
    let options: StoreOptions
    let path: String
    let manifests: any ManifestReading

    var connection: Connection?
    /// The inode that `connection` has open; 0 for none.
    var openInode: UInt64 = 0
    var epoch = ""
    /// The state of the disk when the index in memory was made; `nil` while the file can be used.
    var memoryBasis: MemoryBasis?
    var isInMemory: Bool { memoryBasis != nil }
    /// Why the index was rebuilt after this store was opened, if it was damaged or stale.
    var damage: (reason: String, isRepaired: Bool)?
    private var saidUnusable: String?
    /// Whether the manifests have been compared with the index since it was opened.
    var isReconciled = false
    var lastStamp: (bytes: [UInt8], stamp: IndexStamp)?
    let locks: IndexLocks

    init(
        _ fileSystem: any FileSystem, _ directories: StoreDirectories, path: String,
        _ options: StoreOptions, _ manifests: any ManifestReading
    ) {
        self.fileSystem = fileSystem
        self.directories = directories
        self.path = path
        self.options = options
        self.manifests = manifests
        locks = IndexLocks(fileSystem, directories, options)
    }

    // SQLite names its files by the open directory (/proc/self/fd/N), also while it closes.
    deinit { connection = nil }

    /// Reads in one transaction: all queries see one state.
    ///
    /// If the disk is read-only or full, the answer comes from an index in memory, made from the objects and
    /// manifests; it serves until one of them, or the file, changes.
    func read<R>(_ body: (IndexTransaction) throws(StoreError) -> R) throws(StoreError) -> R {
        if let memoryBasis, try self.basis() != memoryBasis { close() }
        do throws(StoreError) {
            return try perform(nil, body)
        } catch {
            let isUnwritable = [.readOnly, .outOfSpace].contains(error.code)
            guard error.saysIndexIsUnreachable || isUnwritable, !isInMemory else { throw error }
            // A check gets here twice.
            if saidUnusable != error.message {
                saidUnusable = error.message
                options.notice(
                    "the index cannot be used here (\(error.message)); reading the manifests instead"
                )
            }
            try fillMemory()
            return try perform(nil, body)
        }
    }

    /// Changes the index in one durable transaction.
    ///
    /// `body` may run again: a damaged index is rebuilt and the work repeated.
    /// - Parameters:
    ///   - rows: the most rows it may change, if known: a small journal is kept in memory.
    ///   - syncsFirst: whether `body`, before its first change, makes durable what it relies on, in one step for the
    ///     whole file system; that covers the announcement of the change, which then needs no sync of its own.
    ///   - syncing: makes the index durable and whatever else belongs to the transaction, perhaps in one step. A
    ///     power cut during it leaves an index that is in doubt, so the order is free.
    func write<R>(
        rows: Int? = nil, syncsFirst: Bool = false,
        _ body: (IndexTransaction) throws(StoreError) -> R,
        syncing: ((IndexTransaction) throws(StoreError) -> Void)? = nil
    ) throws(StoreError) -> R {
        // The disk failed once; it may work now.
        if isInMemory { close() }
        return try perform(Change(rows: rows, syncsFirst: syncsFirst, syncing: syncing), body)
    }

    private struct Change {
        var rows: Int?
        var syncsFirst = false
        var syncing: ((IndexTransaction) throws(StoreError) -> Void)?
    }

    /// - Parameter change: `nil` to read.
    private func perform<R>(
        _ change: Change?, _ body: (IndexTransaction) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        var attempts = 0
        var change = change
        while true {
            do throws(StoreError) {
                if !isInMemory, try needsReconciling() {
                    _ = try attempt(Change()) { (index) throws(StoreError) in
                        try index.reconcile(thoroughly: false)
                    }
                    isReconciled = true
                }
                return try attempt(change, body)
            } catch {
                attempts += 1
                if change != nil, attempts == 1, error.code == .outOfSpace, journalIsOnDisk {
                    // The disk has no space for the journal; memory may have.
                    change?.rows = 0
                    continue
                }
                guard error.saysIndexIsDamaged, !isInMemory, attempts < 3 else { throw error }
                if error.saysIndexIsUnread, attempts == 1 {
                    // A network's or a flaky disk's error passes; a bad sector's stays.
                    close()
                    pause(milliseconds: 400)
                    continue
                }
                try rebuild(because: error.message)
            }
        }
    }

    private func attempt<R>(
        _ change: Change?, _ body: (IndexTransaction) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        if isInMemory, let connection {
            return try connection.transaction(writing: false) { () throws(StoreError) -> R in
                try body(IndexTransaction(index: self, connection: connection))
            }
        }
        try locks.lock(change == nil ? .reading : .writing)
        defer { locks.unlock() }
        let connection = try openIfNeeded(writing: change != nil)
        let transaction = IndexTransaction(index: self, connection: connection)
        guard let change else {
            return try connection.transaction(writing: false) { () throws(StoreError) -> R in
                _ = try self.checkStamp(connection, writing: false)
                return try body(transaction)
            }
        }
        try chooseJournal(rows: change.rows, connection)
        var announced: Int64?
        do throws(StoreError) {
            let result = try connection.transaction(writing: true) { () throws(StoreError) -> R in
                let next = try self.checkStamp(connection, writing: true) + 1
                announced = next
                try self.announce(next, durably: !change.syncsFirst || !fileSystem.canSyncAll)
                let result = try body(transaction)
                try self.count(next, connection)
                return result
            }
            if let syncing = change.syncing {
                try syncing(transaction)
            } else {
                try sync(connection)
            }
            if let announced { try commit(announced) }
            return result
        } catch {
            // Rolled back. If even that is uncertain, the stamp leaves the index in doubt. Report the first error.
            if let announced, connection.isWhole { try? withdraw(announced, connection) }
            // SQLite may have opened the file for reading only, and the disk may take writes later.
            if error.code == .readOnly || error.code == .permission { close() }
            throw error
        }
    }

    private var journalIsOnDisk: Bool { connection?.journalIsOnDisk == true }

    /// Keeps a small journal in memory: at most the index's size, and two pages a row, of the table and of its index.
    private func chooseJournal(rows: Int?, _ connection: Connection) throws(StoreError) {
        let status = try fileSystem.status(directories.root.raw, StoreLayout.index)
        let size = status?.byteCount ?? 0
        let byRows = rows.map { Int64(min($0, 1 << 40)) * 8192 } ?? size
        try connection.keepJournal(onDisk: min(size, byRows) > IndexSchema.journalMemory)
    }

    private func needsReconciling() throws(StoreError) -> Bool {
        guard !isReconciled else { return false }
        let recorded = try attempt(nil) { (index) throws(StoreError) in
            try index.meta("manifests_changed_at") ?? -1
        }
        let now = try fileSystem.status(directories.manifests.raw).changedAt
        isReconciled = recorded == now
        return recorded != now
    }
}

/// One transaction of the index: its queries and changes see one state.
struct IndexTransaction {
    let index: Index
    let connection: Connection

    var fileSystem: any FileSystem { index.fileSystem }
    var directories: StoreDirectories { index.directories }

    func sync() throws(StoreError) { try index.sync(connection) }

    func statement(_ sql: String) throws(StoreError) -> Statement { try connection.statement(sql) }

    /// A number kept beside the tables.
    func meta(_ key: String) throws(StoreError) -> Int64? {
        try statement("SELECT value FROM meta WHERE key = ?").bind(1, key).firstInteger()
    }

    func setMeta(_ key: String, _ value: Int64) throws(StoreError) {
        try statement(
            "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2"
        ).bind(1, key).bind(2, value).run()
    }

    func currentVersion() throws(StoreError) -> IndexVersion {
        IndexVersion(epoch: index.epoch, generation: try meta("generation") ?? 0)
    }
}

/// The index version at the time of a writer's look-up.
package struct IndexVersion: Sendable, Hashable {
    var epoch: String
    var generation: Int64
}

/// The locks between transactions and rebuilds of the index, across processes (flock(2)); for one thread at a time.
///
/// A transaction holds `leases/.index` shared, and to write also `leases/.writer` exclusively; a rebuild holds both
/// exclusively. They are taken in this order. On a read-only disk, files that cannot be opened are not locked;
/// anywhere else that is an error.
final class IndexLocks {
    enum Mode { case reading, writing, rebuilding }

    private let fileSystem: any FileSystem
    private let directories: StoreDirectories
    private let options: StoreOptions
    private var files: Files?

    private typealias Files = (index: HeldFile, writer: HeldFile)

    init(
        _ fileSystem: any FileSystem, _ directories: StoreDirectories, _ options: StoreOptions
    ) {
        self.fileSystem = fileSystem
        self.directories = directories
        self.options = options
    }

    /// Waits for conflicting holders.
    /// - Throws: `.locked` after a while; `.interrupted`.
    func lock(_ mode: Mode) throws(StoreError) {
        guard let files = try opened(mode) else { return }
        do throws(StoreError) {
            try fileSystem.waitForLock(
                files.index.raw, exclusive: mode == .rebuilding, options)
            if mode != .reading {
                try fileSystem.waitForLock(files.writer.raw, exclusive: true, options)
            }
        } catch {
            unlock()
            throw error
        }
    }

    func unlock() {
        guard let files else { return }
        fileSystem.unlock(files.writer.raw)
        fileSystem.unlock(files.index.raw)
    }

    /// Keeps write transactions from beginning, once none runs; the caller has locked for reading.
    ///
    /// The lock is shared, so that readers do not take each other for writers.
    /// - Returns: false if a writer runs, and this did not wait for it.
    func excludeWriters(waiting: Bool) throws(StoreError) -> Bool {
        guard let files else { return true }
        if waiting {
            try fileSystem.waitForLock(files.writer.raw, exclusive: false, options)
            return true
        }
        return try fileSystem.lock(files.writer.raw, exclusive: false)
    }

    func admitWriters() {
        guard let files else { return }
        fileSystem.unlock(files.writer.raw)
    }

    /// Whether another process's write transaction runs now; the caller has locked for reading.
    func isSomebodyWriting() throws(StoreError) -> Bool {
        guard try excludeWriters(waiting: false) else { return true }
        admitWriters()
        return false
    }

    func waitForWriters() throws(StoreError) {
        try lock(.writing)
        unlock()
    }

    private func opened(_ mode: Mode) throws(StoreError) -> Files? {
        if let files { return files }
        do throws(StoreError) {
            let leases = directories.leases.raw
            files = (
                HeldFile(try fileSystem.openLock(leases, StoreLayout.indexLock)),
                HeldFile(try fileSystem.openLock(leases, StoreLayout.writerLock))
            )
        } catch {
            guard mode == .reading, try isReadOnly(error) else { throw error }
            // Files made before the disk became read-only can still be locked.
            do throws(StoreError) {
                files = try openForReading()
            } catch {
                guard [.readOnly, .permission, .notFound].contains(error.code) else { throw error }
            }
        }
        return files
    }

    /// Whether the files cannot be opened because the disk is read-only, where another user gets EACCES instead.
    private func isReadOnly(_ error: StoreError) throws(StoreError) -> Bool {
        if error.code == .readOnly { return true }
        guard error.code == .permission else { return false }
        return try fileSystem.freeSpace(directories.leases.raw).isReadOnly
    }

    private func openForReading() throws(StoreError) -> Files {
        let leases = directories.leases.raw
        return (
            HeldFile(try fileSystem.open(leases, StoreLayout.indexLock, .reading, mode: 0)),
            HeldFile(try fileSystem.open(leases, StoreLayout.writerLock, .reading, mode: 0))
        )
    }
}
