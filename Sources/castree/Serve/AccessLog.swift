import CASStore
import Console
import ServeFromCAS
import Synchronization

/// A file with a line for every answered request.
///
/// `2026-11-21T20:40:00Z GET /app.js 200 1234 0.213`: when, method, target as it was sent, status, bytes
/// with the head, milliseconds. Each line is one write(2) to a file opened for appending, so it can be
/// moved away and several servers may share it. Safe to use from any thread.
final class AccessLog: Sendable {
    private let file: Descriptor?
    private let fileSystem = POSIXFileSystem()
    private let hasFailed = Atomic<Bool>(false)

    /// Opens the log, creating it; `-` is standard error.
    init(_ path: String) throws(StoreError) {
        guard path != "-" else {
            file = nil
            return
        }
        let here = POSIXFileSystem.workingDirectory
        // Appending does not create.
        _ = try fileSystem.open(here, path, .updating, mode: 0o644)
        file = try fileSystem.open(here, path, .appending, mode: 0)
    }

    /// Appends a line.
    func append(_ record: AccessRecord) {
        let microseconds = record.nanoseconds / 1000
        let digits = String(microseconds % 1000)
        let fraction = String(repeating: "0", count: 3 - digits.count) + digits
        let line =
            "\(timestamp(secondsNow())) \(record.method) \(record.target) \(record.status) "
            + "\(record.byteCount) \(microseconds / 1000).\(fraction)\n"
        do throws(StoreError) {
            try write(Array(line.utf8))
        } catch {
            // A full disk must not stop the serving, nor fill the other log with the same sentence.
            guard !hasFailed.exchange(true, ordering: .relaxed) else { return }
            let text = "castree: warning: the access log is not written: \(error.message)\n"
            // There is nobody left to tell.
            try? fileSystem.write(2, Array(text.utf8))
        }
    }

    private func write(_ bytes: [UInt8]) throws(StoreError) {
        try fileSystem.write(Self.raw(file), bytes)
    }

    private static func raw(_ file: borrowing Descriptor?) -> Int32 {
        switch file {
        case .some(let file): file.raw
        case .none: 2
        }
    }
}
