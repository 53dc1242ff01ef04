import CASStore
import HotPush
import Storage
import StrictJSON

/// An entry of the log of an origin: one commit, after which the origin is exactly what the entry says.
///
/// A value; `docs/origin-format.md` describes its JSON. Entries are created once, never changed and never deleted.
/// Each holds the whole state by reference, so no older entry has to be replayed.
struct LogEntry: Sendable, Hashable {
    /// The newest format that is read, which origins with other systems' clients have.
    static let formatVersion: Int64 = 2
    /// The format of all other origins.
    static let plainFormatVersion: Int64 = 1
    static let byteCountMax = 1 << 20
    /// Bounds what every later entry repeats: beside it a pointer of any size and some rows have space.
    ///
    /// More than the names of 1,000 channels, and the places of their histories for all known systems, ever take.
    static let repeatedByteCountMax = 640 << 10
    static let channelCountMax = ChannelList.countMax

    /// What the commit did, for people; an unknown kind counts as `publish`.
    struct Kind: Sendable, Hashable {
        let name: String

        static let create = Kind(name: "create")
        static let publish = Kind(name: "publish")
        static let withdraw = Kind(name: "withdraw")
        static let prune = Kind(name: "prune")
        /// Adds packs of a release that was already offered.
        static let pack = Kind(name: "pack")
        /// Signs unchanged pointers anew.
        static let resign = Kind(name: "resign")
        /// Changes the keys that sign pointers.
        static let rotate = Kind(name: "rotate")
        /// Changes what is announced to other systems' clients.
        static let enable = Kind(name: "enable")
    }

    var kind: Kind
    /// The writer's clock, in seconds since 1970; for people.
    var createdAt: Int64
    /// 32 random digits that tell whose entry it is.
    var author: String
    /// The epoch of new keys; a prune may raise it by one.
    var epoch: Int64 = 0
    /// The entries from this one on keep what they offer live.
    ///
    /// Of the rest, what is in an epoch up to ``garbageEpochMax`` may be deleted (docs/buckets.md, rule G).
    var keptFrom: Int64
    /// The newest prune up to this entry; 0 for none.
    var prunedAt: Int64 = 0
    var channels: [ChannelName: Int64] = [:]
    var pointers: [ChannelName: ChannelPointer] = [:]
    /// The entries for other systems' clients; empty if no system was ever enabled.
    var clients: [AnnouncedSystem: ClientPlaces] = [:]
    /// The configurations set by this entry: `for/<system>/config.json` without `log`.
    var configurations: [AnnouncedSystem: JSONValue] = [:]
    var rows: [HistoryName: HistoryRows] = [:]
    /// How the store accepts `If-Match`; only in entry 1.
    var pointerCondition: PointerCondition?
    /// Unknown fields, kept verbatim.
    var foreign: [JSONValue.Member] = []

    /// The newest epoch in which unneeded files are garbage; negative for none.
    ///
    /// In a directory every epoch qualifies: a pruner keeps publishers out (``OriginLock``), so no deletion is late.
    func garbageEpochMax(in storage: any ObjectStorage) -> Int64 {
        storage.isOnDisk ? .max : epoch - 2
    }

    enum PointerCondition: String, Sendable, Hashable {
        case inQuotes = "quoted"
        case bare, none

        /// How the tag is spelled; `nil` if the store has no such condition.
        var spelling: TagSpelling? { TagSpelling(rawValue: rawValue) }
    }

    /// - Throws: `.io` if the system has no random bytes.
    static func drawAuthor() throws(StoreError) -> String { try randomToken() + randomToken() }
}

// Entry ↔ bytes: JSON without white space, keys sorted (RFC 8785), one line.

extension LogEntry {
    func serialized() -> [UInt8] {
        let format = clients.isEmpty ? Self.plainFormatVersion : Self.formatVersion
        let members: [JSONValue.Member] = .present([
            "at": .integer(createdAt), "by": .string(author), "castreeLog": .integer(format),
            "epoch": .integer(epoch), "kept": .integer(keptFrom), "kind": .string(kind.name),
            "pointers": .object(
                pointers.map { .init(key: $0.key.description, value: $0.value.document) }),
            "prune": .integer(prunedAt),
            "probe": pointerCondition.map {
                .members(["pointerCondition": .string($0.rawValue)])
            },
        ])
        return JSONValue.object(members + addedMembers + repeatedMembers).fileBytes
    }

    /// How many bytes of rows for each system have space beside a pointer of any size.
    var rowsByteCountMax: Int {
        let repeated = JSONValue.object(repeatedMembers).fileBytes.count
        let capacity = Self.byteCountMax - ChannelPointer.byteCountMax - (16 << 10) - repeated
        return max(capacity, 0) / max(clients.count, 1)
    }

