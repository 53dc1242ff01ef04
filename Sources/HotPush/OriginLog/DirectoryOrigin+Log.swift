package import CASStore
import Storage
import StrictJSON

extension DirectoryOrigin {
    /// Whether the newest entry of the log names a pointer, or a file below `for/`.
    /// - Throws: why the log cannot be read at present; where it never tells, the answer is `false`.
    package func logNames(_ path: String) throws(StoreError) -> Bool {
        guard let copy = LogCopy(path: path) else { return false }
        return try logged { (log, entry) throws(StoreError) in
            guard copy.place(in: entry) != nil else { return false }
            guard case .configuration(let system) = copy else { return true }
            // A disabled system needs none.
            return try log.configuration(of: system, in: entry)?["enabled"]?.asBool != false
        } ?? false
    }

    /// The channels that the newest entry of the log names, sorted.
    /// - Throws: as ``logNames(_:)``.
    func loggedChannels() throws(StoreError) -> [ChannelName] {
        try logged { (_, entry) in entry.channels.keys.sorted() } ?? []
    }

    private func logged<R>(
        _ read: (OriginLog, LogEntry) throws(StoreError) -> R
    ) throws(StoreError) -> R? {
        do throws(StoreError) {
            let log = OriginLog(
                try DirectoryStorage(path, scratch: OriginLayout.work, fileSystem: fileSystem))
            return try log.newestEntry(from: 0).map { (_, entry) throws(StoreError) in
                try read(log, entry)
            }
        } catch {
            // castree fsck reports a damaged log; servers need not have the right to read it.
            guard
                OriginLog.saysEntryIsBad(error) || error.code == .unsupportedFormat
                    || error.isOfPlace
            else { throw error }
            return nil
        }
    }

    /// The loss of a file that the log names.
    package static func lost(_ path: String) -> StoreError {
        .damagedOrigin(
            "the origin has lost \(path), unless a publisher is about to write it: the log names it; the next castree "
                + "publish or castree withdraw on the channel writes it again, and so does castree fsck --repair"
        )
    }
}
