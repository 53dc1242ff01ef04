extension DirectoryOrigin {
    /// Whether an entry of the log names a file below `for/`; `false` if it cannot be read.
    package func logNames(_ path: String, in number: Int64) -> Bool {
        guard 1...LogEntry.numberMax ~= number, let copy = LogCopy(path: path) else { return false }
        // Not every copy of an origin has its log, and castree fsck says what is wrong with it.
        guard
            let file = try? file(OriginLayout.logEntry(number), limit: LogEntry.byteCountMax),
            let entry = try? LogEntry(parsing: file.bytes, number: number)
        else { return false }
        return copy.place(in: entry) != nil
    }
}
