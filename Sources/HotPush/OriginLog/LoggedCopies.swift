package import CASStore
package import Storage

/// Holds copies of what the log of an origin says against the log.
package enum LoggedCopies {
    /// Whether the entry that a pointer, or a file below `for/`, names says what the file says.
    ///
    /// - Returns: `false` also if there is no such entry, or a file below `for/` names none; pointers that name none
    ///   are those of the first.
    /// - Throws: `.damagedOrigin`, `.unsupportedFormat` for an entry that cannot be understood; what reading throws:
    ///   `.accessDenied` to those who may not read the log.
    package static func prove(
        _ bytes: [UInt8], at path: String, in storage: any ObjectStorage
    ) throws(StoreError) -> Bool {
        if let channel = OriginLayout.channel(ofPointer: path) {
            // What cannot be understood is nothing that the log says.
            guard let pointer = try? ChannelPointer(parsing: bytes, of: channel) else {
                return false
            }
            return try OriginLog(storage).entry(pointer.log ?? 1)?.pointers[channel] == pointer
        }
        let seen = ClientCopy.Seen(bytes)
        guard let copy = ClientCopy(path: path), let number = seen.log,
            1...LogEntry.numberMax ~= number
        else { return false }
        let log = OriginLog(storage)
        guard let entry = try log.entry(number), copy.place(in: entry) == number else {
            return false
        }
        switch copy.subject {
        case .history(let name):
            return try HistoryFile(seen.document, of: name)?.digest() == entry.rows[name]?.digest
        case .configuration:
            return try copy.bytes(in: entry, log, near: seen) == bytes
        }
    }
}
