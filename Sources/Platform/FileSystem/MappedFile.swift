#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The bytes of a file as memory (mmap(2)), for content too large to be copied to the heap.
///
/// A file that somebody makes shorter meanwhile ends the process (SIGBUS): only for files that nobody
/// changes, such as objects and a process's own staged files. Several threads may read at once.
package final class MappedFile: @unchecked Sendable {
    // Unchecked: the memory is the mapping's own until `deinit`, and who writes to it is its one owner.
    private let start: UnsafeMutableRawPointer?
    private let count: Int

    /// Maps the beginning of a file.
    ///
    /// - Parameters:
    ///   - file: open for reading; for a writable mapping, for writing too, with its space reserved.
    ///   - byteCount: how many bytes; the file has as many.
    ///   - isWritable: whether to change the file through it.
    /// - Returns: the error number instead if the system refuses.
    init?(_ file: Int32, byteCount: Int, isWritable: Bool, errno number: inout Int32) {
        count = byteCount
        guard byteCount > 0 else {
            start = nil
            return
        }
        let protection = isWritable ? PROT_READ | PROT_WRITE : PROT_READ
        let mapped = mmap(nil, byteCount, protection, MAP_SHARED, file, 0)
        guard mapped != MAP_FAILED else {
            number = errno
            return nil
        }
        start = mapped
    }

    deinit { if let start { munmap(start, count) } }

    /// The bytes.
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }
    /// The bytes of a writable mapping.
    package var writable: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: start, count: count)
    }
}
