import CSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The number of this process, for names that people read.
package func processIdentifier() -> Int32 { getpid() }

/// Seconds since 1970, for people: nothing is decided by it.
package func secondsNow() -> Int64 { nanosecondsNow() / 1_000_000_000 }

/// Nanoseconds since 1970, as the file system's clock sees them.
package func nanosecondsNow() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
}

/// Lets the thread rest: for those who wait for what no call of the system waits for.
///
/// A signal may end it early.
package func pause(milliseconds: Int32) { _ = poll(nil, 0, milliseconds) }

/// Makes large pieces of memory go back to the system as soon as they are freed.
///
/// glibc gives pieces from 128 KiB on memory of their own, but raises that limit to the size of each
/// such piece that is freed (mallopt(3), M_MMAP_THRESHOLD), and what is smaller than the limit stays with
/// the process: how much memory a command takes would depend on which of its threads ends first. For
/// programs, before their first thread; a library leaves the allocator to the program it is in.
package func returnFreedMemory() { castree_fix_mapping_threshold(128 << 10) }
