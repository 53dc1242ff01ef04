#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A command of the user's that turns bytes into others: its standard input into its standard output.
///
/// Its standard error is this program's. Where there is a terminal it stays in that one's process group, so it may ask
/// there for a PIN; elsewhere it has a group of its own, and what it has started ends with it if it is ended. When the
/// command itself has ended, its answer is what it has written by then: nobody waits for what it has left behind.
package struct FilterProgram {
    /// How a run has ended.
    package enum Ending: Sendable, Hashable {
        case exited(Int32)
        /// A signal has ended it.
        case killed
        /// It took longer than it may, and was ended.
        case late
        /// A signal has asked this program to stop.
        case interrupted
        /// It answered more than it may, and was ended.
        case talkative
    }

    private let process: pid_t
    /// Whether it has a process group of its own.
    private let isLeader: Bool
    private let input: Int32
    private let output: Int32

    /// Runs a command of the shell to its end.
    ///
    /// - Parameters:
    ///   - command: what `sh -c` takes.
    ///   - bytes: its standard input; it need not read all of it.
    ///   - byteCountMax: more than this it may not answer.
    ///   - limit: so long it may take.
    /// - Throws: if it cannot be started.
    package static func run(
        _ command: String, on bytes: [UInt8], answering byteCountMax: Int, within limit: Duration
    ) throws(SystemError) -> (ending: Ending, output: [UInt8]) {
        let program = try FilterProgram(command)
        defer { ChildProgram.shut([program.output]) }
        let deadline = ContinuousClock.now + limit
        let (output, ending) = program.exchange(bytes, byteCountMax, deadline)
        return (ending ?? program.wait(until: deadline), output)
    }

    private init(_ command: String) throws(SystemError) {
        isLeader = !Self.hasTerminal
        // What this program ignores, others do not expect to be ignored (Interruption).
        (process, input, output) = try ChildProgram.spawn(
            "/bin/sh", ["sh", "-c", command], takingErrors: false,
            Int32(POSIX_SPAWN_SETSIGDEF) | (isLeader ? Int32(POSIX_SPAWN_SETPGROUP) : 0))
        _ = fcntl(input, F_SETFL, fcntl(input, F_GETFL) | O_NONBLOCK)
    }

    /// Writes its input and reads its output, until it has closed that, has ended or is ended.
    /// - Returns: how it ended; `nil` if nobody has waited for it yet.
    private func exchange(
        _ bytes: [UInt8], _ byteCountMax: Int, _ deadline: ContinuousClock.Instant
    ) -> (output: [UInt8], ending: Ending?) {
        var rest = bytes[...]
        var answer: [UInt8] = []
        var isInputOpen = true
        var ended: Ending?
        func closeInput() {
            if isInputOpen { ChildProgram.shut([input]) }
            isInputOpen = false
        }
        defer { closeInput() }
        func stop(_ ending: Ending) -> (output: [UInt8], ending: Ending?) {
            if ended == nil { end() }
            return (answer, ending)
        }
        while true {
            if rest.isEmpty { closeInput() }
            var requests = [
                pollfd(fd: output, events: Int16(POLLIN), revents: 0),
                pollfd(fd: isInputOpen ? input : -1, events: Int16(POLLOUT), revents: 0),
                pollfd(
                    fd: Interruption.wakeDescriptor ?? -1, events: Int16(POLLIN), revents: 0),
            ]
            let left = deadline - .now
            guard left > .zero else { return stop(.late) }
            // What it has started may hold its output open for longer than it runs.
            let wait = ended == nil ? min(Self.milliseconds(left), Self.wait) : 0
            let count = poll(&requests, nfds_t(requests.count), wait)
            if count == 0 {
                if ended != nil { return (answer, ended) }
                ended = ending()
            }
            if requests[2].revents != 0 { return stop(.interrupted) }
            if requests[1].revents != 0 {
                let count = rest.withUnsafeBytes { cWrite(input, $0.baseAddress, $0.count) }
                if count > 0 { rest = rest.dropFirst(count) }
                // It has closed its input: it has read what it wants.
                if count < 0, errno != EAGAIN, errno != EINTR { closeInput() }
            }
            if requests[0].revents != 0 {
                var chunk = [UInt8](repeating: 0, count: 4096)
                let count = read(output, &chunk, chunk.count)
                if count > 0 { answer += chunk[..<count] }
                if count == 0 || (count < 0 && errno != EINTR) { return (answer, ended) }
                if answer.count > byteCountMax { return stop(.talkative) }
            }
        }
    }

    /// So often one looks whether it has ended, in milliseconds.
    private static let wait: Int32 = 50

    /// How it has ended; `nil` while it runs.
    ///
    /// To be asked until it says so, and not again.
    private func ending() -> Ending? {
        var status: Int32 = 0
        let found = waitpid(process, &status, WNOHANG)
        if found < 0 { return errno == EINTR ? nil : .killed }
        guard found == process else { return nil }
        // As the macros of wait(2) read it, which Swift does not import.
        return status & 0x7f == 0 ? .exited((status >> 8) & 0xff) : .killed
    }

    private func wait(until deadline: ContinuousClock.Instant) -> Ending {
        while true {
            if let ending = ending() { return ending }
            guard deadline > .now, !Interruption.isRequested else {
                end()
                return Interruption.isRequested ? .interrupted : .late
            }
            // It has closed its output, and ends in a moment.
            _ = poll(nil, 0, 2)
        }
    }

    /// Ends it.
    private func end() {
        kill(isLeader ? -process : process, SIGKILL)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
    }

    private static var hasTerminal: Bool {
        let terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY)
        if terminal >= 0 { ChildProgram.shut([terminal]) }
        return terminal >= 0
    }

    private static func milliseconds(_ duration: Duration) -> Int32 {
        let (seconds, attoseconds) = duration.components
        return Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1)
    }
}

private func cWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
