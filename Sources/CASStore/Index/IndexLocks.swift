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

    private final class Files {
        let index: Descriptor
        let writer: Descriptor
        init(index: consuming Descriptor, writer: consuming Descriptor) {
            self.index = index
            self.writer = writer
        }
    }

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
            files = Files(
                index: try fileSystem.openLock(directories.leases.raw, StoreLayout.indexLock),
                writer: try fileSystem.openLock(directories.leases.raw, StoreLayout.writerLock))
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
        return Files(
            index: try fileSystem.open(leases, StoreLayout.indexLock, .reading, mode: 0),
            writer: try fileSystem.open(leases, StoreLayout.writerLock, .reading, mode: 0))
    }
}
