internal import CASStore
internal import StrictJSON

/// Answers of an origin in a row that say the same: one line of the event log.
struct PollRun {
    /// Where the line of those before begins; whatever follows it belongs to the run.
    let start: Int
    /// How many they are with the new one, and when the first came.
    let times: Int
    let since: Int64
    /// The number that they keep; `nil` if others follow it, which nobody may meet again.
    let sequence: Int64?

    /// - Parameters:
    ///   - tail: the end of the log.
    ///   - entry: what happens now; `nil` is returned unless it is the same again.
    init?(endOf tail: [UInt8], goesOnWith entry: JournalEntry) {
        guard case .checked(_, let outcome, _, _, _) = entry.event else { return nil }
        var rest = tail[...]
        var isLast = true
        while let end = rest.lastIndex(where: { $0 != 10 }) {
            rest = rest[...end]
            let start = rest.lastIndex(of: 10).map { $0 + 1 } ?? rest.startIndex
            guard let last = JournalEntry(line: Array(rest[start...])) else { return nil }
            if case .retried = last.event, outcome == .offline || outcome == .failed {
                // It was repeated in vain, as before.
                rest = rest[..<start]
                isLast = false
                continue
            }
            guard last.event.saysTheSame(as: entry.event), entry.at >= last.at,
                last.at >= JournalEntry.clockIsSetFrom || entry.at < JournalEntry.clockIsSetFrom
            else { return nil }
            self.start = start
            times = last.times + 1
            since = last.since ?? last.at
            sequence = isLast ? last.sequence : nil
            return
        }
        return nil
    }
}

extension JournalEntry {
    /// Before this time, 2020-01-01, a clock has not been set yet: what lasts from there until later has lasted for
    /// nobody knows how long.
    package static let clockIsSetFrom: Int64 = 1_577_836_800
}

extension JournalEvent {
    /// Whether two checks of an origin came to the same.
    ///
    /// The numbers in an error are others each time.
    fileprivate func saysTheSame(as other: JournalEvent) -> Bool {
        guard case .checked(_, let outcome, _, _, _) = self else { return false }
        let isFailure = outcome == .offline || outcome == .failed
        // As they stand in the log, without what is left out there.
        return zip(members, other.members).allSatisfy { mine, theirs in
            mine == theirs
                || isFailure && mine.key == "reason" && theirs.key == "reason"
                    && mine.value.asString?.filter { !$0.isNumber }
                        == theirs.value.asString?.filter { !$0.isNumber }
        } && members.count == other.members.count
    }
}
