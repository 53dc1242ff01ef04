import CASStore
import StrictJSON

// Codes trust.json: JSON without white space, keys sorted (RFC 8785), and a newline.
//
// A digest of the rest detects flipped bits and editing mistakes. A damaged file is refused and never guessed at:
// half a trust is worse than none.

extension StoreTrust {
    static let formatVersion: Int64 = 1
    /// The size limit of the file, for reading and writing.
    static let byteCountMax = 16 << 20
    /// The largest integer that every JSON reader represents exactly (RFC 8785).
    private static let numberMax: Int64 = (1 << 53) - 1

    func serialized() throws(StoreError) -> [UInt8] {
        let members: [JSONValue.Member] =
            .present([
                "format": .integer(Self.formatVersion),
                "origins": .array(origins.map { .object($0.members) }),
            ]) + foreign
        let digest = try Lifecycle.digest(of: members)
        return JSONValue.object(members + [.init(key: Lifecycle.digestKey, value: .string(digest))])
            .fileBytes
    }

    /// - Throws: `.badTrust` with what is wrong and what to do; `.unsupportedFormat` if it is newer.
    init(parsing bytes: [UInt8]) throws(StoreError) {
        let document: JSONValue
        do throws(JSONError) {
            document = try JSONValue.parse(bytes, limits: JSONLimits(byteCount: Self.byteCountMax))
        } catch {
            throw Self.refuse(error.message)
        }
        guard let members = document.asObject, let format = document["format"]?.asInt64, format > 0
        else { throw Self.refuse("it has no format number") }
        guard format <= Self.formatVersion else {
            throw StoreError(
                .unsupportedFormat,
                "trust.json has format \(format); this castree knows up to \(Self.formatVersion), use a newer one"
            )
        }
        guard try document[Lifecycle.digestKey]?.asString == Lifecycle.digest(of: members) else {
            throw Self.refuse("it does not say what castree wrote")
        }
        guard let values = document["origins"]?.asArray else {
            throw Self.refuse("\"origins\" is no list")
        }
        for value in values {
            origins.append(try Self.origin(value))
        }
        guard isUnique else { throw Self.refuse("an origin stands in it twice") }
        foreign =
            members.filter { !["format", "origins", Lifecycle.digestKey].contains($0.key) }
            .withSortedKeys
    }

    private static func origin(_ value: JSONValue) throws(StoreError) -> TrustedOrigin {
        guard let members = value.asObject else { throw refuse("an origin is no object") }
        let id = try member("id", in: value) { $0.asString }
        if let id, id.utf8.count != 32 || Hex.bytes(id) == nil {
            throw refuse("the id of an origin is not 32 hexadecimal digits")
        }
        let keys = try keys(value["keys"])
        guard let threshold = value["threshold"]?.asInt64, 1...Int64(keys.count) ~= threshold else {
            throw refuse("a threshold is none")
        }
        var origin = TrustedOrigin(
            places: try texts(value["places"], "places"), id: id, keys: keys,
            threshold: Int(threshold))
        origin.version = try member("version", in: value) { number($0) }
        origin.floor = try member("floor", in: value) { number($0) } ?? 0
        origin.appKeys = try member("appKeys", in: value) { $0.asString }
        origin.latest = try member("latest", in: value) { number($0) } ?? 0
        origin.sequences = try numbers("sequences", in: value, "a sequence")
        origin.ends = try numbers("ends", in: value, "an end")
        origin.foreign =
            members.filter { !TrustedOrigin.knownKeys.contains($0.key) }
            .withSortedKeys
        return origin
    }

    private static func numbers(
        _ key: String, in object: JSONValue, _ what: String
    ) throws(StoreError) -> [String: Int64] {
        var numbers: [String: Int64] = [:]
        for member in try member(key, in: object, { $0.asObject }) ?? [] {
            guard let found = number(member.value) else { throw refuse("\(what) is no number") }
            numbers[member.key] = found
        }
        return numbers
    }

    private static func keys(_ value: JSONValue?) throws(StoreError) -> [VerificationKey] {
        var keys: [VerificationKey] = []
        for text in try texts(value, "keys") {
            do throws(StoreError) {
                keys.append(try VerificationKey(base64: text))
            } catch {
                throw error.code == .badKey ? refuse(error.message) : error
            }
        }
        guard !keys.isEmpty, Set(keys.map(\.id)).count == keys.count else {
            throw refuse("an origin has no key, or two with one id")
        }
        return keys
    }

    private static func texts(
        _ value: JSONValue?, _ what: String
    ) throws(StoreError) -> [String] {
        let texts = (value?.asArray ?? []).map(\.asString)
        guard value?.asArray != nil, !texts.contains(nil) else {
            throw refuse("\"\(what)\" is no list of texts")
        }
        return texts.compactMap(\.self)
    }

    private static func member<Value>(
        _ key: String, in object: JSONValue, _ read: (JSONValue) -> Value?
    ) throws(StoreError) -> Value? {
        guard let value = object[key] else { return nil }
        guard let found = read(value) else { throw refuse("\"\(key)\" is of another kind") }
        return found
    }

    private static func number(_ value: JSONValue) -> Int64? {
        value.asInt64.flatMap { 0...numberMax ~= $0 ? $0 : nil }
    }

    /// The error for a file that is gone although something else knows that it existed.
    static let lost = StoreError(
        .badTrust,
        "trust.json in the store is gone, though this store took only signed releases, so nothing is taken from any "
            + "origin: put it back from a copy; or name the keys again with castree trust add, which forgets what was seen "
            + "of each origin (castree trust remove ORIGIN: take what comes)")

    static func refuse(_ problem: String) -> StoreError {
        StoreError(
            .badTrust,
            "trust.json in the store is damaged (\(problem)), so nothing is taken from any origin: put it back from a "
                + "copy; or delete it and name the keys again with castree trust add, which forgets what was seen of "
                + "each origin")
    }
}

extension TrustedOrigin {
    fileprivate static let knownKeys: Set<String> = [
        "appKeys", "ends", "floor", "id", "keys", "latest", "places", "sequences", "threshold",
        "version",
    ]

    fileprivate var members: [JSONValue.Member] {
        .present([
            "keys": .array(keys.map { .string($0.base64) }), "latest": .integer(latest),
            "places": .array(places.map { .string($0) }),
            "sequences": .object(
                sequences.map { .init(key: $0.key, value: .integer($0.value)) }),
            "threshold": .integer(Int64(threshold)), "id": .text(id),
            "version": .number(version), "floor": floor > 0 ? .integer(floor) : nil,
            "ends": .named(ends) { .integer($0) }, "appKeys": .text(appKeys),
        ]) + foreign
    }
}
