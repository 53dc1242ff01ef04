import CASStore

/// The lock of those who pack, which ends with the value.
///
/// It is released, not only closed: a program that another thread is just starting has everything open that this
/// process has, until it execs (fork(2)), and would hold the lock so long.
struct PackingLock: ~Copyable {
    private let file: Descriptor
    private let fileSystem: any FileSystem

    /// - Parameter file: that which all who pack in one place lock.
    init(_ file: consuming Descriptor, _ fileSystem: any FileSystem) {
        self.file = file
        self.fileSystem = fileSystem
    }

    deinit { fileSystem.unlock(file.raw) }

    /// - Returns: whether it was to be had; if not, nothing is held any more.
    borrowing func take(exclusive: Bool) throws(StoreError) -> Bool {
        try fileSystem.lock(file.raw, exclusive: exclusive)
    }
}
