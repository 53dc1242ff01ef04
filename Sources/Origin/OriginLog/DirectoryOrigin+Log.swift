package import CASStore
package import HotPush
import Storage
import StrictJSON

extension DirectoryOrigin {
    /// For how many seconds after an entry its publisher may be about to write the files that it is the first to name.
    private static let timeLimit: Int64 = 10

    /// Whether the newest entry of the log names a pointer, or a file below `for/`, which has been there before.
    /// - Parameter now: seconds since 1970.
    /// - Throws: why the log cannot be read at present; where it never tells, the answer is `false`.
    package func logNames(_ path: String, at now: Int64) throws(StoreError) -> Bool {
        guard let copy = LogCopy(path: path) else { return false }
        return try logged { (log, end, entry) throws(StoreError) in
            guard let place = copy.place(in: entry) else { return false }
            if place == end, abs(now - entry.createdAt) < Self.timeLimit,
                try log.reading(end - 1)?.entry.flatMap(copy.place) == nil
            {
                return false
            }
            guard case .configuration(let system) = copy else { return true }
            // A disabled system needs none.
            return try log.configuration(of: system, in: entry)?["enabled"]?.asBool != false
        } ?? false
    }

    /// Tells which pointers are lost: those of the channels that the newest entry of the log names.
    /// - Parameters:
    ///   - there: the channels that have pointers.
    ///   - only: the one channel that matters; `nil` for all.
    /// - Returns: whether any is lost.
    /// - Throws: as ``logNames(_:at:)``.
    package func tellLost(
        but there: Set<ChannelName>, _ only: ChannelName?, _ tell: (StoreError) -> Void
    ) throws(StoreError) -> Bool {
        let logged = try logged { (_, _, entry) in entry.channels.keys.sorted() } ?? []
        let lost = logged.filter { !there.contains($0) && $0 == only ?? $0 }
        for channel in lost { tell(Self.lost(OriginLayout.pointer(channel))) }
        return !lost.isEmpty
    }

    private func logged<R>(
        _ read: (OriginLog, Int64, LogEntry) throws(StoreError) -> R
    ) throws(StoreError) -> R? {
        do throws(StoreError) {
            let log = OriginLog(
                try DirectoryStorage(path, scratch: OriginLayout.work, fileSystem: fileSystem))
            return try log.newestEntry(from: 0).map { (end, newest) throws(StoreError) in
                try read(log, end, newest.entry)
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
