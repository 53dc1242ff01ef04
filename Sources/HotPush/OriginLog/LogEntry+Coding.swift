import CASStore
import StrictJSON

// Entry ↔ bytes: JSON without white space, keys sorted (RFC 8785), one line.

extension LogEntry {
    /// The bytes of the file.
    func serialized() -> [UInt8] {
        let format = clients.isEmpty ? Self.plainFormatVersion : Self.formatVersion
        let members: [JSONValue.Member] = .present([
            "at": .integer(createdAt), "by": .string(author), "castreeLog": .integer(format),
            "channels": .object(
                channels.map { .init(key: $0.key.description, value: .integer($0.value)) }),
            "epoch": .integer(epoch), "kept": .integer(keptFrom), "kind": .string(kind.name),
            "pointers": .object(
                pointers.map { .init(key: $0.key.description, value: $0.value.document) }),
            "prune": .integer(prunedAt),
            "probe": pointerCondition.map {
                .members(["pointerCondition": .string($0.rawValue)])
            },
        ])
        return JSONValue.object(members + clientMembers + foreign).fileBytes
    }

    /// Reads an entry, which may come from anywhere.
    ///
    /// - Parameter number: the number that it stands under: it refers to no later one.
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
        // Pointers are nested at most 16 deep, and stand two deep.
        let document = try JSONValue.read(bytes, byteCountMax: byteCountMax, depth: 18)
        guard let members = document.asObject else { throw .broken("it is no object") }
        var fields = FieldReader(members, place: "the entry")
        let format = try fields.integer("castreeLog", 1...ChannelPointer.sequenceMax)
        guard format <= formatVersion else { throw .newer(format) }
        var entry = LogEntry(
            kind: Kind(name: try fields.text("kind")),
            createdAt: try fields.integer("at", 0...ChannelPointer.sequenceMax),
            author: try fields.text("by"),
            // The first has epoch 0, and each raises it by one at most.
            epoch: try fields.integer("epoch", 0...number - 1),
            keptFrom: try fields.integer("kept", 1...number),
            prunedAt: try fields.integer("prune", 0...number))
        entry.channels = try channels(&fields, number)
        entry.pointers = try pointers(&fields)
        // Nobody reads the copy of a larger one.
        for (channel, pointer) in entry.pointers where bytes.count > ChannelPointer.byteCountMax {
            let byteCount = pointer.serialized().count
            guard byteCount <= ChannelPointer.byteCountMax else {
                throw .broken("its pointer of channel \(channel) has \(byteCount) bytes")
            }
        }
        entry.pointerCondition = try condition(&fields)
        try entry.readClients(&fields, number)
        entry.foreign = fields.rest
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
}
