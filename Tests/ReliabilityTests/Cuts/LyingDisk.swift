import StorageTestSupport

/// A disk that does not do all it is asked for: it makes of a sound engine one that is broken in one way.
struct LyingDisk: FileSystemWrapper {
    let base: any FileSystem
    /// The files and directories, by path, that are not synced.
    var ignoresSync: @Sendable (_ path: String, _ isDirectory: Bool) -> Bool = { _, _ in false }
    /// Whether the system has syncfs; others make files durable one by one.
    var canSyncAll = true
    /// The calls of syncfs, from 1, that do nothing.
    var ignoresSyncAll: @Sendable (Int) -> Bool = { _ in false }
    /// Whether the index is synced never, or only after the stamp that says that it was.
    var indexSync = IndexSync.asAsked
    /// What is done about a failed sync.
    var afterFailedSync = FailedSync.says
    /// Whether a rename over an existing name removes that first.
    var unlinksFirst = false
    /// Whether `lifecycle.json` is written over in place.
    var writesInPlace = false
    /// Whether only the half of each write is made.
    var writesHalves = false
    private let count = Counter()

    private let pending = Pending()

    enum FailedSync: Sendable { case says, ignores, triesAgain }
    enum IndexSync: Sendable { case asAsked, never, afterTheStamp }

    /// The directory of an index that is to be synced.
    private final class Pending: Sendable {
        private let directory = Mutex<Int32?>(nil)
        func note(_ value: Int32) { directory.withLock { $0 = value } }
        func take() -> Int32? {
            directory.withLock { value in
                defer { value = nil }
                return value
            }
        }
    }

    private final class Counter: Sendable {
        private let value = Atomic<Int>(0)
        func next() -> Int { value.add(1, ordering: .relaxed).newValue }
    }

    init(_ base: any FileSystem) { self.base = base }

    func sync(_ file: Int32) throws(StoreError) {
        let isDirectory = try base.status(file).kind == .directory
        if ignoresSync(POSIXFileSystem().path(of: file), isDirectory) { return }
        try syncing { () throws(StoreError) in try base.sync(file) }
    }

    private func syncing(_ sync: () throws(StoreError) -> Void) throws(StoreError) {
        do throws(StoreError) { try sync() } catch {
            switch afterFailedSync {
            case .says: throw error
            case .ignores: return
            case .triesAgain: try sync()
            }
        }
    }

    func sync(
        _ directory: Int32, _ path: UnsafePointer<CChar>,
        by library: () throws(StoreError) -> Void
    ) throws(StoreError) {
        switch indexSync {
        case .asAsked:
            try syncing { () throws(StoreError) in
                try base.sync(directory, path, by: library)
            }
        case .never: return
        case .afterTheStamp: pending.note(directory)
        }
    }

    func syncAll(_ file: Int32) throws(StoreError) -> Bool {
        guard canSyncAll else { return false }
        if ignoresSyncAll(count.next()) { return true }
        do throws(StoreError) { return try base.syncAll(file) } catch {
            switch afterFailedSync {
            case .says: throw error
            case .ignores: return true
            case .triesAgain: return try base.syncAll(file)
            }
        }
    }

    func write(_ file: Int32, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        let path = POSIXFileSystem().path(of: file)
        guard writesHalves, path.contains("/staging/") else {
            try base.write(file, bytes)
            if path.hasSuffix("/stamp"), let directory = pending.take() {
                try base.sync(directory, StoreLayout.index) {}
            }
            return
        }
        try base.write(file, UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)]))
    }

    func open(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
    ) throws(StoreError) -> Descriptor {
        if writesInPlace, access == .creating, isAside(path) {
            let file = try base.open(directory, StoreLayout.lifecycle, .updating, mode: mode)
            try base.truncate(file.raw, to: 0)
            return file
        }
        return try base.open(directory, path, access, mode: mode)
    }

    private func isAside(_ path: UnsafePointer<CChar>) -> Bool {
        String(cString: path) == ".\(StoreLayout.lifecycle).new"
    }

    func rename(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        if writesInPlace, isAside(sourcePath) { return }
        if unlinksFirst, try base.status(target, targetPath) != nil {
            try base.remove(target, targetPath, directory: false)
        }
        try base.rename(source, sourcePath, to: target, targetPath)
    }
}
