import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Another program that this one has started: what it prints comes line by line.
///
/// Its standard input is a pipe that ends with this process, however that ends. Its standard error and
/// output are one stream. Lines are read by one thread; any thread may end it.
package final class ChildProgram: Sendable {
    /// A longer line is cut: no line of ours comes near.
    private static let lineByteCountMax = 1 << 20

    private struct Reading {
        var bytes: [UInt8] = []
        var hasEnded = false
    }

    private let process: pid_t
    private let output: Int32
    private let input: Int32
    private let reading = Mutex(Reading())
    /// The number of a process is another's once it has been waited for.
    private let hasEnded = Mutex(false)

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - path: its file.
    ///   - words: its arguments.
    package init(_ path: String, _ words: [String]) throws(SystemError) {
        let out = try Self.makePipe()
        let inward: (source: Int32, target: Int32)
        do throws(SystemError) {
            inward = try Self.makePipe()
        } catch {
            Self.shut([out.source, out.target])
            throw error
        }
        var arguments: [UnsafeMutablePointer<CChar>?] =
            ([path] + words).map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        #if canImport(Glibc)
            var actions = posix_spawn_file_actions_t()
        #else
            var actions: posix_spawn_file_actions_t?
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // A copy made by dup2 stays open in the new program; the originals do not.
        posix_spawn_file_actions_adddup2(&actions, inward.source, 0)
        posix_spawn_file_actions_adddup2(&actions, out.target, 1)
        posix_spawn_file_actions_adddup2(&actions, out.target, 2)
        var process = pid_t()
        let result = posix_spawn(&process, path, &actions, nil, &arguments, environ)
        Self.shut([inward.source, out.target])
        guard result == 0 else {
            Self.shut([inward.target, out.source])
            throw SystemError(number: result)
        }
        self.process = process
        output = out.source
        input = inward.target
    }

    deinit {
        kill(SIGKILL)
        _ = wait()
        Self.shut([output, input])
    }

    /// The next line without its end; `nil` when the program has closed its output.
    ///
    /// Waits for it.
    package func readLine() -> [UInt8]? {
        reading.withLock { state in
            while true {
                if let end = state.bytes.firstIndex(of: 10) {
                    defer { state.bytes.removeSubrange(...end) }
                    return Array(state.bytes[..<end])
                }
                if state.hasEnded || state.bytes.count > Self.lineByteCountMax {
                    defer { state.bytes = [] }
                    return state.bytes.isEmpty ? nil : state.bytes
                }
                var chunk = [UInt8](repeating: 0, count: 1 << 14)
                let count = read(output, &chunk, chunk.count)
                if count > 0 {
                    state.bytes += chunk[..<count]
                } else if count == 0 || errno != EINTR {
                    state.hasEnded = true
                }
            }
        }
    }

    /// Waits for the end.
    ///
    /// - Returns: the exit status; `nil` if a signal ended it, or somebody has asked before.
    package func wait() -> Int32? {
        var info = siginfo_t()
        // Not taken away yet, so that its number stays its own while somebody sends it a signal.
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

    /// Asks the program to end.
    package func end() { kill(SIGTERM) }

    /// Ends the program at once.
    package func kill() { kill(SIGKILL) }

    private func kill(_ signal: Int32) {
        hasEnded.withLock { hasEnded in
            guard !hasEnded else { return }
            cKill(process, signal)
        }
    }

    static func makePipe() throws(SystemError) -> (source: Int32, target: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemError(number: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    static func shut(_ descriptors: [Int32]) {
        for descriptor in descriptors { close(descriptor) }
    }
}

private func cKill(_ process: pid_t, _ signal: Int32) { _ = kill(process, signal) }

/// Whether whoever holds the other end of this program's standard input has gone.
package func hasInputEnded() -> Bool {
    var request = pollfd(fd: 0, events: 0, revents: 0)
    return poll(&request, 1, 0) > 0 && request.revents & Int16(POLLHUP) != 0
}
