#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A user's command that transforms its standard input into its standard output.
///
/// Its standard error is this program's. With a terminal it stays in the terminal's process group, so that it may ask
/// for a PIN; otherwise it has a group of its own, and its children end with it if it is killed. Its answer is what
/// it has written when it ends; its children are not waited for.
package enum FilterProgram {
    package enum Ending: Sendable, Hashable {
        case exited(Int32)
        case killed
        case late
        /// A signal asked this program to stop.
        case interrupted
        case talkative
    }

    /// Runs a shell command to its end; it need not read all of its input.
    /// - Throws: if it cannot be started.
    package static func run(
        _ command: String, on bytes: [UInt8], answering byteCountMax: Int, within limit: Duration
    ) throws(SystemError) -> (ending: Ending, output: [UInt8]) {
        let isLeader = !System.hasTerminal
        // Others do not expect the signals to be ignored that this program ignores (Interruption).
        let child = try ChildProgram("/bin/sh", ["sh", "-c", command], isLeader: isLeader)
        if let input = child.input {
            _ = fcntl(input, F_SETFL, fcntl(input, F_GETFL) | O_NONBLOCK)
        }
        let deadline = ContinuousClock.now + limit
        var rest = bytes[...]
        var answer: [UInt8] = []
        var isAnswering = true
        while true {
            if rest.isEmpty || !isAnswering { child.closeInput() }
            guard deadline > .now else { return (.late, answer) }
            // What it wrote before is in the pipe; its children may hold that open for longer.
            let hasEnded = child.hasEnded
            var requests = [
                pollfd(fd: isAnswering ? child.output : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: child.input ?? -1, events: Int16(POLLOUT), revents: 0),
                pollfd(
                    fd: Interruption.wakeDescriptor ?? -1, events: Int16(POLLIN), revents: 0),
            ]
            // Once it has closed its output it ends in a moment.
            _ = poll(&requests, nfds_t(requests.count), hasEnded ? 0 : isAnswering ? 50 : 2)
            if requests[2].revents != 0 { return (.interrupted, answer) }
            if requests[0].revents != 0 {
                var chunk = [UInt8](repeating: 0, count: 4096)
                let count = read(child.output, &chunk, chunk.count)
                if count > 0 { answer += chunk[..<count] }
                if count == 0 || (count < 0 && errno != EINTR) { isAnswering = false }
                if answer.count > byteCountMax { return (.talkative, answer) }
            } else if hasEnded {
                return (child.wait().map { .exited($0) } ?? .killed, answer)
            }
            if requests[1].revents != 0, let input = child.input {
                let count = rest.withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
                if count > 0 { rest = rest.dropFirst(count) }
                // It has closed its input, having read all it wants.
                if count < 0, errno != EAGAIN, errno != EINTR { child.closeInput() }
            }
        }
    }
}
