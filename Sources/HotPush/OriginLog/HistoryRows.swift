import CASStore
import StrictJSON

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
