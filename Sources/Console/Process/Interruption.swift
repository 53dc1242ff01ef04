import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Whether SIGINT or SIGTERM has asked the program to stop.
///
/// Long work checks `isRequested`, keeps what is staged and ends. A second signal ends the process at once, and so do
/// thirty seconds.
package enum Interruption {
    /// Whether a signal has come; any thread may ask, at the cost of a load.
    package static var isRequested: Bool {
        signalCount.load(ordering: .relaxed) > 0
    }

    /// Whether the signal was SIGINT, which a terminal sends; the others ask a service to end.
    package static var isByTerminal: Bool {
        firstSignal.load(ordering: .relaxed) == SIGINT
    }

    /// A descriptor that becomes readable when a signal comes, and stays so; nil if handlers are not installed.
    ///
    /// For poll(2) and similar calls: a signal interrupts a call in only one thread, perhaps another one.
    package static var wakeDescriptor: Int32? {
        let descriptor = wakeSource.load(ordering: .relaxed)
        return descriptor < 0 ? nil : descriptor
    }

    private static let signalCount = Atomic<Int>(0)
    private static let firstSignal = Atomic<Int32>(0)
    private static let wakeSource = Atomic<Int32>(-1)
    private static let wakeTarget = Atomic<Int32>(-1)

    /// Installs the handlers; ignores SIGPIPE and SIGXFSZ, so that write(2) returns these errors instead.
    static func install() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        // A parent may ignore it for itself, which is inherited: then the end of a child cannot be known (wait(2)).
        signal(SIGCHLD, SIG_DFL)
        // Touches every variable once: the handler must not be the one that initializes them.
        guard signalCount.load(ordering: .relaxed) == 0, wakeDescriptor == nil,
            wakeTarget.load(ordering: .relaxed) < 0, firstSignal.load(ordering: .relaxed) == 0
        else { return }
        handle(SIGALRM) { _ in _exit(ExitStatus.interrupted.rawValue) }
        // If no descriptor is left for a pipe, `isRequested` still works.
        if let ends = try? System.makePipe(isWake: true) {
            wakeSource.store(ends.source, ordering: .relaxed)
            wakeTarget.store(ends.target, ordering: .relaxed)
        }
        for number in [SIGINT, SIGTERM] { handle(number) { Interruption.noteSignal($0) } }
    }

    /// Handles a signal from now on, unless it is ignored.
    static func handle(_ number: Int32, _ handler: @escaping SignalHandler) {
        var action = sigaction()
        // A shell starts background work with SIGINT ignored; nohup-like programs do the same.
        if sigaction(number, nil, &action) == 0, isIgnoring(action) { return }
        action = sigaction()
        // SA_RESTART: libraries need not expect EINTR; poll(2) and nanosleep(2) return it all the same (signal(7)).
        action.sa_flags = Int32(SA_RESTART)
        setHandler(of: &action, handler)
        guard sigaction(number, &action, nil) == 0 else { return }
        // A parent may block signals for itself, and its mask is inherited (signal(7)).
        var handled = sigset_t()
        sigemptyset(&handled)
        sigaddset(&handled, number)
        pthread_sigmask(SIG_UNBLOCK, &handled, nil)
    }

    /// Runs inside the signal handler: atomics, alarm(2), write(2) and _exit(2) only (signal-safety(7)).
    private static func noteSignal(_ number: Int32) {
        if signalCount.add(1, ordering: .relaxed).newValue > 1 {
            _exit(ExitStatus.interrupted.rawValue)
        }
        firstSignal.store(number, ordering: .relaxed)
        // A file system that hangs may hold a thread for ever.
        alarm(30)
        let savedError = errno
        System.wake(wakeTarget.load(ordering: .relaxed))
        errno = savedError
    }
}

/// Waits until a descriptor is readable or at its end, or a signal asks this program to stop.
package func waitUntilReadable(_ descriptor: Int32) {
    let watched = [descriptor] + [Interruption.wakeDescriptor].compactMap { $0 }
    // If waiting fails, the read that follows waits, and reports any error.
    _ = try? System.waitUntilReadable(watched)
}

typealias SignalHandler = @convention(c) (Int32) -> Void

#if canImport(Darwin)
    private func setHandler(of action: inout sigaction, _ handler: @escaping SignalHandler) {
        action.__sigaction_u.__sa_handler = handler
    }

    private func isIgnoring(_ action: sigaction) -> Bool {
        unsafeBitCast(action.__sigaction_u.__sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
#else
    private func setHandler(of action: inout sigaction, _ handler: @escaping SignalHandler) {
        action.__sigaction_handler.sa_handler = handler
    }

    private func isIgnoring(_ action: sigaction) -> Bool {
        unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
#endif
