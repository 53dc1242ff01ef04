internal import CASStore
internal import StrictJSON

extension JournalEntry {
    /// More than anybody writes: what is beyond it, nobody could count on from.
    private static let sequences: ClosedRange<Int64> = 0...(1 << 52)

    /// Reads a line of the log; `nil` if it is torn or not one of ours.
    init?(line: [UInt8]) {
        // A log is worth reading even without one line.
        guard let value = try? JSONValue.parse(line, limits: JSONLimits(depth: 8)),
            let members = value.asObject, let name = value["event"]?.asString,
            let sequence = value["sequence"]?.asInt64, Self.sequences.contains(sequence),
            let at = value["at"]?.asTime
        else { return nil }
        self.sequence = sequence
        self.at = at
        let rest = members.filter { !["at", "event", "sequence"].contains($0.key) }
        do throws(Fields.Missing) {
            event = try JournalEvent(name: name, Fields(value: value))
        } catch {
            event = .other(name: name, members: rest)
        }
        guard case .checked = event,
            let times = value["times"]?.asInt64.flatMap({ Int(exactly: $0) }), times > 1,
            let since = value["since"]?.asTime
        else { return }
        self.times = times
        self.since = since
    }
}

/// The fields of a line; an event that lacks a required one is not an event that castree knows.
private struct Fields {
    struct Missing: Error {}

    let value: JSONValue

    subscript(key: String) -> String? { value[key]?.asString }

    func required<Value>(_ value: Value?) throws(Missing) -> Value {
        guard let value else { throw Missing() }
        return value
    }

    func text(_ key: String) throws(Missing) -> String { try required(self[key]) }
    func number(_ key: String) throws(Missing) -> Int64 { try required(value[key]?.asInt64) }
    func count(_ key: String) throws(Missing) -> Int {
        try required(Int(exactly: try number(key)))
    }

    func cost() throws(Missing) -> UpdateCost {
        var cost = UpdateCost()
        cost.files = try count("files")
        cost.bytes = try number("bytes")
        cost.reusedFiles = try count("reusedFiles")
        cost.reusedBytes = try number("reusedBytes")
        return cost
    }

    func figures() throws(Missing) -> DownloadFigures {
        var figures = DownloadFigures()
        figures.files = try count("files")
        figures.bytes = try number("bytes")
        figures.reusedBytes = try number("reusedBytes")
        figures.resumedBytes = try number("resumedBytes")
        figures.requests = try count("requests")
        figures.milliseconds = try number("milliseconds")
        return figures
    }

    /// Who failed; lines of older castrees do not say it.
    var failure: JournalFailure? {
        self["code"].map { JournalFailure(code: $0, isOfStore: value["ofStore"]?.asBool == true) }
    }

    func texts(_ key: String) throws(Missing) -> [String] {
        try required(value[key]?.asArray).compactMap(\.asString)
    }

    func kinds() throws(Missing) -> [String: Int] {
        var kinds: [String: Int] = [:]
        for member in try required(value["kinds"]?.asObject) {
            kinds[member.key] = try required(member.value.asInt64.flatMap { Int(exactly: $0) })
        }
        return kinds
    }
}

extension JournalEvent {
    /// Reads an event that this castree knows, whole.
    fileprivate init(name: String, _ fields: Fields) throws(Fields.Missing) {
        switch name {
        case "check":
            self = .checked(
                origin: try fields.text("origin"),
                outcome: try fields.required(CheckOutcome(rawValue: try fields.text("outcome"))),
                version: fields["version"], reason: fields["reason"], failure: fields.failure)
        case "answers":
            self = .answering(
                origin: try fields.text("origin"), failures: try fields.count("failures"),
                seconds: fields.value["seconds"]?.asInt64)
        case "verify":
            self = .verified(
                origin: try fields.text("origin"), channel: try fields.text("channel"),
                sequence: try fields.number("pointer"), keys: try fields.texts("keys"))
        case "trust":
            self = .trusting(
                origin: try fields.text("origin"), keys: try fields.texts("keys"),
                threshold: try fields.count("threshold"))
        case "rotate":
            self = .rotated(
                origin: try fields.text("origin"), version: try fields.number("trustVersion"),
                keys: try fields.texts("keys"))
        case "found":
            self = .found(kinds: try fields.kinds(), repaired: try fields.count("repaired"))
        case "collect":
            self = .collected(
                objects: try fields.count("objects"), bytes: try fields.number("bytes"))
        case "failed":
            self = .failed(
                deed: try fields.text("deed"), failure: try fields.required(fields.failure),
                message: try fields.text("message"))
        case "retry":
            self = .retried(
                reason: try fields.text("reason"), milliseconds: try fields.number("milliseconds"))
        case "fallback":
            self = .fellBack(
                pack: fields["pack"].flatMap { ObjectID($0) }, reason: try fields.text("reason"),
                objects: try fields.count("objects"))
        case "lost": self = .lost(count: try fields.count("count"))
        default: try self.init(version: try fields.text("version"), name: name, fields)
        }
    }

    private init(version: String, name: String, _ fields: Fields) throws(Fields.Missing) {
        switch name {
        case "plan": self = .planned(version: version, cost: try fields.cost())
        case "downloadBegan": self = .downloadBegan(version: version)
        case "downloadEnded":
            self = .downloadEnded(
                version: version,
                outcome: try fields.required(DownloadOutcome(rawValue: try fields.text("outcome"))),
                figures: try fields.figures(), reason: fields["reason"], failure: fields.failure)
        case "add":
            self = .added(
                version: version, files: try fields.count("files"),
                bytes: try fields.number("bytes"), newObjects: try fields.count("newObjects"),
                newBytes: try fields.number("newBytes"))
        case "switch": self = .switched(version: version, from: fields["from"])
        case "stalePage": self = .stalePage(version: version, shown: fields["from"])
        case "pending": self = .pending(version: version)
        case "withdraw": self = .withdrawn(version: version)
        case "boot": self = .booted(version: version)
        case "confirm": self = .confirmed(version: version)
        case "forgive": self = .forgiven(version: version)
        case "rollback":
            self = .rolledBack(
                version: version, from: try fields.text("from"), reason: try fields.text("reason"))
        case "ban":
            self = .banned(
                version: version,
                content: try fields.required(ObjectID(try fields.text("content"))),
                reason: try fields.text("reason"), count: try fields.count("count"))
        case "retire":
            self = .retired(version: version, references: try fields.count("references"))
        case "embedded":
            self = .embedded(
                version: version, previous: fields["previous"],
                becameCurrent: try fields.required(fields.value["becameCurrent"]?.asBool))
        default: throw Fields.Missing()
        }
    }
}
