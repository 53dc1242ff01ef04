package import CASStore
import StrictJSON

// Trust ↔ bytes: JSON without white space, keys sorted (RFC 8785), one line.

extension TrustFile {
    /// The bytes of the file.
    package func serialized() -> [UInt8] { document.fileBytes }

    var document: JSONValue {
        let members: [JSONValue.Member] = .present([
            "castreeTrust": .integer(Self.formatVersion), "createdAt": .integer(createdAt),
            "keys": .array(trusted.keys.map { .string($0.base64) }), "origin": .string(origin),
            "threshold": .integer(Int64(trusted.threshold)), "version": .integer(version),
            "signatures": signatures.isEmpty ? nil : signatures.document,
        ])
        return .object(members + foreign)
    }

    /// Reads a file, which may come from anywhere, and does not say whether to believe it: ``check(follows:_:of:)``.
    ///
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
        guard let members = document.asObject else { throw .broken("it is no object") }
        var fields = FieldReader(members, place: "it")
        let format = try fields.integer("castreeTrust", 1...ChannelPointer.sequenceMax)
        guard format <= formatVersion else { throw .newer(format) }
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

    private static func trusted(
        _ fields: inout FieldReader
    ) throws(PointerProblem) -> TrustedKeys {
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
                    throw StoreError(.badKey, "a key is no string")
                }
                keys.append(try VerificationKey(base64: text))
            }
            return try TrustedKeys(keys, threshold: Int(threshold))
        } catch {
            throw .broken(error.message)
        }
    }
}
