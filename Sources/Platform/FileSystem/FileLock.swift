/// A file that can be locked (flock(2)); a lock ends with the value.
///
/// It is unlocked, not only closed: a child that another thread is just starting has everything open that this
/// process has until it execs (fork(2)), and would keep the lock until then.
package final class FileLock: Sendable {
    private let file: Descriptor
    private let fileSystem: any FileSystem

    package init(_ file: consuming Descriptor, _ fileSystem: any FileSystem) {
        self.file = file
        self.fileSystem = fileSystem
    }

    deinit { fileSystem.unlock(file.raw) }

    package var raw: Int32 { file.raw }

    /// - Returns: whether the lock was free; if not, nothing is held any more.
    package func take(exclusive: Bool = true) throws(StoreError) -> Bool {
        try fileSystem.lock(file.raw, exclusive: exclusive)
    }
}
