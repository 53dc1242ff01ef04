internal import CASStore
internal import StrictJSON
internal import VersionTree

/// The lines at the end of a log, last first, with their offsets; a torn or foreign line has no entry, an empty one is
/// skipped.
func lastLines(of tail: [UInt8]) -> some Sequence<(start: Int, entry: EventLogEntry?)> {
    sequence(state: tail[...]) { rest in
        guard let end = rest.lastIndex(where: { $0 != 10 }) else { return nil }
        let line = rest[...end]
        let start = line.lastIndex(of: 10).map { $0 + 1 } ?? line.startIndex
        rest = line[..<start]
        return (start, EventLogEntry(line: Array(line[start...])))
    }
}

/// A run of equal answers of an origin, which share one line of the event log.
struct PollRun {
    /// Where the line of the earlier answers begins; whatever follows it belongs to the run.
    let start: Int
    /// The number of answers, including the new one, and the time of the first.
    let times: Int
    let since: Int64
    /// The line's number; `nil` for a new one, if the run replaces later lines, whose numbers must not be used twice.
    let sequence: Int64?

    /// Returns nil unless `entry` is the same answer again.
    init?(endOf tail: [UInt8], goesOnWith entry: EventLogEntry) {
        guard let outcome = entry.event.answer else { return nil }
        var isLast = true
        for (start, last) in lastLines(of: tail) {
            guard let last else { return nil }
            if last.event.name == "retry", outcome.isFailure {
                // The request was retried in vain, as before.
                isLast = false
                continue
            }
            guard last.event.saysTheSame(as: entry.event), entry.at >= last.at,
                last.at >= EventLogEntry.clockIsSetFrom || entry.at < EventLogEntry.clockIsSetFrom
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

extension EventLogEntry {
    /// Before this time, 2020-01-01, a clock was not set; a period that begins earlier has an unknown length.
    package static let clockIsSetFrom: Int64 = 1_577_836_800
}

extension StoreEvent {
    /// Whether two checks of an origin gave the same result; numbers in an error may differ.
    fileprivate func saysTheSame(as other: StoreEvent) -> Bool {
        guard let isFailure = answer?.isFailure else { return false }
        // As logged, without what the log omits.
        return zip(members, other.members).allSatisfy { mine, theirs in
            mine == theirs
                || isFailure && mine.key == "reason" && theirs.key == "reason"
                    && mine.value.asString?.filter { !$0.isNumber }
                        == theirs.value.asString?.filter { !$0.isNumber }
        } && members.count == other.members.count
    }
}

/// Consecutive requests to an origin without a useful answer.
struct Silence {
    private let origin: String
    /// Their number, and the time of the first.
    private var failures = 0
    private var since: Int64 = 0
    private let time: Int64

    /// Returns nil unless an origin now answers after failures.
    /// - Parameter origin: the one that answers, as the log spells it.
    init?(endOf tail: [UInt8], origin: String?, until time: Int64) {
        guard let origin else { return nil }
        (self.origin, self.time) = (origin, time)
        lines: for (_, line) in lastLines(of: tail) {
            guard let line, let outcome = line.event.answer, line.event.text("origin") == origin
            else { continue }
            switch outcome {
            case .offline, .failed:
                // A failure of the store says nothing about the origin.
                if line.event.failure?.isOfStore == true { continue }
                failures += line.times
                since = line.since ?? line.at
            case .nothingNew, .available, .refused: break lines
            }
        }
        if failures == 0 { return nil }
    }

    var end: StoreEvent {
        let isClockSet =
            since >= EventLogEntry.clockIsSetFrom || time < EventLogEntry.clockIsSetFrom
        return .answering(
            origin: origin, failures: failures,
            seconds: isClockSet && time >= since ? time - since : nil)
    }
}

extension StoreEvent {
    /// As the log spells it; `nil` if this is no answer.
    var answeringOrigin: String? {
        answer.map(\.isFailure) == false ? text("origin") : nil
    }
}
