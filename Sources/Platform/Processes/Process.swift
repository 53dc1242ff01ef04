import CSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The number of this process, for names that people read.
package func processIdentifier() -> Int32 { getpid() }

/// Seconds since 1970, for people: no decision depends on it.
package func secondsNow() -> Int64 { nanosecondsNow() / 1_000_000_000 }

/// Nanoseconds since 1970, by the file system's clock; a clock before 1970 stands at 1970.
package func nanosecondsNow() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return max(0, castree_nanoseconds(&now))
}

/// Lets the thread rest, to wait for something for which no system call waits.
///
/// A signal may end it early.
package func pause(milliseconds: Int32) { _ = poll(nil, 0, milliseconds) }

/// Makes large pieces of memory go back to the system as soon as they are freed.
///
/// glibc gives pieces from 128 KiB on memory of their own, but raises that limit to the size of each such
/// piece that is freed (mallopt(3), M_MMAP_THRESHOLD), and smaller pieces stay with the process: the
/// memory of a command would depend on which of its threads ends first. For programs, before their first
/// thread; a library leaves the allocator to its program.
package func returnFreedMemory() { castree_fix_mapping_threshold(128 << 10) }
