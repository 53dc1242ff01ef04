import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A child program whose output is read line by line.
///
/// Its standard input is a pipe that ends with this process, however that ends. Its standard error and output are one
/// stream. One thread follows it, once; any thread may end it.
package final class ChildProgram: Sendable {
    private let process: pid_t
    /// Whether it has a process group of its own, so that its children get the signals that it is sent.
    private let isLeader: Bool
    let output: Int32
    private let input: Int32?
    /// Once it has been waited for, its process id may be reused.
    private let hasEnded = Mutex(false)

    /// - Parameter hasInput: whether its standard input lasts as long as this process; otherwise it is closed.
    package convenience init(
        _ path: String, _ words: [String], hasInput: Bool = true
    ) throws(SystemError) {
        let child = try Self.spawn(path, [path] + words, takingErrors: true, hasInput: hasInput)
        self.init(
            child.process, output: child.output, input: hasInput ? child.input : nil,
            isLeader: false)
    }

    init(_ process: pid_t, output: Int32, input: Int32?, isLeader: Bool) {
        self.process = process
        self.isLeader = isLeader
        self.output = output
        self.input = input
    }

    /// Starts a program with pipes as its standard input and output.
    /// - Parameters:
    ///   - words: its arguments, beginning with the name it is called by.
    ///   - takesErrors: whether its standard error is its output, too; otherwise it is this program's.
    ///   - hasInput: whether its input lasts; otherwise it is at its end before the program begins.
    ///   - flags: of posix_spawnattr_setflags(3); POSIX_SPAWN_SETSIGDEF resets the signals ``Interruption`` ignores.
    static func spawn(
        _ path: String, _ words: [String], takingErrors takesErrors: Bool, hasInput: Bool = true,
        _ flags: Int32 = 0
    ) throws(SystemError) -> (process: pid_t, input: Int32, output: Int32) {
        let out = try System.makePipe()
        let inward: (source: Int32, target: Int32)
        do throws(SystemError) {
            inward = try System.makePipe()
        } catch {
            shut([out.source, out.target])
            throw error
        }
        if !hasInput { shut([inward.target]) }
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        #if canImport(Glibc)
            var actions = posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
        #else
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        // A copy made by dup2 stays open in the new program; the originals do not.
        posix_spawn_file_actions_adddup2(&actions, inward.source, 0)
        for target: Int32 in takesErrors ? [1, 2] : [1] {
            posix_spawn_file_actions_adddup2(&actions, out.target, target)
        }
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGPIPE, SIGXFSZ] { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var process = pid_t()
        let result = posix_spawn(&process, path, &actions, &attributes, &arguments, environ)
        shut([inward.source, out.target])
        guard result == 0 else {
            shut(hasInput ? [inward.target, out.source] : [out.source])
            throw SystemError(number: result)
        }
        return (process, inward.target, out.source)
    }

    deinit {
        kill(SIGKILL)
        _ = wait()
        Self.shut([output] + (input.map { [$0] } ?? []))
    }

    package struct End: Sendable, Hashable {
        /// The exit status; `nil` if a signal ended it.
        package var status: Int32?
        /// Whether it was ended because it printed nothing for too long.
        package var wasSilent = false
    }

    /// Follows the program to its end, but not its children, which may still hold its output then.
    ///
    /// A program that prints nothing for too long, perhaps because it is stopped (SIGSTOP), is asked to end, and then
    /// killed. An unwanted one is killed at once.
    /// - Parameters:
    ///   - silence: how long it may print nothing, while the system runs.
    ///   - grace: how long it may take to end when it is asked to.
    ///   - isUnwanted: whether to kill it; polled four times a second.
    ///   - stopped: called with its process id when it is found stopped; again after it has continued.
    ///   - heard: gets each line, without its line feed.
    package func follow(
        silence: Duration, grace: Duration, isUnwanted: () -> Bool = { false },
        stopped: (Int32) -> Void, heard: ([UInt8]) -> Void
    ) -> End {
        var (lines, isStopped, pause) = (Lines(), false, Int32(1))
        var lastHeard = SuspendingClock.now
        var askedToEnd: SuspendingClock.Instant?
        while true {
            if isUnwanted() { kill() }
            let isThere = !lines.hasEnded && isReadable(within: Self.pulse)
            if isThere {
                lines.read(output)
                while let line = lines.next() { heard(line) }
                (lastHeard, isStopped) = (.now, false)
                if !lines.hasEnded { continue }
            }
            switch glance() {
            case .ended:
                // What it wrote before is in the pipe.
                while !lines.hasEnded, isReadable(within: 0) { lines.read(output) }
                lines.hasEnded = true
                while let line = lines.next() { heard(line) }
                return End(status: wait(), wasSilent: askedToEnd != nil)
            case .stopped where !isStopped:
                isStopped = true
                stopped(process)
            case .stopped: break
            case .runs: isStopped = false
            }
            let now = SuspendingClock.now
            if let askedToEnd {
                if now - askedToEnd > grace { kill() }
            } else if now - lastHeard > silence {
                askedToEnd = now
                end()
            }
            guard lines.hasEnded else { continue }
            // It has closed its output and is usually about to end.
            poll(nil, 0, pause)
            pause = min(pause * 2, Self.pulse)
        }
    }

    /// The interval of checks for its end or stop, in milliseconds.
    private static let pulse: Int32 = 250

    private func isReadable(within milliseconds: Int32) -> Bool {
        var request = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        return poll(&request, 1, milliseconds) > 0
    }

    enum Glance {
        case runs, stopped, ended
    }

    /// Its current state, without reaping it.
    func glance() -> Glance {
        var info = siginfo_t()
        guard waitid(P_PID, id_t(process), &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == 0
        else {
            // Another thread has waited for it.
            return errno == ECHILD ? .ended : .runs
        }
        guard info.si_signo != 0 else { return .runs }
        return Int(info.si_code) == Int(CLD_STOPPED) ? .stopped : .ended
    }

    private struct Lines {
        var bytes: [UInt8] = []
        var hasEnded = false

        mutating func read(_ source: Int32) {
            var chunk = [UInt8](repeating: 0, count: 1 << 14)
            let count = cRead(source, &chunk, chunk.count)
            if count > 0 {
                bytes += chunk[..<count]
            } else if count == 0 || errno != EINTR {
                hasEnded = true
            }
        }

        mutating func next() -> [UInt8]? {
            if let end = bytes.firstIndex(of: 10) {
                defer { bytes.removeSubrange(...end) }
                return Array(bytes[..<end])
            }
            guard hasEnded || bytes.count > lineByteCountMax, !bytes.isEmpty else { return nil }
            defer { bytes = [] }
            return bytes
        }
    }

    /// Waits for the end.
    /// - Returns: the exit status; `nil` if a signal ended it, or another call has returned it.
    func wait() -> Int32? {
        var info = siginfo_t()
        // Not reaped yet, so that its process id stays its own while another thread sends it a signal.
        while waitid(P_PID, id_t(process), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        return hasEnded.withLock { hasEnded -> Int32? in
            guard !hasEnded else { return nil }
            hasEnded = true
            var status: Int32 = 0
            while waitpid(process, &status, 0) < 0 {
                guard errno == EINTR else { return nil }
            }
            // As the macros of wait(2) read it, which Swift does not import.
            return status & 0x7f == 0 ? (status >> 8) & 0xff : nil
        }
    }

    package func end() { kill(SIGTERM) }

    package func kill() { kill(SIGKILL) }

    private func kill(_ signal: Int32) {
        hasEnded.withLock { hasEnded in
            guard !hasEnded else { return }
            cKill(isLeader ? -process : process, signal)
        }
    }

    static func shut(_ descriptors: [Int32]) {
        for descriptor in descriptors { close(descriptor) }
    }
}

/// Longer lines are cut; none of ours comes near.
private let lineByteCountMax = 1 << 20

private func cRead(_ source: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(source, buffer, count)
}

private func cKill(_ process: pid_t, _ signal: Int32) { _ = kill(process, signal) }

/// Whether the other end of this program's standard input is closed.
package func hasInputEnded() -> Bool {
    var request = pollfd(fd: 0, events: 0, revents: 0)
    return poll(&request, 1, 0) > 0 && request.revents & Int16(POLLHUP) != 0
}

/// Waits until a descriptor is readable or at its end, or a signal asks this program to stop.
package func waitUntilReadable(_ descriptor: Int32) {
    let watched = [descriptor] + [Interruption.wakeDescriptor].compactMap { $0 }
    // If waiting fails, the read that follows waits, and reports any error.
    _ = try? System.waitUntilReadable(watched)
}
