internal import CASStore
internal import StrictJSON

extension JournalEntry {
    /// Reads a line of the log; `nil` for one that is torn or no line of ours.
    init?(line: [UInt8]) {
        // A log is worth reading with a line less.
        guard let value = try? JSONValue.parse(line, limits: JSONLimits(depth: 8)),
            let members = value.asObject, let name = value["event"]?.asString,
            let sequence = value["sequence"]?.asInt64, sequence >= 0,
            let at = value["at"]?.asInt64
        else { return nil }
        self.sequence = sequence
        self.at = at
        let rest = members.filter { !["at", "event", "sequence"].contains($0.key) }
        event =
            JournalEvent(name: name, Fields(value: value)) ?? .other(name: name, members: rest)
    }
}

/// The fields of a line.
private struct Fields {
    let value: JSONValue

    func text(_ key: String) -> String? { value[key]?.asString }
    func number(_ key: String) -> Int64? { value[key]?.asInt64 }
    func count(_ key: String) -> Int? { value[key]?.asInt64.flatMap { Int(exactly: $0) } }

    var cost: UpdateCost? {
        guard let files = count("files"), let bytes = number("bytes"),
            let reusedFiles = count("reusedFiles"), let reusedBytes = number("reusedBytes")
        else { return nil }
        var cost = UpdateCost()
        cost.files = files
        cost.bytes = bytes
        cost.reusedFiles = reusedFiles
        cost.reusedBytes = reusedBytes
        return cost
    }

    var figures: DownloadFigures? {
        guard let files = count("files"), let bytes = number("bytes"),
            let reusedBytes = number("reusedBytes"), let resumedBytes = number("resumedBytes"),
            let requests = count("requests"), let milliseconds = number("milliseconds")
        else { return nil }
        var figures = DownloadFigures()
        figures.files = files
        figures.bytes = bytes
        figures.reusedBytes = reusedBytes
        figures.resumedBytes = resumedBytes
        figures.requests = requests
        figures.milliseconds = milliseconds
        return figures
    }

    var kinds: [String: Int]? {
        guard let members = value["kinds"]?.asObject else { return nil }
        var kinds: [String: Int] = [:]
        for member in members {
            guard let count = member.value.asInt64.flatMap({ Int(exactly: $0) }) else { return nil }
            kinds[member.key] = count
        }
        return kinds
    }
}

extension JournalEvent {
    /// Reads an event that this castree knows, whole; `nil` for others.
    fileprivate init?(name: String, _ fields: Fields) {
        switch name {
        case "check", "plan", "downloadBegan", "downloadEnded", "add":
            self.init(arrival: name, fields)
        case "found":
            guard let kinds = fields.kinds, let repaired = fields.count("repaired") else {
                return nil
            }
            self = .found(kinds: kinds, repaired: repaired)
        case "collect":
            guard let objects = fields.count("objects"), let bytes = fields.number("bytes") else {
                return nil
            }
            self = .collected(objects: objects, bytes: bytes)
        case "failed":
            guard let deed = fields.text("deed"), let code = fields.text("code"),
                let message = fields.text("message")
            else { return nil }
            self = .failed(deed: deed, code: code, message: message)
        case "lost":
            guard let count = fields.count("count") else { return nil }
            self = .lost(count: count)
        default:
            guard let version = fields.text("version") else { return nil }
            self.init(version: version, name: name, fields)
        }
    }

    private init?(arrival name: String, _ fields: Fields) {
        if name == "check" {
            guard let origin = fields.text("origin"),
                let outcome = fields.text("outcome").flatMap({ CheckOutcome(rawValue: $0) })
            else { return nil }
            self = .checked(
                origin: origin, outcome: outcome, version: fields.text("version"),
                reason: fields.text("reason"))
            return
        }
        guard let version = fields.text("version") else { return nil }
        switch name {
        case "plan":
            guard let cost = fields.cost else { return nil }
            self = .planned(version: version, cost: cost)
        case "downloadBegan": self = .downloadBegan(version: version)
        case "downloadEnded":
            guard let figures = fields.figures,
                let outcome = fields.text("outcome").flatMap({ DownloadOutcome(rawValue: $0) })
            else { return nil }
            self = .downloadEnded(
                version: version, outcome: outcome, figures: figures,
                reason: fields.text("reason"))
        default:
            guard let files = fields.count("files"), let bytes = fields.number("bytes"),
                let newObjects = fields.count("newObjects"),
                let newBytes = fields.number("newBytes")
            else { return nil }
            self = .added(
                version: version, files: files, bytes: bytes, newObjects: newObjects,
                newBytes: newBytes)
        }
    }

    private init?(version: String, name: String, _ fields: Fields) {
        switch name {
        case "switch": self = .switched(version: version, from: fields.text("from"))
        case "pending": self = .pending(version: version)
        case "withdraw": self = .withdrawn(version: version)
        case "boot": self = .booted(version: version)
        case "confirm": self = .confirmed(version: version)
        case "forgive": self = .forgiven(version: version)
        case "rollback":
            guard let from = fields.text("from"), let reason = fields.text("reason") else {
                return nil
            }
            self = .rolledBack(version: version, from: from, reason: reason)
        case "ban":
            guard let content = fields.text("content").flatMap({ ObjectID($0) }),
                let reason = fields.text("reason"), let count = fields.count("count")
            else { return nil }
            self = .banned(version: version, content: content, reason: reason, count: count)
        case "retire":
            guard let references = fields.count("references") else { return nil }
            self = .retired(version: version, references: references)
        case "embedded":
            guard let becameCurrent = fields.value["becameCurrent"]?.asBool else { return nil }
            self = .embedded(
                version: version, previous: fields.text("previous"), becameCurrent: becameCurrent)
        default: return nil
        }
    }
}
