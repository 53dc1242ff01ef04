import CASStore
import StrictJSON

// lifecycle.json: JSON without white space, keys sorted; replaced as a whole.

extension Lifecycle {
    /// The version of the file's format.
    static let formatVersion: Int64 = 1
    /// The most bytes that the file may have: a longer one is neither written nor read.
    static let byteCountMax = 16 << 20
    /// The most bytes that the reason of a ban has.
    static let reasonByteCountMax = 1000

    /// A reason that the file can hold: of a longer one the beginning, marked by "…"; without NUL, which
    /// no JSON of ours holds.
    static func bounded(_ reason: String) -> String {
        var kept = String.UnicodeScalarView()
        var byteCount = 0
        var isWhole = true
        let mark: Unicode.Scalar = "\u{2026}"
        let room =
            reason.utf8.count > reasonByteCountMax ? reasonByteCountMax - 3 : reasonByteCountMax
        for scalar in reason.unicodeScalars {
            let scalar = scalar.value == 0 ? "\u{fffd}" : scalar
            let width = UTF8.width(scalar)
            guard byteCount + width <= room else {
                isWhole = false
                break
            }
            byteCount += width
            kept.append(scalar)
        }
        if isWhole { return String(kept) }
        while byteCount > reasonByteCountMax - 3, let last = kept.popLast() {
            byteCount -= UTF8.width(last)
        }
        kept.append(mark)
        return String(kept)
    }

