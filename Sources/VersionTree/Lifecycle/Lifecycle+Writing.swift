import CASStore
import StrictJSON

// Writes lifecycle.json: JSON without white space, keys sorted, replaced as a whole.

extension Lifecycle {
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
