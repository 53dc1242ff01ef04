import CASStore
import StrictJSON

// lifecycle.json: JSON without white space, keys sorted; replaced as a whole.

extension Lifecycle {
    /// The version of the file's format.
    static let formatVersion: Int64 = 1
    /// The most bytes that the file may have: longer ones are neither written nor read.
    static let byteCountMax = 16 << 20
    /// The most bytes that the reason of a ban may have.
    static let reasonByteCountMax = 1000

    /// A reason that the file can hold: the beginning of one that is too long, marked by "…"; without
    /// NUL, which our JSON never holds.
    static func bounded(_ reason: String) -> String {
        // One scalar more than fits is enough to see that it does not.
        var kept = String.UnicodeScalarView(
            reason.unicodeScalars.prefix(reasonByteCountMax + 1).map {
                $0.value == 0 ? "\u{fffd}" : $0
            })
        var byteCount = kept.reduce(0) { $0 + UTF8.width($1) }
        guard byteCount > reasonByteCountMax else { return String(kept) }
        let mark: Unicode.Scalar = "\u{2026}"
        while byteCount > reasonByteCountMax - UTF8.width(mark), let last = kept.popLast() {
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
        // Newer than format 1: left out if there is nothing to say.
        if let before { add("before", .string(before)) }
        if !protected.isEmpty {
            add("protected", .array(protected.sorted().map { .string($0) }))
        }
        if !trials.isEmpty { add("trials", .array(trials.map { Self.value(of: $0) })) }
        if isTrusting { add("trusting", .bool(true)) }
        if !unheard.isEmpty { add("unheard", .array(unheard.map { Self.value(of: $0) })) }
        let digest = if let staleDigest { staleDigest } else { try Self.digest(of: members) }
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

    static let digestKey = "digest"

    /// SHA-256 of the document without the member that holds it, keys sorted and without white space.
    ///
    /// It covers all members, including those that this castree does not know.
    static func digest(of members: [JSONValue.Member]) throws(StoreError) -> String {
        let others = members.filter { $0.key != digestKey }
        var digester = try Digester(.sha256)
        JSONWriter.serialize(.object(others), sortedKeys: true).withUnsafeBytes {
            digester.update($0)
        }
        return digester.finish { ObjectID(unchecked: $0) }.description
    }
}
