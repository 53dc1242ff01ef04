package import CASStore
package import Console
import Synchronization

/// The output of a running server: a line for every answered request, and notices for its operator.
///
/// `2026-11-21T20:40:00Z GET /app.js 200 1234 0.213 192.0.2.7`: when, method, target as sent, status, bytes with the
/// head, milliseconds, client. Each line is one write(2) to a file opened for appending, so the file can be moved
/// away and several servers may share it; to a pipe or a terminal only a short line is one write. After SIGHUP the
/// next line goes to the file that is at the path then (``HangUp``). Serving threads never wait for it
/// (``LineQueue``). Thread-safe.
package final class AccessLog: Sendable {
    private let file: Descriptor?
    private let lines: LineQueue

    package init(_ path: String, _ notices: ServerNotices) throws(StoreError) {
        // What is open may be a socket, such as systemd's journal: that cannot be opened again (ENXIO).
        let isStandardOutput = path == "/dev/stdout"
        if !isStandardOutput { try refuseOwnPlace(path) }
        let open = { @Sendable () throws(StoreError) -> Descriptor in
            try openToAppend(path, asking: fileSystem(forWritingIn:_:))
        }
        var raw: Int32 = 1
        if isStandardOutput {
            file = nil
        } else {
            let opened = try open()
            raw = opened.raw
            file = consume opened
        }
        let (turns, number) = (Turns(), raw)
        lines = LineQueue(
            descriptor: number,
            onTurn: {
                guard !isStandardOutput, turns.isNew() else { return }
                do throws(StoreError) {
                    let next = try open()
                    try POSIXFileSystem().redirect(number, to: next.raw)
                } catch {
                    notices.tell(
                        "the access log continues in the file that was moved away: \(error.message)"
                    )
                }
            },
            onLoss: { count in
                notices.tell("\(Self.lost(count)) from the access log, which took none for a while")
                return nil
            },
            onFailure: { notices.tell("unable to write the access log: \($0)") })
    }

    private final class Turns: Sendable {
        private let seen = Atomic<Int>(HangUp.count)

        func isNew() -> Bool {
            let count = HangUp.count
            return seen.exchange(count, ordering: .relaxed) != count
        }
    }

    /// Appends a line; never waits.
    package func append(_ line: RequestLine) { lines.add(line.bytes) }

    /// Writes what can be written without waiting.
    package func end() { lines.end() }

    static func lost(_ count: Int) -> String {
        count == 1 ? "1 line was dropped" : "\(count) lines were dropped"
    }
}

/// The log line of one request.
package struct RequestLine: Sendable {
    let bytes: [UInt8]

    /// Makes the line, with the current time.
    ///
    /// Every such line is written here, so that text from a client cannot end a line, steer a terminal or reverse
    /// text.
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

/// Standard error while a server runs: warnings, and the access log if it goes there.
package final class ServerNotices: Sendable {
    private let diagnostics: Diagnostics
    private let lines: LineQueue

    /// Prepares for a server: from now on SIGHUP ends it only if its terminal is gone.
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

    /// Prints what has happened, unless `--quiet` was given; never waits.
    package func note(_ message: String) {
        guard let line = diagnostics.noteLine(code: "update", message) else { return }
        lines.add(line)
    }

    /// Prints a line of the access log; never waits.
    package func append(_ line: RequestLine) { lines.add(line.bytes) }

    /// Writes what can be written without waiting.
    package func end() { lines.end() }
}

extension Invocation {
    /// Where `--access-log` sends its lines, if it is given; the caller ends a file.
    package func accessLog(
        _ notices: ServerNotices
    ) throws -> (file: AccessLog?, append: (@Sendable (RequestLine) -> Void)?) {
        guard let path = try value("access-log") else { return (nil, nil) }
        if ["-", "/dev/stderr"].contains(path) { return (nil, { notices.append($0) }) }
        let file = try AccessLog(path, notices)
        return (file, { file.append($0) })
    }
}
