extension DirectoryOrigin {
    /// Whether an entry of the log names a file below `for/`; `false` if it cannot be read.
    package func logNames(_ path: String, in number: Int64) -> Bool {
        guard 1...LogEntry.numberMax ~= number, let copy = LogCopy(path: path) else { return false }
        // Some copies of an origin have no log, and castree fsck reports a damaged one.
        guard
            let file = try? file(OriginLayout.logEntry(number), limit: LogEntry.byteCountMax),
            let entry = try? LogEntry(parsing: file.bytes, number: number)
        else { return false }
        return copy.place(in: entry) != nil
    }
}
