import CASStore
import Console
import ServeFromCAS

/// What a server says while it runs: a line for every answered request, and what its operator should know.
///
/// `2026-11-21T20:40:00Z GET /app.js 200 1234 0.213`: when, method, target as it was sent, status, bytes
/// with the head, milliseconds. Each line is one write(2) to a file opened for appending, so the file can
/// be moved away and several servers may share it; to a pipe or a terminal only a short line is one write.
/// The threads that serve never wait for it (``LineQueue``). Safe to use from any thread.
final class AccessLog: Sendable {
    private let file: Descriptor
    private let lines: LineQueue

    /// Opens the log, creating it.
    init(_ path: String, _ notices: ServerNotices) throws(StoreError) {
        let fileSystem = POSIXFileSystem()
        let here = POSIXFileSystem.workingDirectory
        // Opening for appending does not create the file.
        do throws(StoreError) {
            _ = try fileSystem.open(here, path, .updating, mode: 0o644)
        } catch {
            throw fileSystem.naming(directoryMissingAbove: path, error)
        }
        file = try fileSystem.open(here, path, .appending, mode: 0)
        lines = LineQueue(
            descriptor: file.raw,
            onLoss: { count in
                notices.tell("\(Self.lost(count)) from the access log, which took none for a while")
                return nil
            },
            onFailure: { notices.tell("unable to write the access log: \($0)") })
    }

    /// Appends a line; never waits.
    func append(_ record: AccessRecord) { lines.add(Self.line(record)) }

    /// Writes what can be written without waiting for anybody.
    func end() { lines.end() }

    static func line(_ record: AccessRecord) -> [UInt8] {
        let microseconds = record.nanoseconds / 1000
        let digits = String(microseconds % 1000)
        let fraction = String(repeating: "0", count: 3 - digits.count) + digits
        let line =
            "\(timestamp(secondsNow())) \(record.method) \(record.target) \(record.status) "
            + "\(record.byteCount) \(microseconds / 1000).\(fraction)\n"
        return Array(line.utf8)
    }

    static func lost(_ count: Int) -> String {
        count == 1 ? "1 line was dropped" : "\(count) lines were dropped"
    }
}

/// What goes to standard error while a server runs: warnings, and the access log if it goes there.
final class ServerNotices: Sendable {
    private let diagnostics: Diagnostics
    private let lines: LineQueue

    init(_ diagnostics: Diagnostics) {
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
    func tell(_ message: String) {
        lines.add(diagnostics.warningLine(code: "notice", message))
    }

    /// Prints what has happened, unless only results are wanted; never waits.
    func note(_ message: String) {
        guard let line = diagnostics.noteLine(code: "update", message) else { return }
        lines.add(line)
    }

    /// Prints a line of the access log; never waits.
    func append(_ record: AccessRecord) { lines.add(AccessLog.line(record)) }

    /// Writes what can be written without waiting for anybody.
    func end() { lines.end() }
}
