/// What a publisher has signed, so that it can be told from what others wrote.
///
/// Kept as it came. castree has no keys: the format verifies, with those that the app gave it, and says
/// ``Release/Trust/signed`` then; what does not stand up it refuses with `.badRelease`.
public struct Signature: Sendable, Hashable {
    /// What is signed.
    public enum Subject: String, Sendable, Hashable {
        /// The bytes of the document as they came, ``Release/received``.
        case document
        /// A digest that is computed of all files, as CodePush's package hash.
        case contentDigest
        /// The digest of a file.
        case fileDigest
        /// The bytes of a file.
        case file
    }

    /// The algorithm as the publisher writes it: `rsa-v1_5-sha256`, `RS256`.
    public var algorithm: String
    /// The name of the key, if there are several.
    public var key: String?
    /// What is signed.
    public var subject: Subject
    /// The certificates that lead from the key to one that is trusted, in PEM, if the publisher sends
    /// them (RFC 7468).
    public var certificates: String?
    /// The signature as it is written: in Base64, as a JWT, in hexadecimal digits.
    public var text: String

    /// Makes a signature.
    public init(_ algorithm: String, of subject: Subject, key: String? = nil, text: String) {
        self.algorithm = algorithm
        self.key = key
        self.subject = subject
        self.text = text
    }
}
