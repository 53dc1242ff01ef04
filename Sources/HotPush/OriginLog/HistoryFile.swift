import CASStore
package import StrictJSON

/// The file of a history as an origin's log makes it: `for/<system>/<channel>.json`.
///
/// HotPush knows of an offer when it was made, and which documents it names; all else is the system's.
package struct HistoryFile: Sendable, Hashable {
    package static let byteCountMax = 32 << 20

    package let name: HistoryName
    package var labelCount: Int64
    /// Oldest first.
    package var offers: [JSONValue]

    /// The entry in which its newest offers stand; `nil` where nothing says it.
    package var log: Int64?

    package init(_ name: HistoryName, labelCount: Int64 = 0, offers: [JSONValue] = []) {
        self.name = name
        self.labelCount = labelCount
        self.offers = offers
    }

    package func serialized() -> [UInt8] {
        JSONValue.members([
            "castreeHistory": .integer(1), "channel": .text(name.channel),
            "labelCount": .integer(labelCount), "log": .number(log),
            "offers": .array(offers), "system": .text(name.system),
        ]).fileBytes
    }

    /// What rows of the log prove a copy by.
    func digest() throws(StoreError) -> ObjectID {
        var file = self
        file.log = nil
        return try ObjectID(of: file.serialized())
    }

    /// Reads a file.
    /// - Returns: `nil` for what is no history of that name: whoever has the log makes it again.
    init?(_ document: JSONValue?, of name: HistoryName) {
        guard let document, document["castreeHistory"]?.asInt64 == 1,
            document["system"]?.asString == name.system.description,
            document["channel"]?.asString == name.channel.description,
            let labelCount = document["labelCount"]?.asInt64,
            let offers = document["offers"]?.asArray
        else { return nil }
        self.init(name, labelCount: labelCount, offers: offers)
        log = document["log"]?.asInt64
    }

    /// The documents that its offers name.
    var documents: [SizedKey] { offers.flatMap { $0.documents(of: name.system) } }
}

extension JSONValue {
    /// When an offer was made; offers of a history have different times, ascending.
    var offerTime: Int64? { self["createdAt"]?.asInt64 }

    /// The documents that an offer names.
    func documents(of system: ToldSystem) -> [SizedKey] {
        (self["documents"]?.asArray ?? []).compactMap { document in
            guard let address = document["address"]?.asString.flatMap({ ObjectID($0) }),
                let byteCount = document["bytes"]?.asInt64
            else { return nil }
            let epoch = document["epoch"]?.asInt64 ?? 0
            return SizedKey(
                key: OriginKey(.document(of: system), address, in: epoch), byteCount: byteCount)
        }
    }
}

extension HistoryRows {
    /// What makes one history of another one.
    /// - Parameter before: the entry with the rows before these; 0 for none.
    init(
        from old: HistoryFile, to new: HistoryFile, before: Int64
    ) throws(StoreError) {
        let (known, kept) = (Set(old.offers), Set(new.offers))
        self.init(
            before: before, count: Int64(new.offers.count),
            dropped: old.offers.filter { !kept.contains($0) }.compactMap(\.offerTime).sorted(),
            labelCount: new.labelCount, offers: new.offers.filter { !known.contains($0) },
            digest: try new.digest())
    }
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
