import CSQLite
import StorageTestSupport

@testable import CASStore

/// The files that take no more bytes, by their inodes.
private let spent = Mutex<Set<ino_t>>([])

/// Makes pwrite(2) of SQLite's say EDQUOT for them (sqlite.org/c3ref/vfs.html, xSetSystemCall).
private let isPlanted: Bool = {
    typealias Write = @convention(c) (Int32, UnsafeRawPointer?, Int, off_t) -> Int
    let write: Write = { file, bytes, count, offset in
        var status = stat()
        if fstat(file, &status) == 0, spent.withLock({ $0.contains(status.st_ino) }) {
            errno = EDQUOT
            return -1
        }
        return pwrite(file, bytes, count, offset)
    }
    guard let usual = sqlite3_vfs_find(nil), let set = usual.pointee.xSetSystemCall else {
        return false
    }
    for name in ["pwrite", "pwrite64"] {
        _ = set(usual, name, unsafeBitCast(write, to: sqlite3_syscall_ptr.self))
    }
    return true
}()

// quotactl(2): EDQUOT where a user's part of the disk is used up. statvfs(3) shows space then.
@Suite("An index that a quota lets grow no more") struct IndexQuotaTests {
    @Test(arguments: [("index", false), ("index", true), ("journal", true)])
    func `says that there is no space, and takes writes again when there is`(
        _ file: String, _ journalIsOnDisk: Bool
    ) throws {
        try require(isPlanted)
        let directory = TemporaryDirectory()
        let path = directory.appending("database")
        let connection = try Connection(path: path, mode: .readWrite)
        try connection.keepJournal(onDisk: true)
        try connection.transaction(writing: true) { () throws(StoreError) in
            try connection.execute("CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(100000))")
        }
        try connection.keepJournal(onDisk: journalIsOnDisk)
        var status = stat()
        try require(stat(file == "index" ? path : path + "-journal", &status) == 0)
        let inode = status.st_ino
        for change in ["INSERT INTO t VALUES (zeroblob(20000000))", "UPDATE t SET x = x || 'y'"] {
            spent.withLock { _ = $0.insert(inode) }
            defer { spent.withLock { _ = $0.remove(inode) } }
            expectRefusal(.outOfSpace) {
                try connection.transaction(writing: true) { () throws(StoreError) in
                    try connection.execute(change)
                }
            }
        }
        try connection.transaction(writing: true) { () throws(StoreError) in
            try connection.execute("UPDATE t SET x = x || 'y'")
        }
    }
}
