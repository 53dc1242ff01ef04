import CASStore
import StrictJSON

// Reads lifecycle.json. Its names become paths, so each must obey the rules, whoever wrote the file.

extension Lifecycle {
    /// Reads the lifecycle from the directory of the store.
    /// - Throws: `.badLifecycle` if the file is damaged, or is gone while `current` shows something.
    static func read(
        _ root: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Lifecycle {
        guard let status = try fileSystem.status(root, StoreLayout.lifecycle) else {
            // The link is made after the file, so the file was deleted and all that it kept would be lost.
            guard let target = try fileSystem.symbolicLink(root, StoreLayout.current) else {
                return Lifecycle()
            }
            throw refuse("it is gone, though the link current leads to \(printable(target))")
        }
        guard status.kind == .regular else {
            throw refuse("something that is not a regular file stands in its place")
        }
        do throws(StoreError) {
            return try Lifecycle(
                parsing: fileSystem.contents(
                    root, StoreLayout.lifecycle, limit: Lifecycle.byteCountMax))
        } catch {
            throw error.ifUnreadable(refuse)
        }
    }

    /// - Throws: `.badLifecycle` with what is wrong; `.unsupportedFormat` if the format is newer.
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
        knownGood = try Self.names(document["knownGood"], "knownGood")
        bad = try Self.list(document["bad"], "bad", Self.ban)
        boot = try Self.boot(document["boot"])
        unheard = try Self.list(document["unheard"], "unheard", Self.boot)
        if let value = document["confirmed"], !value.isNull {
            guard let version = try Self.name(value["version"], "confirmed"),
                let token = value["token"]?.asString
            else { throw Self.refuse("\"confirmed\" is missing a field") }
            confirmed = Confirmation(version: version, token: token)
        }
        before = try Self.name(document["before"], "before")
        protected = Set(try Self.names(document["protected"], "protected"))
        attempts = try Self.list(document["trials"], "trials", Self.attempt)
        isTrusting = document["trusting"]?.asBool ?? false
        let unknown = (document.asObject ?? []).filter { !Self.knownKeys.contains($0.key) }
        // In the order in which they are written, so that files with the same content are equal.
        others = unknown.withSortedKeys
        staleDigest = try Self.staleDigest(of: document)
    }

    /// The digest in a document if it does not match the content.
    private static func staleDigest(of document: JSONValue) throws(StoreError) -> String? {
        guard let value = document[digestKey], let members = document.asObject else { return nil }
        let found = value.asString ?? ""
        if try found == digest(of: members) { return nil }
        return ObjectID(found) == nil ? "" : found
    }

    private static let knownKeys: Set<String> = [
        "bad", "before", "boot", "confirmed", "current", digestKey, "embedded", "format",
        "knownGood", "pending", "protected", "trials", "trusting", "unheard",
    ]

    private static func boot(_ value: JSONValue?) throws(StoreError) -> Boot? {
        guard let value, !value.isNull else { return nil }
        guard let version = try name(value["version"], "boot"),
            let token = value["token"]?.asString,
            let startedAt = value["startedAt"]?.asTime
        else { throw refuse("\"boot\" is missing a field") }
        return Boot(
            version: version, token: token, startedAt: startedAt,
            content: value["content"]?.asString.flatMap { ObjectID($0) },
            isUncounted: value["uncounted"]?.asBool ?? false,
            system: value["system"]?.asString, isWatched: value["watched"]?.asBool ?? false)
    }

    private static func attempt(_ value: JSONValue) throws(StoreError) -> Attempt {
        guard let version = try name(value["version"], "trials"),
            let content = value["content"]?.asString.flatMap({ ObjectID($0) }),
            let failedAttempts = count(value["strikes"]), let takenBack = count(value["takenBack"])
        else { throw refuse("an attempt is missing a field") }
        return Attempt(
            version: version, content: content, failedAttempts: failedAttempts, takenBack: takenBack
        )
    }

    private static func ban(_ value: JSONValue) throws(StoreError) -> Ban {
        guard let version = try name(value["version"], "bad"),
            let content = value["content"]?.asString.flatMap({ ObjectID($0) }),
            let reason = value["reason"]?.asString, let count = count(value["count"]),
            count > 0, let at = value["at"]?.asTime
        else { throw refuse("a ban is missing a field") }
        return Ban(version: version, content: content, reason: reason, count: count, at: at)
    }

