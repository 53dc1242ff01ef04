import CASStore

/// The right to watch a start: one process has it at a time.
///
/// It is a lock of the kernel's (flock(2)) on `leases/.start`, so it ends with the process, however that
/// ends: a start whose watcher has the lock is nobody else's to judge. A process that is stopped still
/// has it.
final class StartLock: Sendable {
    private let file: Descriptor

    private init(_ file: consuming Descriptor) { self.file = file }

    /// Takes the lock; `nil` while another process has it.
    /// - Throws: `.readOnly`, `.permission`, `.outOfSpace` where nothing can be started either.
    static func take(_ versions: VersionStore) throws(StoreError) -> StartLock? {
        let file = try versions.store.openLock(StoreLayout.startLock)
        guard try versions.fileSystem.lock(file.raw, exclusive: true) else {
            return nil
        }
        return StartLock(file)
    }
}