    /// The bytes of the file.
    func serialized() throws(StoreError) -> [UInt8] {
        var members: [JSONValue.Member] = others
        func add(_ key: String, _ value: JSONValue) {
            members.append(.init(key: key, value: value))
        }
        func optional(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
        add("bad", .array(bad.map { Self.value(of: $0) }))
        add("boot", boot.map { Self.value(of: $0) } ?? .null)
        add("confirmed", confirmed.map { Self.value(of: $0) } ?? .null)
        add("current", optional(current))
        add("embedded", optional(embedded))
        add("format", .integer(Self.formatVersion))
        add("knownGood", .array(knownGood.map { .string($0) }))
        add("pending", optional(pending))
        // Younger than format 1: left out where there is nothing to say.
        if let before { add("before", .string(before)) }
        if !protected.isEmpty {
            add("protected", .array(protected.sorted().map { .string($0) }))
        }
        if !trials.isEmpty { add("trials", .array(trials.map { Self.value(of: $0) })) }
        let digest: String
        if let staleDigest { digest = staleDigest } else { digest = try Self.digest(of: members) }
        let document = JSONValue.object(
            members + [.init(key: Self.digestKey, value: .string(digest))])
        return JSONWriter.serialize(document, sortedKeys: true) + [10]
    }

    private static func value(of ban: Ban) -> JSONValue {
        .object([
            .init(key: "at", value: .integer(ban.at)),
            .init(key: "content", value: .string(ban.content.description)),
            .init(key: "count", value: .integer(Int64(ban.count))),
            .init(key: "reason", value: .string(ban.reason)),
            .init(key: "version", value: .string(ban.version)),
        ])
    }

    private static func value(of boot: Boot) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init(key: "startedAt", value: .integer(boot.startedAt)),
            .init(key: "token", value: .string(boot.token)),
            .init(key: "version", value: .string(boot.version)),
        ]
        if let content = boot.content {
            members.append(.init(key: "content", value: .string(content.description)))
        }
        if let system = boot.system {
            members.append(.init(key: "system", value: .string(system)))
        }
        if boot.isWatched { members.append(.init(key: "watched", value: .bool(true))) }
        return .object(members)
    }

    private static func value(of confirmed: Confirmation) -> JSONValue {
        .object([
            .init(key: "token", value: .string(confirmed.token)),
            .init(key: "version", value: .string(confirmed.version)),
        ])
    }

    private static func value(of trial: Trial) -> JSONValue {
        .object([
            .init(key: "content", value: .string(trial.content.description)),
            .init(key: "strikes", value: .integer(Int64(trial.strikes))),
            .init(key: "takenBack", value: .integer(Int64(trial.takenBack))),
            .init(key: "version", value: .string(trial.version)),
        ])
    }

    private static let digestKey = "digest"

    /// SHA-256 of the document without the member that holds it, keys sorted and without white space.
    ///
    /// Of all members, also those that this castree does not know.
    private static func digest(of members: [JSONValue.Member]) throws(StoreError) -> String {
        var others: [JSONValue.Member] = []
        for member in members where member.key != digestKey { others.append(member) }
        var digester = try Digester(.sha256)
        JSONWriter.serialize(.object(others), sortedKeys: true).withUnsafeBytes {
            digester.update($0)
        }
        return digester.finish { ObjectID(unchecked: $0) }.description
    }

    /// The digest that a document has, if it is not that of its content.
    private static func staleDigest(of document: JSONValue) throws(StoreError) -> String? {
        guard let value = document[digestKey], let members = document.asObject else { return nil }
        let found = value.asString ?? ""
        if try found == digest(of: members) { return nil }
        return ObjectID(found) == nil ? "" : found
    }

    /// Reads the file.
    /// - Throws: `.badLifecycle` with what is wrong; `.unsupportedFormat` if it is newer.
    init(parsing bytes: [UInt8]) throws(StoreError) {
        let document: JSONValue
        do throws(JSONError) {
            document = try JSONValue.parse(bytes, limits: JSONLimits(byteCount: Self.byteCountMax))
        } catch {
            throw Self.refuse(error.message)
        }
        guard let format = document["format"]?.asInt64, format > 0 else {
            throw Self.refuse("it has no format number")
        }
        guard format <= Self.formatVersion else {
            throw StoreError(
                .unsupportedFormat,
                "lifecycle.json has format \(format); this castree knows up to "
                    + "\(Self.formatVersion), use a newer one")
        }
        current = try Self.name(document["current"], "current")
        pending = try Self.name(document["pending"], "pending")
        embedded = try Self.name(document["embedded"], "embedded")
        knownGood = try Self.list(document["knownGood"], "knownGood") {
            (value) throws(StoreError) in try Self.name(value, "knownGood")
        }
        bad = try Self.list(document["bad"], "bad") { (value) throws(StoreError) in
            try Self.ban(value)
        }
        boot = try Self.boot(document["boot"])
        if let value = document["confirmed"], !value.isNull {
            guard let version = try Self.name(value["version"], "confirmed"),
                let token = value["token"]?.asString
            else { throw Self.refuse("\"confirmed\" lacks a field") }
            confirmed = Confirmation(version: version, token: token)
        }
        before = try Self.name(document["before"], "before")
        let marked = try Self.list(document["protected"], "protected") {
            (value) throws(StoreError) in try Self.name(value, "protected")
        }
        protected = Set(marked)
        trials = try Self.list(document["trials"], "trials") { (value) throws(StoreError) in
            try Self.trial(value)
        }
        let unknown = (document.asObject ?? []).filter { !Self.knownKeys.contains($0.key) }
        others = unknown.inOrder
        staleDigest = try Self.staleDigest(of: document)
    }

    private static let knownKeys: Set<String> = [
        "bad", "before", "boot", "confirmed", "current", digestKey, "embedded", "format",
        "knownGood", "pending", "protected", "trials",
    ]

    private static func boot(_ value: JSONValue?) throws(StoreError) -> Boot? {
        guard let value, !value.isNull else { return nil }
        guard let version = try name(value["version"], "boot"),
            let token = value["token"]?.asString,
            let startedAt = value["startedAt"]?.asInt64
        else { throw refuse("\"boot\" lacks a field") }
        return Boot(
            version: version, token: token, startedAt: startedAt,
            content: value["content"]?.asString.flatMap { ObjectID($0) },
            system: value["system"]?.asString, isWatched: value["watched"]?.asBool ?? false)
    }

    private static func trial(_ value: JSONValue) throws(StoreError) -> Trial {
        func count(_ key: String) -> Int? {
            guard let count = value[key]?.asInt64, (0..<Int64(Int32.max)).contains(count) else {
                return nil
            }
            return Int(count)
        }
        guard let version = try name(value["version"], "trials"),
            let content = value["content"]?.asString.flatMap({ ObjectID($0) }),
            let strikes = count("strikes"), let takenBack = count("takenBack")
        else { throw refuse("a trial lacks a field") }
        return Trial(version: version, content: content, strikes: strikes, takenBack: takenBack)
    }

    private static func ban(_ value: JSONValue) throws(StoreError) -> Ban {
        guard let version = try name(value["version"], "bad"),
            let content = value["content"]?.asString.flatMap({ ObjectID($0) }),
            let reason = value["reason"]?.asString, let count = value["count"]?.asInt64,
            count > 0, count < Int32.max, let at = value["at"]?.asInt64
        else { throw refuse("a ban lacks a field") }
        return Ban(
            version: version, content: content, reason: reason, count: Int(count), at: at)
    }

    // Names become paths: each is held to the rules, whoever wrote the file.
    private static func name(_ value: JSONValue?, _ field: String) throws(StoreError) -> String? {
        guard let value, !value.isNull else { return nil }
        guard let text = value.asString else { throw refuse("\"\(field)\" is not a name") }
        do throws(StoreError) {
            return try VersionName(text).description
        } catch {
            throw refuse("\"\(field)\": \(error.message)")
        }
    }

    private static func list<Element>(
        _ value: JSONValue?, _ field: String,
        _ element: (JSONValue) throws(StoreError) -> Element?
    ) throws(StoreError) -> [Element] {
        guard let value, !value.isNull else { return [] }
        guard let array = value.asArray else { throw refuse("\"\(field)\" is not a list") }
        var result: [Element] = []
        for value in array {
            guard let found = try element(value) else {
                throw refuse("\"\(field)\" holds a null")
            }
            result.append(found)
        }
        return result
    }

    static func refuse(_ problem: String) -> StoreError {
        StoreError(
            .badLifecycle,
            "lifecycle.json cannot be read: \(problem.hasSuffix(".") ? String(problem.dropLast()) : problem)"
                + "; castree fsck --repair sets it aside and begins a new one")
    }
}

extension [JSONValue.Member] {
    /// In the order in which they are written: two files that say the same are the same.
    fileprivate var inOrder: Self {
        map { JSONValue.Member(key: $0.key, value: $0.value.inOrder) }
            .sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    }
}

extension JSONValue {
    fileprivate var inOrder: JSONValue {
        switch self {
        case .array(let elements): .array(elements.map(\.inOrder))
        case .object(let members): .object(members.inOrder)
        default: self
        }
    }
}
