import CASStore
package import StrictJSON

/// The file of a history as an origin's log makes it: `for/<system>/<channel>.json`.
///
/// HotPush knows of an offer when it was made, and which documents it names; all else is the system's.
package struct HistoryFile: Sendable, Hashable {
    /// The largest file that is read, in bytes.
    package static let byteCountMax = 32 << 20
    private static let depthMax = 8

    package let name: HistoryName
    package var labelCount: Int64
    /// Oldest first.
    package var offers: [JSONValue]

    package init(_ name: HistoryName, labelCount: Int64 = 0, offers: [JSONValue] = []) {
        self.name = name
        self.labelCount = labelCount
        self.offers = offers
    }

    /// The bytes of the file.
    /// - Parameter log: the entry in which its newest offers stand; `nil` for the file of a directory.
    package func serialized(log: Int64? = nil) -> [UInt8] {
        var members: [JSONValue.Member] = [
            .init(key: "castreeHistory", value: .integer(1)),
            .init(key: "channel", value: .string(name.channel.description)),
            .init(key: "labelCount", value: .integer(labelCount)),
            .init(key: "offers", value: .array(offers)),
            .init(key: "system", value: .string(name.system.description)),
        ]
        if let log { members.append(.init(key: "log", value: .integer(log))) }
        return JSONWriter.serialize(.object(members), sortedKeys: true) + [10]
    }

    /// What rows of the log prove a copy by.
    func digest() throws(StoreError) -> ObjectID { try ObjectID(of: serialized()) }

    /// Reads a file.
    /// - Returns: also the entry that it names; `nil` for what is no history of that name.
    static func read(
        _ bytes: [UInt8], of name: HistoryName
    ) -> (file: HistoryFile, log: Int64?)? {
        // What is no JSON is no history: whoever has the log makes it again.
        guard bytes.count <= byteCountMax,
            let document = try? JSONValue.parse(bytes, limits: JSONLimits(depth: depthMax)),
            document["castreeHistory"]?.asInt64 == 1,
            document["system"]?.asString == name.system.description,
            document["channel"]?.asString == name.channel.description,
            let labelCount = document["labelCount"]?.asInt64,
            let offers = document["offers"]?.asArray
        else { return nil }
        let file = HistoryFile(name, labelCount: labelCount, offers: offers)
        return (file, document["log"]?.asInt64)
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