    /// The members that each later entry repeats, with its own numbers.
    private var repeatedMembers: [JSONValue.Member] {
        .present([
            "channels": .object(
                channels.map { .init(key: $0.key.description, value: .integer($0.value)) }),
            "clients": .named(clients, \.document),
        ]) + foreign
    }

    /// - Parameter number: its number; it refers to no later one.
    /// - Throws: `.damagedOrigin` with what is wrong; `.unsupportedFormat` if it is newer than this castree.
    init(parsing bytes: [UInt8], number: Int64) throws(StoreError) {
        do throws(PointerProblem) {
            self = try Self.parse(bytes, number)
        } catch {
            throw error.storeError(
                "entry \(number) of the origin's log", .damagedOrigin,
                formatVersion: Self.formatVersion)
        }
    }

    private static func parse(
        _ bytes: [UInt8], _ number: Int64
    ) throws(PointerProblem) -> LogEntry {
        // Pointers are nested at most 16 deep, inside two more levels.
        let document = try JSONValue.read(bytes, byteCountMax: byteCountMax, depth: 18)
        var fields = try FieldReader(
            document, "the entry", format: "castreeLog", upTo: formatVersion)
        var entry = LogEntry(
            kind: Kind(name: try fields.text("kind")),
            createdAt: try fields.integer("at", 0...ChannelPointer.sequenceMax),
            author: try fields.text("by"),
            // The first has epoch 0, and each raises it by at most one.
            epoch: try fields.integer("epoch", 0...number - 1),
            keptFrom: try fields.integer("kept", 1...number),
            prunedAt: try fields.integer("prune", 0...number))
        entry.channels = try channels(&fields, number)
        entry.pointers = try pointers(&fields)
        // Nobody would read the copy of a larger pointer.
        for (channel, pointer) in entry.pointers where bytes.count > ChannelPointer.byteCountMax {
            let byteCount = pointer.serialized().count
            guard byteCount <= ChannelPointer.byteCountMax else {
                throw .broken("its pointer of channel \(channel) has \(byteCount) bytes")
            }
        }
        entry.pointerCondition = try condition(&fields)
        try entry.readClients(&fields, number)
        entry.foreign = fields.rest
        if bytes.count > repeatedByteCountMax {
            let byteCount = JSONValue.object(entry.repeatedMembers).fileBytes.count
            guard byteCount <= repeatedByteCountMax else {
                throw .broken("each later entry would repeat \(byteCount) bytes of it")
            }
        }
        for (channel, place) in entry.channels
        where (place == number) != (entry.pointers[channel] != nil) {
            throw .broken("it places the pointer of channel \(channel) in entry \(place)")
        }
        for channel in entry.pointers.keys where entry.channels[channel] == nil {
            throw .broken("it has a pointer of channel \(channel), which it does not list")
        }
        return entry
    }

    private static func channels(
        _ fields: inout FieldReader, _ number: Int64
    ) throws(PointerProblem) -> [ChannelName: Int64] {
        guard let members = fields.take("channels")?.asObject else {
            throw .broken("it lists no channels")
        }
        guard members.count <= channelCountMax else {
            throw .broken("it lists \(members.count) channels, more than \(channelCountMax)")
        }
        var channels: [ChannelName: Int64] = [:]
        for member in members {
            guard let place = member.value.asInt64, 1...number ~= place else {
                throw .broken("channel \(printable(member.key)) is in no entry up to this one")
            }
            channels[try name(member.key)] = place
        }
        return channels
    }

    private static func pointers(
        _ fields: inout FieldReader
    ) throws(PointerProblem) -> [ChannelName: ChannelPointer] {
        guard let members = fields.take("pointers")?.asObject else {
            throw .broken("it has no pointers")
        }
        var pointers: [ChannelName: ChannelPointer] = [:]
        for member in members {
            let name = try name(member.key)
            pointers[name] = try ChannelPointer(member.value, of: name)
        }
        return pointers
    }

    static func name(_ text: String) throws(PointerProblem) -> ChannelName {
        do throws(StoreError) {
            return try ChannelName(text)
        } catch {
            throw .broken(error.message)
        }
    }

    private static func condition(
        _ fields: inout FieldReader
    ) throws(PointerProblem) -> PointerCondition? {
        guard let probe = fields.take("probe") else { return nil }
        guard let text = probe["pointerCondition"]?.asString,
            let condition = PointerCondition(rawValue: text)
        else { throw .broken("its \"probe\" names no condition that this castree knows") }
        return condition
    }

    // An entry's part about other systems' clients ↔ JSON.

