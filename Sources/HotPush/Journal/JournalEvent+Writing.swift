internal import CASStore
package import StrictJSON

extension JournalEvent {
    /// The event's name in the log.
    package var name: String { record.name }

    /// The event's fields in the log, without its name; absent ones are left out.
    package var members: [JSONValue.Member] { record.members }

    private var record: Record {
        switch self {
        case .checked(let origin, let outcome, let version, let reason, let failure):
            Record("check").with("origin", origin).with("outcome", outcome.rawValue)
                .with("version", version).with("reason", reason.map { withoutPaths($0) })
                .with(failure)
        case .answering(let origin, let failures, let seconds):
            Record("answers").with("origin", origin).with("failures", failures)
                .with("seconds", seconds)
        case .verified(let origin, let channel, let sequence, let keys):
            Record("verify").with("origin", origin).with("channel", channel)
                .with("pointer", sequence).with("keys", keys)
        case .trusting(let origin, let keys, let threshold):
            Record("trust").with("origin", origin).with("keys", keys)
                .with("threshold", threshold)
        case .rotated(let origin, let version, let keys):
            Record("rotate").with("origin", origin).with("trustVersion", version)
                .with("keys", keys)
        case .planned(let version, let cost): Record("plan").with("version", version).with(cost)
        case .downloadBegan(let version): Record("downloadBegan").with("version", version)
        case .downloadEnded(let version, let outcome, let figures, let reason, let failure):
            Record("downloadEnded").with("version", version).with("outcome", outcome.rawValue)
                .with("reason", reason.map { withoutPaths($0) }).with(failure).with(figures)
        case .retried(let reason, let milliseconds):
            Record("retry").with("reason", withoutPaths(reason)).with("milliseconds", milliseconds)
        case .fellBack(let pack, let reason, let objects):
            Record("fallback").with("pack", pack?.description).with("reason", withoutPaths(reason))
                .with("objects", objects)
        case .added(let version, let files, let bytes, let newObjects, let newBytes):
            Record("add").with("version", version).with("files", files).with("bytes", bytes)
                .with("newObjects", newObjects).with("newBytes", newBytes)
        case .switched(let version, let from):
            Record("switch").with("version", version).with("from", from)
        case .pending(let version): Record("pending").with("version", version)
        case .withdrawn(let version): Record("withdraw").with("version", version)
        case .booted(let version): Record("boot").with("version", version)
        case .confirmed(let version): Record("confirm").with("version", version)
        case .rolledBack(let version, let from, let reason):
            Record("rollback").with("version", version).with("from", from).with("reason", reason)
        case .banned(let version, let content, let reason, let count):
            Record("ban").with("version", version).with("content", content.description)
                .with("reason", reason).with("count", count)
        case .forgiven(let version): Record("forgive").with("version", version)
        case .retired(let version, let references):
            Record("retire").with("version", version).with("references", references)
        case .collected(let objects, let bytes):
            Record("collect").with("objects", objects).with("bytes", bytes)
        case .found(let kinds, let repaired):
            Record("found").with("kinds", kinds).with("repaired", repaired)
        case .embedded(let version, let previous, let becameCurrent):
            Record("embedded").with("version", version).with("previous", previous)
                .with("becameCurrent", value: .bool(becameCurrent))
        case .failed(let deed, let failure, let message):
            Record("failed").with("deed", deed).with(failure)
                .with("message", withoutPaths(message))
        case .stalePage(let version, let shown):
            Record("stalePage").with("version", version).with("from", shown)
        case .lost(let count): Record("lost").with("count", count)
        case .other(let name, let members): Record(name, members)
        }
    }
}

/// An event on its way into the log: its name, and its fields.
private struct Record {
    /// Longer texts are cut: one event must not push out the others.
    static let textByteCountMax = 600

    let name: String
    private(set) var members: [JSONValue.Member]

    init(_ name: String, _ members: [JSONValue.Member] = []) {
        self.name = name
        self.members = members
    }

    func with(_ key: String, value: JSONValue) -> Record {
        Record(name, members + [.init(key: key, value: value)])
    }

    func with(_ key: String, _ text: String?) -> Record {
        guard let text else { return self }
        let short = redacted(text).clipped(to: Self.textByteCountMax)
        // The JSON writer takes any string except one with NUL, which the reader refuses.
        let clean = String(String.UnicodeScalarView(short.unicodeScalars.filter { $0.value != 0 }))
        return with(key, value: .string(clean))
    }

    func with(_ key: String, _ number: some BinaryInteger) -> Record {
        with(key, value: .integer(Int64(number)))
    }

    func with(_ key: String, _ number: Int64?) -> Record {
        number.map { with(key, value: .integer($0)) } ?? self
    }

    func with(_ failure: JournalFailure?) -> Record {
        guard let failure else { return self }
        let record = with("code", failure.code)
        return failure.isOfStore ? record.with("ofStore", value: .bool(true)) : record
    }

    func with(_ key: String, _ ids: [String]) -> Record {
        with(key, value: .array(ids.map { .string($0) }))
    }

    func with(_ key: String, _ counts: [String: Int]) -> Record {
        let counted = counts.sorted { $0.key < $1.key }.map { count in
            JSONValue.Member(key: count.key, value: .integer(Int64(count.value)))
        }
        return with(key, value: .object(counted))
    }

    func with(_ cost: UpdateCost) -> Record {
        with("files", cost.files).with("bytes", cost.bytes)
            .with("reusedFiles", cost.reusedFiles).with("reusedBytes", cost.reusedBytes)
    }

    func with(_ figures: DownloadFigures) -> Record {
        with("files", figures.files).with("bytes", figures.bytes)
            .with("reusedBytes", figures.reusedBytes).with("resumedBytes", figures.resumedBytes)
            .with("requests", figures.requests).with("milliseconds", figures.milliseconds)
    }
}

extension JournalEntry {
    /// The line of the log, with its line feed.
    var line: [UInt8] {
        let isRepeated = times > 1 && since != nil
        let head: [JSONValue.Member] = .present([
            "at": .integer(at), "event": .string(event.name), "sequence": .integer(sequence),
            "times": isRepeated ? .integer(Int64(times)) : nil,
            "since": isRepeated ? .number(since) : nil,
        ])
        return JSONValue.object(head + event.members).fileBytes
    }
}
