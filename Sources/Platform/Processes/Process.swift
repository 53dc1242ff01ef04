import CSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

package func processIdentifier() -> Int32 { getpid() }

/// Seconds since 1970, for people: no decision depends on it.
package func secondsNow() -> Int64 { nanosecondsNow() / 1_000_000_000 }

/// Nanoseconds since 1970, by the file system's clock; a clock before 1970 gives 0.
package func nanosecondsNow() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return max(0, castree_nanoseconds(&now))
}

/// Pauses the thread, to wait for something that no system call waits for; a signal may end it early.
package func pause(milliseconds: Int32) { _ = poll(nil, 0, milliseconds) }

/// Makes large allocations return to the system as soon as they are freed.
///
/// glibc maps allocations from 128 KiB on separately, but raises that limit to the size of each such one that is
/// freed (mallopt(3), M_MMAP_THRESHOLD): a command's memory would depend on which of its threads ends first. For
/// programs, before their first thread; a library leaves the allocator to its program.
package func returnFreedMemory() { castree_fix_mapping_threshold(128 << 10) }

/// Makes a pipe (pipe(7)) that no child inherits, not even one that another thread is just starting.
/// - Returns: its ends; `nil` with `errno` if the system has none left.
package func openPipe() -> (source: Int32, target: Int32)? {
    var ends: [Int32] = [-1, -1]
    return castree_pipe(&ends) == 0 ? (ends[0], ends[1]) : nil
}

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The value of an environment variable of this process; `nil` if it is not set.
@Sendable package func environmentVariable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
}
