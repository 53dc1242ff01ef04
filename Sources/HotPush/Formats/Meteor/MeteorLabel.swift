package import CASStore

/// The `hash` of an entry in Meteor's manifest: a name of 40 hexadecimal digits.
///
/// The hashed data changed from release to release. If it was only the content, a match proves the content; if it was
/// the source before minification, only the publisher can compute it, and a mismatch proves nothing.
package struct MeteorLabel: Sendable, Hashable, CustomStringConvertible {
    /// The digits, in lower case.
    package let description: String

    /// Nil unless `text` is 40 lower-case hexadecimal digits.
    package init?(_ text: String) {
        guard text.utf8.count == 40, text.utf8.allSatisfy({ Hex.value(of: $0) != nil }) else {
            return nil
        }
        description = text
    }

    /// How labels were made from content; `‖` joins texts.
    package enum Rule: String, Sendable, Hashable, CaseIterable {
        /// SHA-1 of the bytes: Meteor up to 1.4.2.
        case content
        /// SHA-1 of `2 ‖ SHA-1 of the bytes in hexadecimal`: Meteor 1.4.2.2 to 1.7, and the files of `public/` since
        /// 1.8.1.
        case secondSalt
        /// SHA-1 of `1 ‖ SHA-1 of the bytes in hexadecimal`: Meteor 1.4.2.1.
        case firstSalt
        /// SHA-1 of `2 ‖ SHA-512 of the bytes in base64`: Meteor 1.8.
        case integrity
        /// SHA-1 of `2 ‖ SHA-1 of the bytes in hexadecimal ‖ SHA-512 of the bytes in base64`: files that are not
        /// minified in Meteor 1.8.0.1 and later.
        case contentAndIntegrity
    }

    package enum Proof: Sendable, Hashable {
        /// Only these bytes can have the label; with the rule that made it.
        case proved(Rule)
        /// These bytes or others may have the label.
        case unproved
    }

    /// - Parameters:
    ///   - sha1: in lower-case hexadecimal digits.
    ///   - sha512: in base64; without it two rules cannot be tried.
    /// - Throws: `.unsupported` if the system's libcrypto has no SHA-1.
    package func proof(sha1: String, sha512: String?) throws(StoreError) -> Proof {
        for rule in Rule.allCases {
            let made = try Self.digits(rule, sha1: sha1, sha512: sha512)
            if made?.utf8.elementsEqual(description.utf8) == true { return .proved(rule) }
        }
        return .unproved
    }

    /// Ignores all but SHA-1 and SHA-512; without a SHA-1, nothing is proved.
    /// - Throws: `.unsupported` if the system's libcrypto has no SHA-1.
    package func proof(_ digests: [Label]) throws(StoreError) -> Proof {
        var sha1: String?
        var sha512: String?
        for digest in digests {
            switch digest.algorithm {
            case .sha1: sha1 = Hex.string(digest.bytes)
            case .sha512: sha512 = Base64.string(digest.bytes)
            default: continue
            }
        }
        guard let sha1 else { return .unproved }
        return try proof(sha1: sha1, sha512: sha512)
    }

    /// The digests that ``proof(_:)`` can use.
    package static let algorithms: [DigestAlgorithm] = [.sha1, .sha512]

    /// Nil if the rule needs the SHA-512 and that is unknown.
    static func digits(
        _ rule: Rule, sha1: String, sha512: String?
    ) throws(StoreError) -> String? {
        switch rule {
        case .content: return sha1
        case .secondSalt: return try sha1Digits(of: ["2", sha1])
        case .firstSalt: return try sha1Digits(of: ["1", sha1])
        case .integrity, .contentAndIntegrity:
            guard let sha512 else { return nil }
            return try sha1Digits(of: ["2", rule == .integrity ? "" : sha1, sha512])
        }
    }
}

func sha1Digits(of texts: [String]) throws(StoreError) -> String {
    Hex.string(try Digester.digest(.sha1, of: Array(texts.joined().utf8)))
}
