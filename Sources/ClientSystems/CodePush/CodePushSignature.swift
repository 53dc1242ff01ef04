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
        let message = Base64.urlString(header) + "." + Base64.urlString(claims)
        return message + "." + Base64.urlString(try signer.sign(Array(message.utf8)))
    }
}
