internal import CASStore
internal import StrictJSON
package import VersionTree

/// One line of the event log.
public struct JournalEntry: Sendable, Hashable {
    /// Counts the events of a store, from 1; a gap means that events were lost, or count together.
    public var sequence: Int64
    /// When, in seconds since 1970, by the clock of the machine.
    public var at: Int64
    /// What happened.
    package let event: StoreEvent
    /// How many times in a row; only of what an origin answered more than once.
    package var times = 1
    /// When it happened first, if more than once.
    package var since: Int64?

    /// What happened, as a sentence for people, with exact sizes.
    public var sentence: String { event.sentence + (times > 1 ? " (\(times) times in a row)" : "") }

    /// An event that is to be written, without what a log must not hold.
    init(sequence: Int64, at: Int64, event: StoreEvent) {
        self.sequence = sequence
        self.at = at
        self.event = event.cleaned
    }

    /// More than anybody writes: what is beyond it, nobody could count on from.
    private static let sequences: ClosedRange<Int64> = 0...(1 << 52)

    /// Reads a line of the log; `nil` if it is torn or not one of ours.
    init?(line: [UInt8]) {
        // A log is worth reading even without one line.
        guard let value = try? JSONValue.parse(line, limits: JSONLimits(depth: 8)),
            var members = value.asObject, let name = value["event"]?.asString,
            let sequence = value["sequence"]?.asInt64, Self.sequences.contains(sequence),
            let at = value["at"]?.asTime
        else { return nil }
        self.sequence = sequence
        self.at = at
        members.removeAll { ["at", "event", "sequence"].contains($0.key) }
        if name == "check" {
            members.removeAll { ["times", "since"].contains($0.key) }
            if let times = value["times"]?.asInt64.flatMap({ Int(exactly: $0) }), times > 1,
                let since = value["since"]?.asTime
            {
                (self.times, self.since) = (times, since)
            }
        }
        event = StoreEvent(name: name, members: members)
    }

    /// The line of the log, with its line feed.
    var line: [UInt8] {
        let isRepeated = times > 1 && since != nil
        let head: [JSONValue.Member] = .present([
            "at": .integer(at), "event": .string(event.name), "sequence": .integer(sequence),
            "times": isRepeated ? .integer(Int64(times)) : nil,
            "since": isRepeated ? .number(since) : nil,
        ])
        return JSONValue.object(head + event.members).fileBytes
    }
}

extension StoreEvent {
    /// Longer texts are cut: one event must not push out the others.
    private static let textByteCountMax = 600
    /// Where the sentence of an error stands, which may name files.
    private static let quoting = ["check", "downloadEnded", "retry", "fallback", "failed"]

    fileprivate var cleaned: StoreEvent {
        let quotes = Self.quoting.contains(name)
        return StoreEvent(
            name: name,
            members: members.map { member in
                guard var text = member.value.asString else { return member }
                if quotes, ["message", "reason"].contains(member.key) { text = withoutPaths(text) }
                text = redacted(text).clipped(to: Self.textByteCountMax)
                // The JSON writer takes any string except one with NUL, which the reader refuses.
                text.unicodeScalars.removeAll { $0.value == 0 }
                return .init(key: member.key, value: .string(text))
            })
    }
}