    private var addedMembers: [JSONValue.Member] {
        let names = Dictionary(grouping: rows, by: \.key.system)
        return .present([
            "configurations": .named(configurations) { $0 },
            "rows": .named(names) { rows in
                .object(
                    rows.map {
                        .init(key: $0.key.channel.description, value: $0.value.document)
                    })
            },
        ])
    }

    mutating func readClients(_ fields: inout FieldReader, _ number: Int64) throws(PointerProblem) {
        for (system, value) in try Self.systems(&fields, "clients") {
            clients[system] = try ClientPlaces(value, of: system, number)
        }
        for (system, value) in try Self.systems(&fields, "configurations") {
            guard value.asObject != nil else {
                throw .broken("what it sets for \(system) is no object")
            }
            configurations[system] = value
        }
        for (system, value) in try Self.systems(&fields, "rows") {
            guard let members = value.asObject else {
                throw .broken("its rows for \(system) are no object")
            }
            for member in members {
                let name = HistoryName(system: system, channel: try Self.name(member.key))
                rows[name] = try HistoryRows(
                    member.value, place: "the rows of \(name.channel) for \(system)", number)
            }
        }
        try checkClients(number)
    }

    private static func systems(
        _ fields: inout FieldReader, _ key: String
    ) throws(PointerProblem) -> [(AnnouncedSystem, JSONValue)] {
        guard let value = fields.take(key) else { return [] }
        guard let members = value.asObject, !members.isEmpty,
            members.count <= AnnouncedSystem.countMax
        else {
            throw .broken(
                "its \"\(key)\" are not those of 1 to \(AnnouncedSystem.countMax) systems")
        }
        var systems: [(AnnouncedSystem, JSONValue)] = []
        for member in members {
            guard let system = AnnouncedSystem(member.key) else {
                throw .broken("\"\(printable(member.key))\" is no name of a system")
            }
            systems.append((system, member.value))
        }
        return systems
    }

    private func checkClients(_ number: Int64) throws(PointerProblem) {
        for (system, places) in clients {
            guard (places.configuration == number) == (configurations[system] != nil) else {
                throw .broken("it does not have what it says is set for \(system)")
            }
            for (channel, place) in places.histories {
                let name = HistoryName(system: system, channel: channel)
                guard (place == number) == (rows[name] != nil) else {
                    throw .broken(
                        "it places rows of channel \(channel) for \(system) in entry \(place)")
                }
            }
        }
        for name in rows.keys where clients[name.system]?.histories[name.channel] != number {
            throw .broken(
                "it has rows of channel \(name.channel) for \(name.system), which it does not list")
        }
        for system in configurations.keys where clients[system]?.configuration != number {
            throw .broken("it sets something for \(system), which it does not list")
        }
    }
}

extension ClientPlaces {
    fileprivate var document: JSONValue {
        .members([
            "configuration": .number(configuration),
            "histories": .named(histories) { .integer($0) },
        ])
    }

    fileprivate init(
        _ value: JSONValue, of system: AnnouncedSystem, _ number: Int64
    ) throws(PointerProblem) {
        var fields = try FieldReader(value, place: "what it says of \(system)")
        configuration = try fields.integer(ifThere: "configuration", 1...number)
        let places = fields.take("histories")?.asObject ?? []
        guard places.count <= LogEntry.channelCountMax else {
            throw .broken("it lists \(places.count) histories for \(system)")
        }
        for member in places {
            guard let place = member.value.asInt64, 1...number ~= place else {
                throw .broken(
                    "a history of channel \(printable(member.key)) is in no entry up to this one")
            }
            histories[try LogEntry.name(member.key)] = place
        }
    }
}

extension HistoryRows {
    fileprivate var document: JSONValue {
        .members([
            "before": .integer(before), "count": .integer(count),
            "labelCount": .integer(labelCount), "offers": .array(offers),
            "sha256": .text(digest),
            "dropped": dropped.isEmpty ? nil : .array(dropped.map { .integer($0) }),
        ])
    }

    fileprivate init(_ value: JSONValue, place: String, _ number: Int64) throws(PointerProblem) {
        guard let members = value.asObject else { throw .broken("\(place) are no object") }
        var fields = FieldReader(members, place: place)
        let numbers: ClosedRange<Int64> = 0...ChannelPointer.sequenceMax
        self.init(
            before: try fields.integer("before", 0...number - 1),
            count: try fields.integer("count", numbers),
            labelCount: try fields.integer("labelCount", numbers),
            offers: try fields.array("offers"), digest: try fields.address("sha256"))
        guard fields.has("dropped") else { return }
        for value in try fields.array("dropped") {
            guard let time = value.asInt64, time > dropped.last ?? -1 else {
                throw .broken("\(place) drop no ascending times")
            }
            dropped.append(time)
        }
    }
}
