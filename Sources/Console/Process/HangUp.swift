import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Counts SIGHUP, by which logrotate(8) and similar programs tell a server that its log has been moved away.
///
/// To a process with a terminal it says that the terminal has gone, and ends it as usual.
package enum HangUp {
    private static let signalCount = Atomic<Int>(0)

    /// How often it has come since ``listen()``; any thread may ask.
    package static var count: Int { signalCount.load(ordering: .relaxed) }

    /// Counts the signal from now on, unless a terminal controls this process, or it is ignored.
    package static func listen() {
        // Initialized before the handler can run.
        guard !System.hasTerminal, count >= 0 else { return }
        Interruption.handle(SIGHUP) { _ in HangUp.note() }
    }

    /// Runs inside the signal handler.
    private static func note() { signalCount.add(1, ordering: .relaxed) }
}