    private static func count(_ value: JSONValue?) -> Int? {
        value?.asInt64.flatMap { (0..<Int64(Int32.max)).contains($0) ? Int($0) : nil }
    }

    private static func name(_ value: JSONValue?, _ field: String) throws(StoreError) -> String? {
        guard let value, !value.isNull else { return nil }
        guard let text = value.asString else { throw refuse("\"\(field)\" is not a name") }
        do throws(StoreError) {
            return try VersionName(text).description
        } catch {
            throw refuse("\"\(field)\": \(error.message)")
        }
    }

    private static func names(
        _ value: JSONValue?, _ field: String
    ) throws(StoreError) -> [String] {
        try list(value, field) { (value) throws(StoreError) in try name(value, field) }
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

    // MARK: Writes lifecycle.json: JSON without white space, keys sorted, replaced as a whole

    static let formatVersion: Int64 = 1
    /// The size limit of the file, for reading and writing.
    static let byteCountMax = 16 << 20
    static let reasonByteCountMax = 1000

    /// A reason that fits the file: truncated with "…" if too long, and without NUL, which our JSON never contains.
    static func bounded(_ reason: String) -> String {
        // One scalar beyond the limit is enough to tell that it is too long.
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

    func serialized() throws(StoreError) -> [UInt8] {
        let members: [JSONValue.Member] =
            others
            + .present([
                "bad": .array(bad.map { Self.value(of: $0) }),
                "boot": boot.map { Self.value(of: $0) } ?? .null,
                "confirmed": confirmed.map { Self.value(of: $0) } ?? .null,
                "current": JSONValue.text(current) ?? .null,
                "embedded": JSONValue.text(embedded) ?? .null,
                "format": .integer(Self.formatVersion),
                "knownGood": .array(knownGood.map { .string($0) }),
                "pending": JSONValue.text(pending) ?? .null,
                // Newer than format 1: omitted if there is nothing to say.
                "before": .text(before),
                "protected": protected.isEmpty
                    ? nil : .array(protected.sorted().map { .string($0) }),
                "trials": attempts.isEmpty ? nil : .array(attempts.map { Self.value(of: $0) }),
                "trusting": isTrusting ? .bool(true) : nil,
                "unheard": unheard.isEmpty ? nil : .array(unheard.map { Self.value(of: $0) }),
            ])
        let digest = if let staleDigest { staleDigest } else { try Self.digest(of: members) }
        return JSONValue.object(members + [.init(key: Self.digestKey, value: .string(digest))])
            .fileBytes
    }

    private static func value(of ban: Ban) -> JSONValue {
        .members([
            "at": .integer(ban.at), "content": .text(ban.content),
            "count": .integer(Int64(ban.count)), "reason": .string(ban.reason),
            "version": .string(ban.version),
        ])
    }

    private static func value(of boot: Boot) -> JSONValue {
        .members([
            "startedAt": .integer(boot.startedAt), "token": .string(boot.token),
            "version": .string(boot.version), "content": .text(boot.content),
            "system": .text(boot.system), "watched": boot.isWatched ? .bool(true) : nil,
            "uncounted": boot.isUncounted ? .bool(true) : nil,
        ])
    }

    private static func value(of confirmed: Confirmation) -> JSONValue {
        .members(["token": .string(confirmed.token), "version": .string(confirmed.version)])
    }

    private static func value(of attempt: Attempt) -> JSONValue {
        .members([
            "content": .text(attempt.content), "strikes": .integer(Int64(attempt.failedAttempts)),
            "takenBack": .integer(Int64(attempt.takenBack)), "version": .string(attempt.version),
        ])
    }

    static let digestKey = "digest"

    /// SHA-256 of all other members, even unknown ones, with sorted keys and without white space.
    static func digest(of members: [JSONValue.Member]) throws(StoreError) -> String {
        let others = members.filter { $0.key != digestKey }
        var digester = try Digester(.sha256)
        JSONWriter.serialize(.object(others), sortedKeys: true).withUnsafeBytes {
            digester.update($0)
        }
        return digester.finish { ObjectID(unchecked: $0) }.description
    }
}
