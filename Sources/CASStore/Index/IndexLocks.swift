/// The locks between transactions and rebuilds of the index, across processes (flock(2)).
///
/// A transaction holds `leases/.index` shared, one that writes `leases/.writer` as well, alone; a rebuild
/// holds both alone. Taken in this order. Nothing is locked where the files cannot be made: on a
/// read-only disk nobody writes or rebuilds.
///
/// For use by one thread at a time, as ``Index``.
final class IndexLocks {
    /// What a lock excludes.
    enum Mode { case reading, writing, rebuilding }

    private let fileSystem: any FileSystem
    private let directories: StoreDirectories
    private var files: Files?

    private final class Files {
        let index: Descriptor
        let writer: Descriptor
        init(index: consuming Descriptor, writer: consuming Descriptor) {
            self.index = index
            self.writer = writer
        }
    }

    init(_ fileSystem: any FileSystem, _ directories: StoreDirectories) {
        self.fileSystem = fileSystem
        self.directories = directories
    }

    /// Waits for whoever is in the way.
    func lock(_ mode: Mode) throws(StoreError) {
        guard let files = try opened(mode) else { return }
        do throws(StoreError) {
            _ = try fileSystem.lock(
                files.index.raw, exclusive: mode == .rebuilding, waiting: true)
            if mode != .reading {
                _ = try fileSystem.lock(files.writer.raw, exclusive: true, waiting: true)
            }
        } catch {
            unlock()
            throw error
        }
    }

    /// Ends what ``lock(_:)`` began.
    func unlock() {
        guard let files else { return }
        fileSystem.unlock(files.writer.raw)
        fileSystem.unlock(files.index.raw)
    }

    /// Lets no write transaction begin, once there is none; the caller has locked for reading.
    ///
    /// Shared among those who ask: another reader's question is no writer.
    /// - Returns: false if one runs, which this did not wait for.
    func excludeWriters(waiting: Bool) throws(StoreError) -> Bool {
        guard let files else { return true }
        return try fileSystem.lock(files.writer.raw, exclusive: false, waiting: waiting)
    }

    /// Ends what ``excludeWriters(waiting:)`` began.
    func admitWriters() {
        guard let files else { return }
        fileSystem.unlock(files.writer.raw)
    }

    /// Whether a write transaction of somebody else runs now; the caller has locked for reading.
    func isSomebodyWriting() throws(StoreError) -> Bool {
        guard try excludeWriters(waiting: false) else { return true }
        admitWriters()
        return false
    }

    /// Returns when every write transaction that runs now has ended.
    func waitForWriters() throws(StoreError) {
        try lock(.writing)
        unlock()
    }

    private func opened(_ mode: Mode) throws(StoreError) -> Files? {
        if let files { return files }
        do throws(StoreError) {
            files = try open(.updating)
        } catch {
            guard mode == .reading, error.code == .readOnly || error.code == .permission else {
                throw error
            }
            // Who may only read can lock, too, if somebody else has made the files.
            do throws(StoreError) {
                files = try open(.reading)
            } catch {
                guard [.readOnly, .permission, .notFound].contains(error.code) else { throw error }
            }
        }
        return files
    }

    private func open(_ access: Access) throws(StoreError) -> Files {
        let leases = directories.leases.raw
        let index = try fileSystem.open(leases, ".index", access, mode: 0o644)
        let writer = try fileSystem.open(leases, ".writer", access, mode: 0o644)
        return Files(index: index, writer: writer)
    }
}
