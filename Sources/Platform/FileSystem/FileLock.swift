/// A file that can be locked (flock(2)), and is unlocked with the value.
///
/// Closing is not enough: a child that is just starting has everything open until it execs (fork(2)).
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

/// A file or directory that is held open, with its locks; no other file gets its inode number meanwhile.
package final class HeldFile: Sendable {
    private let descriptor: Descriptor

    package init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

    package var raw: Int32 { descriptor.raw }

    package func isSameFile(
        as other: FileStatus, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Bool {
        try fileSystem.status(descriptor.raw).isSameFile(as: other)
    }
}
