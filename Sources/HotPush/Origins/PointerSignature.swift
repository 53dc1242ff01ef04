import CASStore
package import StrictJSON

/// The signature of one key in a pointer or a trust file.
package struct PointerSignature: Sendable, Hashable {
    package static let countMax = 8
    /// The size of an Ed25519 signature (RFC 8032, section 5.1.6).
    package static let byteCount = 64

    /// The id of the key (``VerificationKey/id``).
    package let key: String
    package let signature: [UInt8]

    package init(key: String, signature: [UInt8]) {
        self.key = key
        self.signature = signature
    }
}

extension [PointerSignature] {
    /// The list in its order: `[{"key":"…","signature":"…"}]`.
    package var document: JSONValue {
        .array(
            map {
                .members(["key": .string($0.key), "signature": .text(Base64.string($0.signature))])
            })
    }

    /// Reads a list of signatures, which is not empty if the field is present.
    ///
    /// Only one spelling is read, so that nothing can be added: nobody signs the signatures.
    init(_ fields: inout FieldReader) throws(PointerProblem) {
        let values = try fields.array("signatures")
        guard 1...PointerSignature.countMax ~= values.count else {
            throw .broken(
                "it has \(values.count) signatures, and 1 to \(PointerSignature.countMax) may stand there"
            )
        }
        self = []
        for (position, value) in values.enumerated() {
            let place = "signature \(position + 1)"
            var fields = try FieldReader(value, place: place)
            let key = try fields.text("key")
            guard VerificationKey.isID(key) else {
                throw .broken("\"key\" of \(place) is not 16 lower-case hexadecimal digits")
            }
            guard let signature = Base64.bytes(try fields.text("signature")),
                signature.count == PointerSignature.byteCount
            else { throw .broken("\(place) is not 64 bytes in base64") }
            guard fields.rest.isEmpty else { throw .broken("\(place) has other fields") }
            if let before = last, before.key >= key {
                throw .broken("\(place) is not sorted by key, each key once")
            }
            append(PointerSignature(key: key, signature: signature))
        }
    }
}

/// The signatures of a pointer of any format, and the bytes that they sign.
package struct SignedBytes: Sendable {
    package let origin: String?
    package let signedBytes: [UInt8]
    package let signatures: [PointerSignature]
}

extension ChannelPointer {
    package var signedContent: SignedBytes {
        SignedBytes(origin: origin, signedBytes: signedBytes, signatures: signatures)
    }
}

extension SignedBytes {
    /// Reads the seal of a pointer that may be newer than this castree; `nil` if there is none.
    package init?(_ pointer: JSONValue) {
        guard let members = pointer.asObject else { return nil }
        var fields = FieldReader(members, place: "the pointer")
        // Missing signatures, or those in another spelling, prove nothing.
        guard let signatures = try? [PointerSignature](&fields) else { return nil }
        self.init(
            origin: pointer["origin"]?.asString,
            signedBytes: ChannelPointer.signedBytes(of: .object(fields.rest)),
            signatures: signatures)
    }
}
