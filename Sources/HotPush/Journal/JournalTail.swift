internal import CASStore
internal import StrictJSON
internal import VersionTree

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
        guard let outcome = entry.event.answer else { return nil }
        var isLast = true
        for (start, last) in lastLines(of: tail) {
            guard let last else { return nil }
            if last.event.name == "retry", outcome.isFailure {
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

extension StoreEvent {
    /// Whether two checks of an origin came to the same.
    ///
    /// The numbers in an error are others each time.
    fileprivate func saysTheSame(as other: StoreEvent) -> Bool {
        guard let isFailure = answer?.isFailure else { return false }
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
            guard let line, let outcome = line.event.answer, line.event.text("origin") == origin
            else { continue }
            switch outcome {
            case .offline, .failed:
                // Whether it would have answered, nobody knows.
                if line.event.failure?.isOfStore == true { continue }
                failures += line.times
                since = line.since ?? line.at
            case .nothingNew, .available, .refused: break lines
            }
        }
        if failures == 0 { return nil }
    }

    /// The event that ends it.
    var end: StoreEvent {
        let isClockSet =
            since >= JournalEntry.clockIsSetFrom || time < JournalEntry.clockIsSetFrom
        return .answering(
            origin: origin, failures: failures,
            seconds: isClockSet && time >= since ? time - since : nil)
    }
}

extension StoreEvent {
    /// The origin that has answered, as the log spells it; `nil` if this is no answer.
    var answeringOrigin: String? {
        answer.map(\.isFailure) == false ? text("origin") : nil
    }
}
