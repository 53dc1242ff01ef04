import CASStore

/// The right to watch a start: one process has it at a time.
///
/// It is a kernel lock (flock(2)) on `leases/.start`, so it ends with the process, however the process
/// ends. Nobody else judges a start whose watcher has the lock. A process that is stopped (SIGSTOP)
/// keeps it.
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
