/// A publisher's signature, as it came.
///
/// The format verifies it with the app's keys and then says ``Release/Trust/signed``; if that fails, it throws
/// `.badRelease`.
public struct Signature: Sendable, Hashable {
    /// What is signed.
    public enum Subject: String, Sendable, Hashable {
        /// The bytes of the document as they came, ``Release/received``.
        case document
        /// The bytes of a file.
        case file
    }

    /// The algorithm as the publisher spells it: `rsa-v1_5-sha256`, `RS256`.
    public var algorithm: String
    /// The name of the key, if there are several.
    public var key: String?
    /// What is signed.
    public var subject: Subject
    /// The certificates from the key to a trusted one, in PEM (RFC 7468), if the publisher sends them.
    public var certificates: String?
    /// The signature as written: in Base64, as a JWT, or in hexadecimal digits.
    public var text: String

    /// Creates a signature.
    public init(_ algorithm: String, of subject: Subject, key: String? = nil, text: String) {
        self.algorithm = algorithm
        self.key = key
        self.subject = subject
        self.text = text
    }
}
