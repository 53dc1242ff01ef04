import Platform
import StrictJSON

/// The signature of a package hash: a JWT (RFC 7519) by RS256 (RFC 7518, section 3.3).
enum CodePushSignature {
    /// Signs a package hash.
    static func sign(_ hash: String, _ signer: any ClientSigner) throws(StoreError) -> String {
        let header = JSONWriter.document { writer in
            writer.member("alg", "RS256")
            writer.member("typ", "JWT")
        }
        let claims = JSONWriter.document { writer in
            writer.member("claimVersion", "1.0.0")
            writer.member("contentHash", hash)
        }
        let message = base64URL(header) + "." + base64URL(claims)
        return message + "." + base64URL(try signer.sign(Array(message.utf8)))
    }

    /// Base64 for URLs, without padding (RFC 7515, section 2).
    private static func base64URL(_ bytes: [UInt8]) -> String {
        let digits: [UInt8] = Base64.string(bytes).utf8.compactMap { digit in
            switch digit {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: digit
            }
        }
        return String(decoding: digits, as: UTF8.self)
    }
}
