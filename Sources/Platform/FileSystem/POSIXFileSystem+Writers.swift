import CSystem

#if canImport(Glibc)
    import Glibc
#endif

extension POSIXFileSystem {
    /// Takes and returns a lease for reading (fcntl(2), F_SETLEASE), which is refused while a process can write.
    ///
    /// `nil` for other users' files without CAP_LEASE, on file systems without leases, and outside of Linux.
    package func isOpenForWriting(_ file: Int32) -> Bool? {
        #if os(Linux)
            // A process that opens the file for writing in between waits until the lease is back, and we get a
            // signal. This one is ignored unless a handler was installed; the default, SIGIO, would end the process.
            guard fcntl(file, setSignal, SIGURG) == 0 else { return nil }
            if fcntl(file, setLease, Int32(F_RDLCK)) == 0 {
                // Cannot fail on a lease that we have; closing the file would do it, too.
                _ = fcntl(file, setLease, Int32(F_UNLCK))
                return false
            }
            return errno == EAGAIN ? true : nil
        #else
            return nil
        #endif
    }
}

#if os(Linux)
    // fcntl(2): not in the headers that Swift sees.
    private let setSignal: Int32 = 10  // F_SETSIG
    private let setLease: Int32 = 1024  // F_SETLEASE
#endif
