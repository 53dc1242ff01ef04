package import CASStore
package import StrictJSON

/// The keys whose signatures count from a version of an origin's trust on: the immutable file `trust/<version>.json`.
///
/// Before the first rotation there is none: the keys that devices were given are version 1. Each later version is
/// signed by the threshold of the one before it and by its own, so whoever trusts one version can follow to the next,
/// and nobody else can make one.
package struct TrustFile: Sendable, Hashable {
    package static let formatVersion: Int64 = 1
    package static let byteCountMax = 64 * 1024
    /// The version of the keys that a device was given, which has no file.
    package static let firstVersion: Int64 = 1
    /// Bounds the versions examined: a stranger's pointer may name any.
    package static let followedMax: Int64 = 256
    /// All possible versions.
    package static let versions = firstVersion...ChannelPointer.sequenceMax
    package static let remedy =
        "its publisher puts it back from a copy of the origin (castree fsck ORIGIN --repair --from COPY)"

    /// What to do where a rotation was cut short.
    package static let repetition =
        "repeat it as it was (castree trust rotate), which finishes it, and rotate again if other keys are wanted; the file "
        + "must stay, since whoever has a copy can show it to devices"

    /// What else a file that a key known here has signed may mean.
    package static let theft =
        ". If you do not know its keys, somebody who has a key of yours made it: look at what is offered (castree "
        + "channels), remove the file and rotate at once"

    package static let otherwise =
        "; if you never changed the keys to it, somebody who has one of them has named it: look at what the channels offer, then "
        + "castree resign ORIGIN --adopt --unsigned, and change the keys (castree trust rotate)"

    package var origin: String
    /// From 2 on.
    package var version: Int64
    package var trusted: TrustedKeys
    /// When it was made, in seconds since 1970; for people.
    package var createdAt: Int64
    /// Sorted by key, each key once.
    package var signatures: [PointerSignature] = []
    /// Unknown fields, kept verbatim.
    package var foreign: [JSONValue.Member] = []

    package init(origin: String, version: Int64, trusted: TrustedKeys, createdAt: Int64) {
        self.origin = origin
        self.version = version
        self.trusted = trusted
        self.createdAt = createdAt
    }

    private static let signedPrefix = Array("castree-trust 1\n".utf8)

    package var signedBytes: [UInt8] {
        var unsigned = self
        unsigned.signatures = []
        return Self.signedPrefix + JSONWriter.serialize(unsigned.document, sortedKeys: true)
    }

    /// Checks that it follows a version of the trust, signed by that one's threshold and its own.
    /// - Parameter origin: the id of the expected origin.
    /// - Throws: `.untrusted` with what is wrong.
    package func check(
        follows previous: TrustedKeys, _ previousVersion: Int64, of origin: String
    ) throws(StoreError) {
        guard self.origin == origin else { throw refusal("it belongs to another origin") }
        guard version == previousVersion + 1 else {
            throw refusal("it does not follow version \(previousVersion)")
        }
        let signedBytes = signedBytes
        for (keys, whose) in [(previous, "the version before it"), (trusted, "its own")] {
            let signers = keys.signers(of: signedBytes, signatures)
            guard signers.count >= keys.threshold else {
                throw refusal(
                    "\(signers.count) of the keys of \(whose) have signed it, and \(keys.threshold) must"
                )
            }
        }
    }

    package func isFollowing(_ previous: TrustedKeys, _ version: Int64, of origin: String) -> Bool {
        // Only the outcome matters, and the check fails for no other reason.
        (try? check(follows: previous, version, of: origin)) != nil
    }

    /// Whether a pointer of its origin names it, and its keys have signed that.
    package func counts(_ pointer: ChannelPointer) -> Bool {
        pointer.trustVersion == version && trusted.judge(pointer, of: origin).objection == nil
    }

    /// Reads a version; `nil` for an invalid file, which no device follows and which is therefore ignored.
    package static func ifSound(
        _ read: @autoclosure () throws(StoreError) -> TrustFile?
    ) throws(StoreError) -> TrustFile? {
        try allowing([.untrusted, .tooLarge], try read())
    }

    private func refusal(_ problem: String) -> StoreError {
        StoreError(
            .untrusted, "\(OriginLayout.trust(version)) of the origin is refused: \(problem)")
    }

    // Trust ↔ bytes: JSON without white space, keys sorted (RFC 8785), one line.

    package func serialized() -> [UInt8] { document.fileBytes }

    package var document: JSONValue {
        let members: [JSONValue.Member] = .present([
            "castreeTrust": .integer(Self.formatVersion), "createdAt": .integer(createdAt),
            "keys": .array(trusted.keys.map { .string($0.base64) }), "origin": .string(origin),
            "threshold": .integer(Int64(trusted.threshold)), "version": .integer(version),
            "signatures": signatures.isEmpty ? nil : signatures.document,
        ])
        return .object(members + foreign)
    }

    /// Reads an untrusted file; ``check(follows:_:of:)`` says whether to believe it.
    /// - Parameter version: that of its name.
    /// - Throws: `.untrusted` with what is wrong; `.unsupportedFormat` if it is newer than this castree.
    package init(parsing bytes: [UInt8], version: Int64) throws(StoreError) {
        do throws(PointerProblem) {
            self = try Self.parse(bytes, version)
        } catch {
            var refusal = error.storeError(
                "\(OriginLayout.trust(version)) of the origin", .untrusted,
                formatVersion: Self.formatVersion)
            if refusal.code == .untrusted { refusal.message += "; \(Self.remedy)" }
            throw refusal
        }
    }

    private static func parse(
        _ bytes: [UInt8], _ version: Int64
    ) throws(PointerProblem) -> TrustFile {
        let document = try JSONValue.read(bytes, byteCountMax: byteCountMax, depth: 16)
        var fields = try FieldReader(document, format: "castreeTrust", upTo: formatVersion)
        guard try fields.integer("version", 2...ChannelPointer.sequenceMax) == version else {
            throw .broken("it is another version than its name says")
        }
        let origin = try fields.text("origin")
        guard ChannelPointer.isOriginID(origin) else {
            throw .broken("\"origin\" is not 32 lower-case hexadecimal digits")
        }
        var file = TrustFile(
            origin: origin, version: version, trusted: try trusted(&fields),
            createdAt: try fields.integer("createdAt", 0...ChannelPointer.sequenceMax))
        file.signatures = try [PointerSignature](&fields)
        file.foreign = fields.rest
        guard document.hasOnlyExactIntegers, file.serialized() == bytes else {
            throw .broken("it is not in its canonical form (RFC 8785, and a newline)")
        }
        return file
    }

    private static func trusted(_ fields: inout FieldReader) throws(PointerProblem) -> TrustedKeys {
        let values = try fields.array("keys")
        // Before libcrypto is asked about each.
        guard values.count <= PointerSignature.countMax else {
            throw .broken("it lists \(values.count) keys, more than \(PointerSignature.countMax)")
        }
        let threshold = try fields.integer("threshold", 1...Int64(PointerSignature.countMax))
        do throws(StoreError) {
            var keys: [VerificationKey] = []
            for value in values {
                guard let text = value.asString else {
                    throw .badKey("a key is no string")
                }
                keys.append(try VerificationKey(base64: text))
            }
            return try TrustedKeys(keys, threshold: Int(threshold))
        } catch {
            throw .broken(error.message)
        }
    }
}

