import CSQLite

/// One SQLite database with one owner; used by one thread at a time (`Index` guards it).
///
/// Statements are prepared once and kept (sqlite.org/c3ref/prepare.html).
package final class Connection {
    private let handle: OpaquePointer
    private var prepared: [String: Statement] = [:]
    private let busy: BusyWait
    /// The user whose rights SQLite's own calls need; `nil` for this process's.
    private let owner: OwnersFileSystem?

    package enum Mode { case readWrite, readOnly, memory }

    /// Opens `path`, creating it in mode `.readWrite`.
    /// - Throws: `.index` with the SQLite code as cause.
    package init(
        path: String, in directory: Int32? = nil, of fileSystem: (any FileSystem)? = nil,
        mode: Mode, _ options: StoreOptions = StoreOptions()
    ) throws(StoreError) {
        owner = fileSystem as? OwnersFileSystem
        let flags =
            switch mode {
            case .readWrite: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
            case .readOnly: SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX
            case .memory: SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX
            }
        var opened: OpaquePointer?
        let result = try Self.acting(owner) { () throws(StoreError) in
            Self.open(path, directory, flags | SQLITE_OPEN_EXRESCODE, &opened)
        }
        guard result == SQLITE_OK, let opened else {
            let error = StoreError(sqlite: result, opened, doing: "open the index \(path)")
            sqlite3_close_v2(opened)
            throw error
        }
        handle = opened
        busy = BusyWait(path, options)
        // This waits only for programs other than castree: castree's have a lock of their own.
        sqlite3_busy_handler(
            handle,
            { context, count in
                guard let context else { return 0 }
                let wait = Unmanaged<BusyWait>.fromOpaque(context).takeUnretainedValue()
                return wait.goesOn(after: count) ? 1 : 0
            }, Unmanaged.passUnretained(busy).toOpaque())
    }

    deinit {
        for statement in prepared.values { statement.finalize() }
        sqlite3_close_v2(handle)
    }

    /// Whether SQLite retries its locks after a signal; requested once, before the first database is opened.
    private static let retriesLocks = castree_sqlite_retry_locks() != 0

    /// Opens a database through its open directory, whatever is at its path by now and however long that is; by its
    /// path where that is impossible (macOS, no /proc).
    private static func open(
        _ path: String, _ directory: Int32?, _ flags: Int32, _ opened: inout OpaquePointer?
    ) -> Int32 {
        _ = retriesLocks
        if let directory, castree_sqlite_by_descriptor() != 0 {
            let result = sqlite3_open_v2(
                "/proc/self/fd/\(directory)/\(StoreLayout.index)", &opened, flags,
                castree_sqlite_vfs_name)
            guard result & 0xff == SQLITE_CANTOPEN else { return result }
            sqlite3_close_v2(opened)
        }
        return sqlite3_open_v2(path, &opened, flags, nil)
    }

    private static func acting<R>(
        _ owner: OwnersFileSystem?, _ body: () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        if let owner { return try owner.asOwner(body) }
        return try body()
    }

    /// Runs what may open, make or remove a file of the database, as the owner of the store.
    func acting<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
        try Self.acting(owner, body)
    }

    package func execute(_ sql: String) throws(StoreError) {
        let result = try acting { () throws(StoreError) in
            sqlite3_exec(handle, sql, nil, nil, nil)
        }
        guard result == SQLITE_OK else { throw error(result) }
    }

    /// A prepared statement, reset and ready for new values.
    package func statement(_ sql: String) throws(StoreError) -> Statement {
        if let statement = prepared[sql] {
            statement.reset()
            return statement
        }
        var made: OpaquePointer?
        let result = try acting { () throws(StoreError) in
            sqlite3_prepare_v3(
                handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &made, nil)
        }
        guard result == SQLITE_OK, let made else { throw error(result) }
        let statement = Statement(made, of: self)
        prepared[sql] = statement
        return statement
    }

    private(set) var journalIsOnDisk = false

    /// Where to keep the rollback journal of the next transactions (sqlite.org/pragma.html#pragma_journal_mode).
    func keepJournal(onDisk: Bool) throws(StoreError) {
        guard onDisk != journalIsOnDisk else { return }
        try execute("PRAGMA journal_mode = \(onDisk ? "TRUNCATE" : "MEMORY")")
        journalIsOnDisk = onDisk
    }

    /// Whether the last transaction happened as a whole, or not at all.
    ///
    /// While undoing from a journal in memory, SQLite ignores write errors (pagerUnlockAndRollback). Only if no page
    /// had been written was there nothing to undo.
    private(set) var isWhole = true

    /// How many pages SQLite has tried to write (sqlite.org/c3ref/c_dbstatus_options.html, CACHE_WRITE).
    private var pagesWritten: Int32 {
        var (now, highest): (Int32, Int32) = (0, 0)
        sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_WRITE, &now, &highest, 0)
        return now
    }

    /// Runs `body` in one transaction; rolls back if it throws.
    ///
    /// `BEGIN IMMEDIATE` takes the write lock at once, so a transaction never fails half-way because another process
    /// writes (sqlite.org/lang_transaction.html).
    package func transaction<R>(
        writing: Bool, _ body: () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        try execute(writing ? "BEGIN IMMEDIATE" : "BEGIN")
        isWhole = true
        let before = pagesWritten
        let result: R
        do throws(StoreError) {
            result = try body()
            resetAll()
            try execute("COMMIT")
        } catch {
            resetAll()
            // Some errors (full disk, I/O) have already rolled back, and nothing is left to roll back. The error that
            // matters is the first (sqlite.org/lang_transaction.html). An error that is not SQLite's came after
            // writes that all succeeded: undoing them asks no more of the disk.
            var isUndone = !error.isOfSQLite && sqlite3_get_autocommit(handle) == 0
            if sqlite3_get_autocommit(handle) == 0 {
                do throws(StoreError) { try execute("ROLLBACK") } catch { isUndone = false }
            }
            isWhole = journalIsOnDisk || pagesWritten == before || isUndone
            throw error
        }
        return result
    }

    /// Makes everything that was committed durable (sqlite.org/c3ref/io_methods.html, xSync).
    package func sync() throws(StoreError) {
        let result = castree_sqlite_sync(handle)
        guard result == SQLITE_OK else {
            throw StoreError(sqlite: result, handle, doing: "make the index durable")
        }
    }

    // A statement left in the middle of its rows would keep the transaction open.
    private func resetAll() {
        for statement in prepared.values { statement.reset() }
    }

    func error(_ code: Int32) -> StoreError {
        StoreError(sqlite: code, handle, doing: "use the index")
    }
}

