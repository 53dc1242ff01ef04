#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// How many files the process may have open.
package enum FileLimit {
    #if canImport(Glibc)
        private static var resource: Int32 { Int32(RLIMIT_NOFILE.rawValue) }
    #else
        private static var resource: Int32 { RLIMIT_NOFILE }
    #endif

    /// The current soft limit; if it is unknown 256, the least that any system gives.
    package static var current: Int {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 256 }
        return Int(clamping: limit.rlim_cur)
    }

    /// Raises the limit as far as the system lets a process raise it; the program works with less.
    ///
    /// For programs that serve, before they begin; a library must not do this.
    package static func raise() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        #if canImport(Darwin)
            limit.rlim_cur = min(limit.rlim_max, rlim_t(OPEN_MAX))
        #else
            limit.rlim_cur = min(limit.rlim_max, 65_536)
        #endif
        _ = setrlimit(resource, &limit)
    }
}