/// The keys whose signatures count, and how many of them must have signed.
package struct TrustedKeys: Sendable, Hashable {
    /// Sorted by id, each distinct.
    package let keys: [VerificationKey]
    /// How many different keys must have signed a pointer.
    package let threshold: Int

    /// - Throws: `.badKey` for no key, more than ``PointerSignature/countMax``, equal ids, or an unreachable threshold.
    package init(_ keys: [VerificationKey], threshold: Int = 1) throws(StoreError) {
        let sorted = keys.sorted { $0.id < $1.id }
        guard 1...PointerSignature.countMax ~= sorted.count else {
            throw .badKey(
                "\(sorted.count) keys cannot be trusted: name 1 to \(PointerSignature.countMax)")
        }
        for (one, other) in zip(sorted, sorted.dropFirst()) where one.id == other.id {
            throw .badKey(
                one == other
                    ? "key \(one.id) is named twice: each counts once"
                    : "two different keys have the id \(one.id): somebody made one of them to look like the other"
            )
        }
        guard 1...sorted.count ~= threshold else {
            throw .badKey(
                "\(threshold) signatures are asked for, and \(sorted.count == 1 ? "1 key is" : "\(sorted.count) keys are") "
                    + "trusted: ask for 1 to \(sorted.count)")
        }
        self.keys = sorted
        self.threshold = threshold
    }

    /// The ids of the trusted keys whose signatures of some bytes verify; distinct and sorted.
    package func signers(of signedBytes: [UInt8], _ signatures: [PointerSignature]) -> [String] {
        keys.filter { key in
            signatures.contains {
                $0.key == key.id && key.verifies($0.signature, of: signedBytes)
            }
        }.map(\.id)
    }

    /// Distinct and sorted ids, as of ``signers(of:_:)``.
    package func signers(of pointer: ChannelPointer) -> [String] {
        signers(of: pointer.signedBytes, pointer.signatures)
    }

    /// Whether enough trusted keys have signed a pointer of the expected origin, whatever its sequence and expiry.
    /// - Parameter origin: the id of the origin; `nil` if it is not known yet.
    package func judge(_ pointer: ChannelPointer, of origin: String? = nil) -> PointerJudgement {
        guard pointer.isSigned else { return PointerJudgement(objection: "it is not signed") }
        let signers = signers(of: pointer)
        guard signers.count >= threshold else {
            return PointerJudgement(objection: shortage(of: pointer, signers))
        }
        if let origin, let other = pointer.origin, other != origin {
            return PointerJudgement(objection: "it belongs to another origin (\(other))")
        }
        return PointerJudgement(signers: signers)
    }

    private func shortage(of pointer: ChannelPointer, _ signers: [String]) -> String {
        let (known, there) = (Set(keys.map(\.id)), pointer.signatures.map(\.key))
        // It was changed, or put together.
        let wrong = there.filter { known.contains($0) && !signers.contains($0) }
        let unknown = there.filter { !known.contains($0) }
        var parts: [String] = []
        if threshold > 1 {
            parts.append("\(signers.count) of \(threshold) trusted keys have signed it")
        }
        if !wrong.isEmpty {
            parts.append(
                "the signature of key \(wrong.joined(separator: ", ")) is not of this pointer")
        }
        if !unknown.isEmpty {
            parts.append("key \(unknown.joined(separator: ", ")) has signed it and is not trusted")
        }
        return parts.joined(separator: "; ")
    }
}

/// Whether a pointer counts, and why not.
package struct PointerJudgement: Sendable, Hashable {
    package var signers: [String] = []
    /// What is wrong, as the end of a sentence about the pointer; `nil` if it counts.
    package var objection: String?
}
