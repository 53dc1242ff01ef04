import CASStore
import StrictJSON

/// The name of another system whose clients update from an origin, as it stands in paths: HotPush knows none of them.
package struct ToldSystem: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// An origin has at most so many.
    static let countMax = 16

    package let description: String

    /// - Returns: `nil` for what is no such name: 1 to 32 of `a–z 0–9 -`.
    package init?(_ name: String) {
        guard 1...32 ~= name.utf8.count,
            name.utf8.allSatisfy({
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0
                    || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || $0 == UInt8(ascii: "-")
            })
        else { return nil }
        description = name
    }

    /// One that is known to be a name.
    package init(known name: String) { description = name }

    package static func < (left: Self, right: Self) -> Bool { left.description < right.description }
}

/// Whose history: a channel's, for the clients of a system.
package struct HistoryName: Sendable, Hashable, Comparable {
    package let system: ToldSystem
    package let channel: ChannelName

    package init(system: ToldSystem, channel: ChannelName) {
        self.system = system
        self.channel = channel
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.system, left.channel) < (right.system, right.channel)
    }
}

/// In which entries of a log it stands what the clients of a system are told.
struct ClientPlaces: Sendable, Hashable {
    /// The entry that has set last what the operator wants; `nil` if none has.
    var configuration: Int64?
    /// The entry with the newest rows of each channel's history.
    var histories: [ChannelName: Int64] = [:]
}

/// What an entry of a log adds to a history, and takes from it.
struct HistoryRows: Sendable, Hashable {
    /// The entry with the rows before these; 0 if these are the first.
    var before: Int64
    /// How many offers the history has after this entry.
    var count: Int64
    /// The offers before this entry that the history has no more: when they were made (`createdAt`), ascending.
    var dropped: [Int64] = []
    /// The largest number of a label so far.
    var labelCount: Int64
    /// What is added, oldest first: as in the file.
    var offers: [JSONValue]
    /// The SHA-256 of the history's file after this entry, as it would be without `log`.
    var digest: ObjectID
}
