internal import CASStore
package import StrictJSON

extension JournalEvent {
    /// The event's name in the log.
    package var name: String {
        switch self {
        case .checked: "check"
        case .planned: "plan"
        case .downloadBegan: "downloadBegan"
        case .downloadEnded: "downloadEnded"
        case .added: "add"
        case .switched: "switch"
        case .pending: "pending"
        case .withdrawn: "withdraw"
        case .booted: "boot"
        case .confirmed: "confirm"
        case .rolledBack: "rollback"
        case .banned: "ban"
        case .forgiven: "forgive"
        case .retired: "retire"
        case .collected: "collect"
        case .found: "found"
        case .embedded: "embedded"
        case .failed: "failed"
        case .lost: "lost"
        case .other(let name, _): name
        }
    }

    /// The event's fields in the log, without its name; absent ones are left out.
    package var members: [JSONValue.Member] {
        var fields = FieldList()
        switch self {
        case .checked(let origin, let outcome, let version, let reason):
            fields.add("origin", origin)
            fields.add("outcome", outcome.rawValue)
            fields.add("version", version)
            fields.add("reason", reason.map { withoutPaths($0) })
        case .planned(let version, let cost):
            fields.add("version", version)
            fields.add(cost)
        case .downloadBegan(let version), .pending(let version),
            .withdrawn(let version), .booted(let version), .confirmed(let version),
            .forgiven(let version):
            fields.add("version", version)
        case .downloadEnded(let version, let outcome, let figures, let reason):
            fields.add("version", version)
            fields.add("outcome", outcome.rawValue)
            fields.add("reason", reason.map { withoutPaths($0) })
            fields.add(figures)
        case .added(let version, let files, let bytes, let newObjects, let newBytes):
            fields.add("version", version)
            fields.add("files", Int64(files))
            fields.add("bytes", bytes)
            fields.add("newObjects", Int64(newObjects))
            fields.add("newBytes", newBytes)
        case .switched(let version, let from):
            fields.add("version", version)
            fields.add("from", from)
        case .rolledBack(let version, let from, let reason):
            fields.add("version", version)
            fields.add("from", from)
            fields.add("reason", reason)
        case .banned(let version, let content, let reason, let count):
            fields.add("version", version)
            fields.add("content", content.description)
            fields.add("reason", reason)
            fields.add("count", Int64(count))
        case .retired(let version, let references):
            fields.add("version", version)
            fields.add("references", Int64(references))
        case .collected(let objects, let bytes):
            fields.add("objects", Int64(objects))
            fields.add("bytes", bytes)
        case .found(let kinds, let repaired):
            fields.add("kinds", kinds)
            fields.add("repaired", Int64(repaired))
        case .embedded(let version, let previous, let becameCurrent):
            fields.add("version", version)
            fields.add("previous", previous)
            fields.add("becameCurrent", becameCurrent)
        case .failed(let deed, let code, let message):
            fields.add("deed", deed)
            fields.add("code", code)
            fields.add("message", withoutPaths(message))
        case .lost(let count): fields.add("count", Int64(count))
        case .other(_, let members): return members
        }
        return fields.members
    }
}

/// The fields of an event on their way into the log.
private struct FieldList {
    /// Longer texts are cut: one event must not push the others out.
    static let textByteCountMax = 600
    var members: [JSONValue.Member] = []

    mutating func add(_ key: String, _ text: String?) {
        guard let text else { return }
        let short = redacted(text).clipped(to: Self.textByteCountMax)
        // The writer of JSON takes any string but one with NUL, which the reader refuses.
        let clean = String(String.UnicodeScalarView(short.unicodeScalars.filter { $0.value != 0 }))
        members.append(.init(key: key, value: .string(clean)))
    }

    mutating func add(_ key: String, _ number: Int64) {
        members.append(.init(key: key, value: .integer(number)))
    }

    mutating func add(_ key: String, _ truth: Bool) {
        members.append(.init(key: key, value: .bool(truth)))
    }

    mutating func add(_ key: String, _ counts: [String: Int]) {
        let counted = counts.sorted { $0.key < $1.key }.map { count in
            JSONValue.Member(key: count.key, value: .integer(Int64(count.value)))
        }
        members.append(.init(key: key, value: .object(counted)))
    }

    mutating func add(_ cost: UpdateCost) {
        add("files", Int64(cost.files))
        add("bytes", cost.bytes)
        add("reusedFiles", Int64(cost.reusedFiles))
        add("reusedBytes", cost.reusedBytes)
    }

    mutating func add(_ figures: DownloadFigures) {
        add("files", Int64(figures.files))
        add("bytes", figures.bytes)
        add("reusedBytes", figures.reusedBytes)
        add("resumedBytes", figures.resumedBytes)
        add("requests", Int64(figures.requests))
        add("milliseconds", figures.milliseconds)
    }
}

extension JournalEntry {
    /// The line of the log, with its line feed.
    var line: [UInt8] {
        let head: [JSONValue.Member] = [
            .init(key: "at", value: .integer(at)),
            .init(key: "event", value: .string(event.name)),
            .init(key: "sequence", value: .integer(sequence)),
        ]
        return JSONWriter.serialize(.object(head + event.members), sortedKeys: true) + [10]
    }
}
