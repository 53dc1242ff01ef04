package import CASStore

/// The right to watch a start: one process has it at a time.
///
/// It is a kernel lock (flock(2)) on `leases/.start`, so it ends with the process, however the process
/// ends. Nobody else judges a start whose watcher has the lock. A process that is stopped (SIGSTOP)
/// keeps it; ``VersionStore/startWatcher()`` names it to whoever is refused because of it.
final class StartLock: Sendable {
    private let file: Descriptor

    private init(_ file: consuming Descriptor) { self.file = file }

    /// Takes the lock; `nil` while another process has it.
    /// - Throws: `.readOnly`, `.permission`, `.outOfSpace` if nothing can be started either.
    static func take(_ versions: VersionStore) throws(StoreError) -> StartLock? {
        let file = try versions.store.openLock(StoreLayout.startLock)
        guard try versions.fileSystem.lock(file.raw, exclusive: true) else {
            return nil
        }
        return StartLock(file)
    }
}

extension VersionStore {
    /// The process that watches a start, as far as the kernel tells; takes no lock.
    package func startWatcher() throws(StoreError) -> LockHolder? {
        let file = try fileSystem.status(directories.leases.raw, StoreLayout.startLock)
        guard let file else { return nil }
        let holder = LockHolder.find(of: file)
        return holder.process == nil ? nil : holder
    }
}

extension LockHolder {
    /// What keeps others from starting and judging versions, and what to do, in a sentence.
    package var watching: String {
        let advice = process.map { "; kill -CONT \($0) lets it continue, kill -KILL ends it" }
        return
            "\(description) watches the start of a version, so no other process starts or judges any"
            + (isStopped ? advice ?? "" : "")
    }
}
