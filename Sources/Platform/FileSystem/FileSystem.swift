/// Everything that castree does to a disk.
///
/// The one implementation for users is ``POSIXFileSystem``; tests insert one that records every operation, fails it
/// or stops before it. Paths are relative to an open directory. Every method retries EINTR, and throws a `StoreError`
/// whose cause names the call, the errno and the path. `write` means all bytes. An implementation must be usable from
/// several threads at once.
package protocol FileSystem: Sendable {
    func open(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
    ) throws(StoreError) -> Descriptor
    /// Opens a path below a directory, through no symbolic link, even if a directory is swapped for one.
    func openBeneath(
        _ directory: Int32, _ path: String, _ access: Access
    ) throws(StoreError) -> Descriptor
    /// Reads up to `buffer.count` bytes at `offset`; 0 at the end of the file.
    func read(
        _ file: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(StoreError) -> Int
    func write(_ file: Int32, _ bytes: UnsafeRawBufferPointer) throws(StoreError)
    /// Overwrites bytes at `offset`; the file must not be open for appending (pwrite(2), *BUGS*).
    func write(
        _ file: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64
    ) throws(StoreError)
    func truncate(_ file: Int32, to byteCount: Int64) throws(StoreError)
    /// Reserves space on disk (posix_fallocate(3)).
    func reserve(_ file: Int32, _ byteCount: Int64) throws(StoreError)
    /// Maps the beginning of a file into memory (mmap(2)); see ``MappedFile``.
    func map(
        _ file: Int32, byteCount: Int, isWritable: Bool
    ) throws(StoreError) -> MappedFile
    func setMode(_ file: Int32, _ mode: UInt32) throws(StoreError)
    func setMode(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ mode: UInt32) throws(StoreError)
    /// Gives an open file or directory to a user and a group (fchown(2)).
    func setOwner(_ file: Int32, _ user: UInt32, group: UInt32) throws(StoreError)
    /// Sets a file's modification time in nanoseconds since 1970 (utimensat(2)); does not follow a symbolic link.
    func setModified(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ nanoseconds: Int64) throws(StoreError)
    /// Makes a file's bytes and inode, or a directory's entries, durable (fsync(2)).
    func sync(_ file: Int32) throws(StoreError)
    /// Makes a file durable by calling a library that has it open.
    ///
    /// Reopening and closing a SQLite file would drop the process's locks on it (sqlite.org/lockingv3.html,
    /// fcntl(2)).
    func sync(
        _ directory: Int32, _ path: UnsafePointer<CChar>,
        by library: () throws(StoreError) -> Void
    ) throws(StoreError)
    /// Makes everything on the file system of `file` durable (syncfs(2)); `false` if the system has no such call.
    func syncAll(_ file: Int32) throws(StoreError) -> Bool

    /// Whether ``syncAll(_:)`` can make everything durable here; otherwise files are synced one by one.
    var canSyncAll: Bool { get }
    func status(_ file: Int32) throws(StoreError) -> FileStatus
    /// The status of the entry itself (a symbolic link is not followed); `nil` if there is none.
    func status(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> FileStatus?
    func link(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>) throws(StoreError)
    /// Renames, replacing what is there.
    func rename(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>) throws(StoreError)
    /// Renames unless the target exists (errno EEXIST).
    func renameNew(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>) throws(StoreError)
    /// Exchanges two entries, in one step if possible (renameat2(2), RENAME_EXCHANGE), else by a free name `spare`.
    func exchange(
        _ directory: Int32, _ first: String, _ second: String, spare: String) throws(StoreError)
    func remove(
        _ directory: Int32, _ path: UnsafePointer<CChar>, directory isDirectory: Bool
    ) throws(StoreError)
    func makeDirectory(
        _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32) throws(StoreError)
    func makeSymbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>, to target: String) throws(StoreError)
    /// The target of a symbolic link; `nil` if there is no entry or it is not a link.
    func symbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> String?
    /// Calls `body` with every entry but `.` and `..` and its inode (readdir(3), d_ino), until it returns `false`.
    /// - Parameter once: the directory was opened only for this listing, so its position need not be saved.
    func list(
        _ directory: Int32, once: Bool,
        _ body: (UnsafePointer<CChar>, FileStatus.Kind, UInt64) throws(StoreError) -> Bool
    ) throws(StoreError)
    /// Makes `target` a copy-on-write clone of `source`; `false` if that is not possible.
    func clone(_ source: Int32, to target: Int32) throws(StoreError) -> Bool
    /// Takes a lock that ends with the descriptor (flock(2)); `false` if held elsewhere.
    func lock(_ file: Int32, exclusive: Bool) throws(StoreError) -> Bool
    /// Releases a lock; cannot fail on a descriptor that holds one.
    func unlock(_ file: Int32)
    func freeSpace(_ file: Int32) throws(StoreError) -> FreeSpace
    /// The mount that holds an open file; `nil` if the system does not tell all of it.
    func mount(of file: Int32) -> MountStatus?
    /// Whether a file is open for writing, or mapped so, in any process; `nil` if the system does not tell.
    func isOpenForWriting(_ file: Int32) -> Bool?
}

extension FileSystem {
    /// Calls `body` with every entry but `.` and `..`, unordered, until it returns `false`.
    package func list(
        _ directory: Int32,
        _ body: (UnsafePointer<CChar>, FileStatus.Kind) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try list(directory, once: false) { (name, kind, _) throws(StoreError) in
            try body(name, kind)
        }
    }

    package func exchange(
        _ directory: Int32, _ first: String, _ second: String, spare: String
    ) throws(StoreError) {
        try exchangeByRenames(directory, first, second, spare: spare)
    }

    /// Exchanges two names by three renames; if one of them fails, nothing changes.
    func exchangeByRenames(
        _ directory: Int32, _ first: String, _ second: String, spare: String
    ) throws(StoreError) {
        try rename(directory, first, to: directory, spare)
        do throws(StoreError) {
            try moveBoth(directory, first, second, spare: spare)
        } catch {
            // Report the first error; what stays hidden goes with its lease.
            try? rename(directory, spare, to: directory, first)
            throw error
        }
    }

    private func moveBoth(
        _ directory: Int32, _ first: String, _ second: String, spare: String
    ) throws(StoreError) {
        try rename(directory, second, to: directory, first)
        do throws(StoreError) {
            try rename(directory, spare, to: directory, second)
        } catch {
            // Back first: the caller shows what is under `second`. Report the first error.
            try? rename(directory, first, to: directory, second)
            throw error
        }
    }
}

package enum Access: Sendable, Hashable {
    /// Reading a regular file. A symbolic link is refused, a fifo does not block, a socket can only be examined.
    case reading
    /// Reading, following symbolic links, for sources outside the store at the user's request.
    case readingFollowingLinks
    /// Creating a file that must not exist.
    case creating
    /// Reading and writing, created if absent, never truncated.
    case updating
    /// Reading and writing an existing file, never truncated.
    case changing
    /// Writing to an existing file, pipe or device that a user typed, following symbolic links, never truncated.
    case writingFollowingLinks
    case appending
    /// The same to a file, pipe or device that a user typed, following symbolic links.
    case appendingFollowingLinks
    /// A directory; a symbolic link is refused.
    case directory
    /// A directory, following symbolic links: for a path that a user typed.
    case directoryFollowingLinks
    /// The same, to be written to. Root follows another user's link only to that user's files, because the user could
    /// make root change anything else by it.
    case typedDirectory
    /// Like `typedDirectory`, for the directory of the file that a path leads to, even by a link in the file's place.
    case directoryOfTypedFile
}

package struct FreeSpace: Sendable, Hashable {
    package var available: Int64
    package var total: Int64
    /// How many more files it can hold; nil if it does not count them.
    package var files: Int64?
    package var isReadOnly = false
    /// The allocation unit in bytes (statvfs(3), f_frsize).
    package var unit: Int64 = 1
}

/// An open file or directory, closed with the value.
package struct Descriptor: ~Copyable, Sendable {
    package let raw: Int32

    package init(owning raw: Int32) { self.raw = raw }

    deinit { POSIXFileSystem.close(raw) }
}
