internal import CASStore

/// What an origin wants to know of who fetches from it: sent to its scheme, host and port alone, wherever redirects lead.
///
/// A user in a URL comes first: then nothing here is sent with it. Its text, as that of all values here, has no secret.
public struct OriginCredentials: Sendable, CustomStringConvertible, CustomReflectable {
    /// What is sent, or where it is found.
    public enum Kind: Sendable {
        /// A bearer token (RFC 6750).
        case token(String)
        /// A user and a password (RFC 7617).
        case login(user: String, password: String)
        /// A netrc file, as curl reads it.
        case netrc(String)
    }

    /// A URL of the origin.
    public let origin: String
    private let kind: Kind

    /// Confines credentials to an origin.
    ///
    /// - Parameters:
    ///   - kind: what is sent.
    ///   - origin: a URL of the origin.
    public init(_ kind: Kind, for origin: String) {
        self.kind = kind
        self.origin = origin
    }

    /// The value of `Authorization`; nil if a file has it.
    package var authorization: String? {
        switch kind {
        case .token(let token): "Bearer \(token)"
        case .login(let user, let password):
            "Basic \(Base64.string(Array("\(user):\(password)".utf8)))"
        case .netrc: nil
        }
    }

    /// The netrc file; nil if there is none.
    package var netrcFile: String? {
        if case .netrc(let file) = kind { file } else { nil }
    }

    /// Says what it is, and nothing of what is in it.
    public var description: String { "credentials" }
    /// Shows nothing of what is in it.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
