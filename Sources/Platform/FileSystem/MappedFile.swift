#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The bytes of a file as memory (mmap(2)), for content too large to be copied to the heap.
///
/// A file that another program truncates meanwhile ends the process (SIGBUS), so map only files that do not change,
/// such as objects and a process's own staged files. Several threads may read at once.
package final class MappedFile: @unchecked Sendable {
    // Unchecked: the memory is the mapping's own until `deinit`, and only its one owner writes to it.
    private let start: UnsafeMutableRawPointer?
    private let count: Int

    /// - Parameters:
    ///   - file: open for reading; for a writable mapping, also for writing, with its space reserved.
    ///   - byteCount: at most the size of the file.
    ///   - number: gets the error number if the system refuses; the result is then `nil`.
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

    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }
    package var writable: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: start, count: count)
    }
}
