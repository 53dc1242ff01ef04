internal import CASStore
internal import StrictJSON

/// The lines at the end of a log, the last first: where each begins, and what it says; `nil` for a torn or foreign one.
///
/// Empty lines are no damage.
func lastLines(of tail: [UInt8]) -> some Sequence<(start: Int, entry: JournalEntry?)> {
    sequence(state: tail[...]) { rest in
        guard let end = rest.lastIndex(where: { $0 != 10 }) else { return nil }
        let line = rest[...end]
        let start = line.lastIndex(of: 10).map { $0 + 1 } ?? line.startIndex
        rest = line[..<start]
        return (start, JournalEntry(line: Array(line[start...])))
    }
}

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
        var isLast = true
        for (start, last) in lastLines(of: tail) {
            guard let last else { return nil }
            if case .retried = last.event, outcome == .offline || outcome == .failed {
                // It was repeated in vain, as before.
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

/// Questions in a row to which an origin had no answer, or none of use.
struct Silence {
    private let origin: String
    /// How many they are, and when the first was asked.
    private var failures = 0
    private var since: Int64 = 0
    private let time: Int64

    /// - Parameters:
    ///   - tail: the end of the log.
    ///   - origin: the one that answers now, as the log spells it; `nil` is returned if none does, or it did before.
    ///   - time: the time now.
    init?(endOf tail: [UInt8], origin: String?, until time: Int64) {
        guard let origin else { return nil }
        (self.origin, self.time) = (origin, time)
        lines: for (_, line) in lastLines(of: tail) {
            guard let line, case .checked(origin, let outcome, _, _, let failure) = line.event
            else { continue }
            switch outcome {
            case .offline, .failed:
                // Whether it would have answered, nobody knows.
                if failure?.isOfStore == true { continue }
                failures += line.times
                since = line.since ?? line.at
            case .nothingNew, .available, .refused: break lines
            }
        }
        if failures == 0 { return nil }
    }

    /// The event that ends it.
    var end: JournalEvent {
        let isClockSet =
            since >= JournalEntry.clockIsSetFrom || time < JournalEntry.clockIsSetFrom
        return .answering(
            origin: origin, failures: failures,
            seconds: isClockSet && time >= since ? time - since : nil)
    }
}

extension JournalEvent {
    /// The origin that has answered, as the log spells it; `nil` if this is no answer.
    var answeringOrigin: String? {
        guard case .checked(_, let outcome, _, _, _) = self, outcome != .offline, outcome != .failed
        else { return nil }
        return members.first { $0.key == "origin" }?.value.asString
    }
}