extension StoreError {
    /// The error of a SQLite call (sqlite.org/rescode.html).
    init(sqlite code: Int32, _ handle: OpaquePointer?, doing operation: String) {
        let text = handle.map { String(cString: sqlite3_errmsg($0)) } ?? "no memory"
        let kind: Code
        var advice = ""
        switch code & 0xff {
        case SQLITE_FULL: (kind, advice) = (.outOfSpace, "; free space and repeat the command")
        case SQLITE_BUSY, SQLITE_LOCKED:
            (kind, advice) = (
                .locked, "; another process held the lock for too long: repeat the command later"
            )
        case SQLITE_READONLY: (kind, advice) = (.readOnly, "; the store is not writable")
        case SQLITE_PERM, SQLITE_AUTH: kind = .permission
        case SQLITE_NOMEM: kind = .outOfMemory
        default:
            let number = castree_sqlite_limit_errno(handle, code)
            guard number != 0 else {
                kind = .index
                break
            }
            (kind, advice) = Self.meaning(of: number)
            advice = "; " + advice
        }
        self.init(
            kind, "unable to \(operation): \(text)\(advice)",
            cause: .sqlite(code: code, message: text))
    }

    var saysIndexSyncFailed: Bool {
        guard case .sqlite(let code, _) = cause else { return false }
        return code == castree_sqlite_ioerr_fsync()
    }

    /// Whether the index itself is broken, so that rebuilding it is the answer.
    var saysIndexIsDamaged: Bool {
        guard case .sqlite(let code, _) = cause else { return code == .index }
        if saysIndexIsUnread { return true }
        switch code & 0xff {
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_FORMAT, SQLITE_SCHEMA,
            SQLITE_CONSTRAINT, SQLITE_MISMATCH:
            return true
        default: return false
        }
    }

    /// Whether the disk cannot read the database: SQLITE_IOERR_READ, SQLITE_IOERR_CORRUPTFS.
    var saysIndexIsUnread: Bool {
        guard case .sqlite(let code, _) = cause else { return false }
        return [1, 33].contains(code >> 8) && code & 0xff == SQLITE_IOERR
    }

    /// Whether the index cannot be opened or written here, though it may be intact.
    var saysIndexIsUnreachable: Bool {
        guard case .sqlite(let code, _) = cause, !saysIndexIsUnread else { return false }
        switch code & 0xff {
        case SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_FULL, SQLITE_IOERR: return true
        default: return false
        }
    }
}

/// Waits for a program that has locked the database (sqlite.org/c3ref/busy_handler.html), on one connection.
final class BusyWait {
    private let path: String
    private let options: StoreOptions
    private var wait: LockWait?

    init(_ path: String, _ options: StoreOptions) {
        self.path = path
        self.options = options
    }

    /// - Parameter count: how many calls came before for the same lock.
    /// - Returns: whether to try again.
    func goesOn(after count: Int32) -> Bool {
        var wait = count == 0 ? LockWait(options) : self.wait ?? LockWait(options)
        guard !wait.isOver, !wait.isInterrupted else { return false }
        wait.rest()
        if wait.isToBeTold {
            // Do not open it: closing would drop the connection's own locks. On failure the notice names no process.
            let status = try? POSIXFileSystem().status(POSIXFileSystem.workingDirectory, path)
            wait.tell(status.flatMap { $0 }.map(LockHolder.find(of:)) ?? .unknown)
        }
        self.wait = wait
        return true
    }
}

extension StoreError {
    fileprivate var isOfSQLite: Bool { if case .sqlite = cause { true } else { false } }
}
