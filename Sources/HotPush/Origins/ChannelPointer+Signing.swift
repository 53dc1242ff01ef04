import CASStore
import StrictJSON

// What signatures add to a pointer, and what is signed of it.

extension ChannelPointer {
    /// What the signed bytes begin with: no signature of anything else is one of a pointer.
    private static let signedPrefix = Array("castree-pointer 1\n".utf8)

    /// The bytes that its signatures sign: a line that says what they are, and the pointer without signatures in the
    /// canonical form of RFC 8785.
    package var signedBytes: [UInt8] {
        var unsigned = self
        unsigned.signatures = []
        return Self.signedPrefix + JSONWriter.serialize(unsigned.document, sortedKeys: true)
    }

    /// Whether somebody vouches for it; it does not say whether anybody trusts them.
    package var isSigned: Bool { !signatures.isEmpty }

    /// Whether a text is spelled like the id of an origin: 32 lower-case hexadecimal digits.
    package static func isOriginID(_ text: String) -> Bool {
        text.utf8.count == 32 && Hex.bytes(text) != nil
    }

    /// Why it cannot be signed as it is; `nil` if it can.
    var objectionToSigning: String? {
        if origin == nil { return "it does not say of which origin it is (\"origin\")" }
        guard document.hasOnlyExactIntegers else {
            return "it has a number that is no integer within ±(2^53 − 1)"
        }
        return nil
    }

    /// The members that signatures add.
    var signing: [JSONValue.Member] {
        .present([
            "origin": .text(origin), "trustVersion": .number(trustVersion),
            "expiresAt": .number(expiresAt),
            "signatures": signatures.isEmpty ? nil : signatures.document,
        ])
    }

    mutating func readSigning(_ fields: inout FieldReader) throws(PointerProblem) {
        if fields.has("origin") {
            let origin = try fields.text("origin")
            guard Self.isOriginID(origin) else {
                throw .broken("\"origin\" is not 32 lower-case hexadecimal digits")
            }
            self.origin = origin
        }
        trustVersion = try fields.integer(ifThere: "trustVersion", 2...Self.sequenceMax)
        expiresAt = try fields.integer(ifThere: "expiresAt", 0...Self.sequenceMax)
        if fields.has("signatures") { signatures = try [PointerSignature](&fields) }
    }

    /// Refuses a signed pointer that readers could understand in two ways.
    /// - Parameter document: what it was read from.
    func checkSigned(_ document: JSONValue) throws(PointerProblem) {
        if let objection = objectionToSigning { throw .broken("it is signed, but \(objection)") }
        guard
            JSONWriter.serialize(document, sortedKeys: true)
                == JSONWriter.serialize(self.document, sortedKeys: true)
        else { throw Self.notCanonical }
    }

    static var notCanonical: PointerProblem {
        .broken("it is signed, and not in its canonical form (RFC 8785, and a newline)")
    }
}

extension JSONValue {
    /// Whether every reader of JSON takes its numbers for the same ones (RFC 8785, section 3.2.2.3, without fractions).
    var hasOnlyExactIntegers: Bool {
        switch self {
        case .number:
            asInt64.map { -ChannelPointer.sequenceMax...ChannelPointer.sequenceMax ~= $0 } ?? false
        case .array(let elements): elements.allSatisfy(\.hasOnlyExactIntegers)
        case .object(let members): members.allSatisfy(\.value.hasOnlyExactIntegers)
        default: true
        }
    }
}
