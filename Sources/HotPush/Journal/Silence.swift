internal import CASStore
internal import StrictJSON

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
        var rest = tail[...]
        lines: while let end = rest.lastIndex(where: { $0 != 10 }) {
            rest = rest[...end]
            let start = rest.lastIndex(of: 10).map { $0 + 1 } ?? rest.startIndex
            let line = JournalEntry(line: Array(rest[start...]))
            rest = rest[..<start]
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
