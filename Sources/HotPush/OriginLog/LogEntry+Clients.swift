import CASStore
import StrictJSON

// The part of an entry about the clients of other systems ↔ JSON.

extension LogEntry {
    /// The JSON members; none where no system was ever enabled.
    var clientMembers: [JSONValue.Member] {
        let names = Dictionary(grouping: rows, by: \.key.system)
        return .present([
            "clients": .named(clients, \.document),
            "configurations": .named(configurations) { $0 },
            "rows": .named(names) { rows in
                .object(
                    rows.map {
                        .init(key: $0.key.channel.description, value: $0.value.document)
                    })
            },
        ])
    }

    /// Takes them out of an entry's fields.
    mutating func readClients(
        _ fields: inout FieldReader, _ number: Int64
    ) throws(PointerProblem) {
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
    ) throws(PointerProblem) -> [(ToldSystem, JSONValue)] {
        guard let value = fields.take(key) else { return [] }
        guard let members = value.asObject, !members.isEmpty, members.count <= ToldSystem.countMax
        else {
            throw .broken("its \"\(key)\" are not those of 1 to \(ToldSystem.countMax) systems")
        }
        var systems: [(ToldSystem, JSONValue)] = []
        for member in members {
            guard let system = ToldSystem(member.key) else {
                throw .broken("\"\(printable(member.key))\" is no name of a system")
            }
            systems.append((system, member.value))
        }
        return systems
    }

    /// What stands in this entry must be what it says of itself.
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
        _ value: JSONValue, of system: ToldSystem, _ number: Int64
    ) throws(PointerProblem) {
        guard let members = value.asObject else {
            throw .broken("what it says of \(system) is no object")
        }
        var fields = FieldReader(members, place: "what it says of \(system)")
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

    fileprivate init(
        _ value: JSONValue, place: String, _ number: Int64
    ) throws(PointerProblem) {
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
