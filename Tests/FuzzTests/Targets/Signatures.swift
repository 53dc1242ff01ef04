import StrictJSON

@testable import CASStore
@testable import HotPush
@testable import VersionTree

// What signatures are made from and held against: keys, the bytes that are signed, what a store trusts. Pointers and
// versions of an origin's trust stand in Origins.swift.

extension FuzzTarget {
    /// The input is the file of a key: somebody's public one, or a private one.
    static let keys = FuzzTarget(
        name: "keys",
        words: [
            "-----BEGIN PUBLIC KEY-----\n", "\n-----END PUBLIC KEY-----\n",
            "-----BEGIN PRIVATE KEY-----\n", "\n-----END PRIVATE KEY-----\n",
            "-----BEGIN ENCRYPTED PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----",
            "MCowBQYDK2VwAyEA", "MC4CAQAwBQYDK2VwBCIEI", "=", "==", "\r\n", "-----",
        ]
    ) { input in
        let text = String(decoding: input, as: UTF8.self)
        try checkPublicKey { try VerificationKey(pem: text) }
        try checkPublicKey { try VerificationKey(base64: text) }
        try checkPublicKey { try VerificationKey(subjectPublicKeyInfo: input) }
        try input.withUnsafeBytes { bytes in
            _ = try unlessRefused(as: [.badKey, .unsupported]) { try RSASigningKey(pem: bytes) }
            let read = try unlessRefused(as: [.badKey, .unsupported]) { try SigningKey(pem: bytes) }
            guard let key = read else { return }
            let signature = try key.sign([1, 2, 3])
            try hold(
                key.verificationKey.verifies(signature, of: [1, 2, 3]), "a signature of nobody's")
            try hold(!key.description.contains("MC4"), "a private key in messages")
        }
    }

    private static func checkPublicKey(_ read: () throws -> VerificationKey) throws {
        guard let key = try unlessRefused(as: [.badKey], read) else { return }
        try hold(VerificationKey.isID(key.id), "the id \(key.id)")
        try hold(
            try VerificationKey(pem: key.pem) == key, "another key when it is written and read")
        try hold(try VerificationKey(base64: key.base64) == key, "another key in one line")
        try hold(
            !key.verifies([UInt8](repeating: 0, count: 64), of: []),
            "nothing but zeros is a signature")
    }

    typealias CanonicalWriting = @Sendable (JSONValue) -> [UInt8]

    /// Any JSON that could be signed, in its canonical form (RFC 8785).
    static let canonical = canonical { JSONWriter.serialize($0, sortedKeys: true) }

    static func canonical(_ writing: @escaping CanonicalWriting) -> FuzzTarget {
        FuzzTarget(
            name: "canonical",
            words: [
                "{\"", "\":", "\\u0000", "\\u001f", "\\u007f", "\\\"", "\\\\", "\\/", "\\b",
                "\\f", "\\n", "\\ud83d\\ude00", "\u{1F600}", "\u{FB33}", "\u{20AC}", "\u{80}",
                "9007199254740991", "-9007199254740991", "9007199254740992", "1.0", "1e3", "-0",
            ]
        ) { input in
            // What is no JSON is not signed.
            guard let value = try? JSONValue.parse(input), value.hasOnlyExactIntegers else {
                return
            }
            try hold(writing(value) == RFC8785.text(of: value), "another canonical form")
        }
    }

    /// The input is the file `trust.json` of a store, whose digest it has or not.
    static let trusts = FuzzTarget(
        name: "trusts",
        words: [
            "{\"format\":1,", "\"origins\":[{", "\"appKeys\":\"", "\"floor\":2", "\"id\":\"",
            "\"keys\":[\"MCowBQYDK2VwAyEA", "\"latest\":", "\"places\":[\"https://",
            "\"sequences\":{\"stable\":", "\"threshold\":2", "\"version\":2", "\"digest\":\"",
            "9007199254740992", "-1", "}],",
        ]
    ) { input in
        try checkTrust(input)
        // Nothing behind the digest would ever be read otherwise.
        guard let members = (try? JSONValue.parse(input))?.asObject,
            let digest = try? Lifecycle.digest(of: members)
        else { return }
        let others = members.filter { $0.key != Lifecycle.digestKey }
        let whole = others + [.init(key: Lifecycle.digestKey, value: .string(digest))]
        try checkTrust(JSONWriter.serialize(.object(whole), sortedKeys: true) + [10])
    }

    private static func checkTrust(_ input: [UInt8]) throws {
        let read = try unlessRefused(as: [.badTrust, .unsupportedFormat]) {
            try StoreTrust(parsing: input)
        }
        guard let trust = read else { return }
        try hold(
            try StoreTrust(parsing: trust.serialized()) == trust,
            "another trust when it is written and read")
        for origin in trust.origins {
            try hold(1...origin.keys.count ~= origin.threshold, "a threshold out of reach")
            try hold(origin.sequences.values.allSatisfy { $0 >= 0 }, "a sequence below 0")
            try hold(origin.id.map(ChannelPointer.isOriginID) ?? true, "an id that is none")
        }
    }

    /// The input is the file `origin.json`.
    static let markers = FuzzTarget(
        name: "markers",
        words: [
            "{\"castreeOrigin\":2", "\"origin\":\"", "1", "3", "}", "null",
            String(repeating: "0c", count: 16),
        ]
    ) { input in
        if let id = OriginMarker.id(in: input) {
            try hold(ChannelPointer.isOriginID(id), "the id \(id)")
            let written = OriginMarker.serialized(of: id)
            try hold(OriginMarker.id(in: written) == id, "another id when it is written and read")
        }
        _ = try unlessRefused(as: [.badOrigin, .unsupportedFormat]) {
            try OriginMarker.check(input, of: "here")
        }
    }
}

/// The canonical form of JSON whose numbers are integers, written from the RFC and from nothing else.
private enum RFC8785 {
    static func text(of value: JSONValue) -> [UInt8] {
        switch value {
        case .null: return Array("null".utf8)
        case .bool(let value): return Array((value ? "true" : "false").utf8)
        case .number(let text): return Array(text.utf8)
        case .string(let text): return string(text)
        case .array(let elements):
            return [0x5b] + Array(elements.map(text).joined(separator: [0x2c])) + [0x5d]
        case .object(let members):
            // Section 3.2.3: by the UTF-16 code units of their names.
            let sorted = members.sorted {
                Array($0.key.utf16).lexicographicallyPrecedes(Array($1.key.utf16))
            }
            let texts = sorted.map { string($0.key) + [0x3a] + text(of: $0.value) }
            return [0x7b] + Array(texts.joined(separator: [0x2c])) + [0x7d]
        }
    }

    /// Section 3.2.2.2.
    private static func string(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = [0x22]
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x08: bytes += Array("\\b".utf8)
            case 0x09: bytes += Array("\\t".utf8)
            case 0x0a: bytes += Array("\\n".utf8)
            case 0x0c: bytes += Array("\\f".utf8)
            case 0x0d: bytes += Array("\\r".utf8)
            case 0x22: bytes += Array("\\\"".utf8)
            case 0x5c: bytes += Array("\\\\".utf8)
            case 0..<0x20:
                let digits = String(scalar.value, radix: 16)
                bytes += Array("\\u00\(digits.count < 2 ? "0" : "")\(digits)".utf8)
            default: bytes += Array(String(scalar).utf8)
            }
        }
        return bytes + [0x22]
    }
}
