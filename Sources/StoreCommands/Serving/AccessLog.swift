package import CASStore
package import Console
import Synchronization

/// What a server says while it runs: a line for every answered request, and what its operator should know.
///
/// `2026-11-21T20:40:00Z GET /app.js 200 1234 0.213 192.0.2.7`: when, method, target as it was sent, status, bytes
/// with the head, milliseconds, client. Each line is one write(2) to a file opened for appending, so the file can
/// be moved away and several servers may share it; to a pipe or a terminal only a short line is one write.
/// After SIGHUP the next line goes to the file that is at the path then (``HangUp``).
/// The threads that serve never wait for it (``LineQueue``). Safe to use from any thread.
package final class AccessLog: Sendable {
    private let file: Descriptor
    private let lines: LineQueue

    /// Opens the log, creating it.
    package init(_ path: String, _ notices: ServerNotices) throws(StoreError) {
        try refuseOwnPlace(path)
        let open = { @Sendable () throws(StoreError) -> Descriptor in
            try openToAppend(path, asking: fileSystem(forWritingIn:_:))
        }
        file = try open()
        let (turns, number) = (Turns(), file.raw)
        lines = LineQueue(
            descriptor: file.raw,
            onTurn: {
                guard turns.isNew() else { return }
                do throws(StoreError) {
                    let next = try open()
                    try POSIXFileSystem().redirect(number, to: next.raw)
                } catch {
                    notices.tell(
                        "the access log goes on in the file that was moved away: \(error.message)")
                }
            },
            onLoss: { count in
                notices.tell("\(Self.lost(count)) from the access log, which took none for a while")
                return nil
            },
            onFailure: { notices.tell("unable to write the access log: \($0)") })
    }

    /// Which signal was heeded last.
    private final class Turns: Sendable {
        private let seen = Atomic<Int>(HangUp.count)

        /// Whether another has come since.
        func isNew() -> Bool {
            let count = HangUp.count
            return seen.exchange(count, ordering: .relaxed) != count
        }
    }

    /// Appends a line; never waits.
    package func append(_ line: RequestLine) { lines.add(line.bytes) }

    /// Writes what can be written without waiting for anybody.
    package func end() { lines.end() }

    static func lost(_ count: Int) -> String {
        count == 1 ? "1 line was dropped" : "\(count) lines were dropped"
    }
}

/// What is said of one request.
package struct RequestLine: Sendable {
    /// The line, with its end.
    let bytes: [UInt8]

    /// Says when it is now.
    ///
    /// The one writer of such lines: what a client sent cannot end a line, steer a terminal or turn text around.
    /// - Parameters:
    ///   - nanoseconds: how long the answer took.
    ///   - client: the address that it went to.
    package init(
        _ method: String, _ target: String, status: Int, byteCount: Int64, nanoseconds: Int64,
        client: String
    ) {
        let microseconds = nanoseconds / 1000
        let digits = String(microseconds % 1000)
        let fraction = String(repeating: "0", count: 3 - digits.count) + digits
        let line =
            "\(timestamp(secondsNow())) \(printable(method)) \(printable(target, .max)) \(status) \(byteCount) "
            + "\(microseconds / 1000).\(fraction) \(printable(client))\n"
        bytes = Array(line.utf8)
    }
}

/// What goes to standard error while a server runs: warnings, and the access log if it goes there.
package final class ServerNotices: Sendable {
    private let diagnostics: Diagnostics
    private let lines: LineQueue

    /// Of a server that begins: from now on SIGHUP ends it only where its terminal has gone.
    package init(_ diagnostics: Diagnostics) {
        HangUp.listen()
        self.diagnostics = diagnostics
        lines = LineQueue(
            descriptor: 2,
            onLoss: { count in
                diagnostics.warningLine(
                    code: "linesDropped",
                    "\(AccessLog.lost(count)) here, because nobody read the ones before")
            })
    }

    /// Prints a warning; never waits.
    package func tell(_ message: String) {
        lines.add(diagnostics.warningLine(code: "notice", message))
    }

    /// Prints what has happened, unless only results are wanted; never waits.
    package func note(_ message: String) {
        guard let line = diagnostics.noteLine(code: "update", message) else { return }
        lines.add(line)
    }

    /// Prints a line of the access log; never waits.
    package func append(_ line: RequestLine) { lines.add(line.bytes) }

    /// Writes what can be written without waiting for anybody.
    package func end() { lines.end() }
}

extension Invocation {
    /// Where `--access-log` sends its lines, if it is given; a file is to be ended.
    package func accessLog(
        _ notices: ServerNotices
    ) throws -> (file: AccessLog?, append: (@Sendable (RequestLine) -> Void)?) {
        guard let path = try value("access-log") else { return (nil, nil) }
        if path == "-" { return (nil, { notices.append($0) }) }
        let file = try AccessLog(path, notices)
        return (file, { file.append($0) })
    }
}
