import CASStore
package import HotPush
package import StrictJSON

/// The history file `for/<system>/<channel>.json` as the log of an origin makes it.
///
/// HotPush knows an offer's time and its documents; everything else belongs to the system.
package struct HistoryFile: Sendable, Hashable {
    package static let byteCountMax = 32 << 20

    package let name: HistoryName
    package var labelCount: Int64
    /// Oldest first.
    package var offers: [JSONValue]

    /// The entry with its newest offers; `nil` if unknown.
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

    /// The digest by which rows of the log prove a copy.
    func digest() throws(StoreError) -> ObjectID {
        var file = self
        file.log = nil
        return try ObjectID(of: file.serialized())
    }

    /// Returns `nil` if this is no history of that name; anybody who has the log makes it again.
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

    var documents: [SizedKey] { offers.flatMap { $0.documents(of: name.system) } }
}

extension JSONValue {
    /// When an offer was made; the times in a history are distinct and ascending.
    var offerTime: Int64? { self["createdAt"]?.asInt64 }

    func documents(of system: AnnouncedSystem) -> [SizedKey] {
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
    /// The rows that turn one history into another.
    /// - Parameter before: the entry with the previous rows; 0 for none.
    init(from old: HistoryFile, to new: HistoryFile, before: Int64) throws(StoreError) {
        let (known, kept) = (Set(old.offers), Set(new.offers))
        self.init(
            before: before, count: Int64(new.offers.count),
            dropped: old.offers.filter { !kept.contains($0) }.compactMap(\.offerTime).sorted(),
            labelCount: new.labelCount, offers: new.offers.filter { !known.contains($0) },
            digest: try new.digest())
    }
}

package struct HistoryName: Sendable, Hashable, Comparable {
    package let system: AnnouncedSystem
    package let channel: ChannelName

    package init(system: AnnouncedSystem, channel: ChannelName) {
        self.system = system
        self.channel = channel
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.system, left.channel) < (right.system, right.channel)
    }
}

/// The entries of a log that have what is announced to a system's clients.
struct ClientPlaces: Sendable, Hashable {
    /// The last entry that set the operator's configuration; `nil` for none.
    var configuration: Int64?
    var histories: [ChannelName: Int64] = [:]
}

/// What an entry of a log adds to a history and removes from it.
struct HistoryRows: Sendable, Hashable {
    /// The entry with the previous rows; 0 if these are the first.
    var before: Int64
    var count: Int64
    /// Earlier offers that the history has lost, by their times (`createdAt`), ascending.
    var dropped: [Int64] = []
    var labelCount: Int64
    var offers: [JSONValue]
    /// The SHA-256 of the history's file after this entry, without `log`.
    var digest: ObjectID
}
