import CASStore
import StrictJSON

/// The signature of one key, in a pointer or in what says whose signatures count.
package struct PointerSignature: Sendable, Hashable {
    /// So many keys sign one file at the most.
    package static let countMax = 8
    /// The bytes of a signature by Ed25519 (RFC 8032, section 5.1.6).
    static let byteCount = 64

    /// The id of the key (``VerificationKey/id``).
    package let key: String
    /// Its 64 bytes.
    package let signature: [UInt8]

    package init(key: String, signature: [UInt8]) {
        self.key = key
        self.signature = signature
    }
}

extension [PointerSignature] {
    /// The signatures of a list, in its order: `[{"key":"…","signature":"…"}]`.
    var document: JSONValue {
        .array(
            map {
                .members(["key": .string($0.key), "signature": .text(Base64.string($0.signature))])
            })
    }

    /// Reads the signatures that a file must have if it has the field at all.
    ///
    /// Nobody signs the signatures: only one spelling of them is read, so that nothing can be added.
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

/// What is signed of a pointer and by whom, in whatever format the pointer is.
struct PointerSeal: Sendable {
    /// The id of the origin.
    let origin: String?
    let signedBytes: [UInt8]
    let signatures: [PointerSignature]
}

extension ChannelPointer {
    var seal: PointerSeal {
        PointerSeal(origin: origin, signedBytes: signedBytes, signatures: signatures)
    }
}

extension PointerSeal {
    /// Reads it from a pointer that may be newer than this castree; `nil` if none is there.
    init?(_ pointer: JSONValue) {
        guard let members = pointer.asObject else { return nil }
        var fields = FieldReader(members, place: "the pointer")
        // What has no signatures, or others than castree writes, proves nothing.
        guard let signatures = try? [PointerSignature](&fields) else { return nil }
        self.init(
            origin: pointer["origin"]?.asString,
            signedBytes: ChannelPointer.signedBytes(of: .object(fields.rest)),
            signatures: signatures)
    }
}
