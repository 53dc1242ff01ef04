internal import CASStore

/// Credentials for an origin, sent only to its scheme, host and port, wherever redirects lead.
///
/// If the URL names a user, nothing here is sent. The description of this and all its values shows no secret.
public struct OriginCredentials: Sendable, CustomStringConvertible, CustomReflectable {
    /// What is sent, or where it is found.
    public enum Kind: Sendable {
        /// A bearer token (RFC 6750).
        case token(String)
        /// A user and a password (RFC 7617).
        case login(user: String, password: String)
        /// A netrc file, as curl reads it.
        case netrc(String)
        /// Nothing but the login in the URL of the origin.
        case address
    }

    /// A URL of the origin.
    public let origin: String
    private let kind: Kind

    /// Confines credentials to the origin with this URL.
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
        case .netrc, .address: nil
        }
    }

    /// Removes the secrets from an origin's text, which may repeat them.
    package func concealed(in text: String) -> String {
        hiding(secrets.filter { $0.utf8.count > 3 }, in: text)
    }

    private var secrets: [String] {
        var found = [authorization.map { String($0.drop { $0 != " " }.dropFirst()) } ?? ""]
        if case .login(_, let password) = kind { found.append(password) }
        if let netrcFile {
            // If the file cannot be read, its secrets were not sent either.
            let bytes = try? POSIXFileSystem().contents(
                POSIXFileSystem.workingDirectory, netrcFile, limit: 1 << 20)
            let words = String(decoding: bytes ?? [], as: UTF8.self)
                .split(whereSeparator: \.isWhitespace)
            var login = ""
            for (word, next) in zip(words, words.dropFirst()) {
                if word == "login" { login = String(next) }
                guard word == "password" else { continue }
                found += [String(next), Base64.string(Array("\(login):\(next)".utf8))]
            }
        }
        let authority = origin.drop { $0 != "/" }.drop { $0 == "/" }.prefix { $0 != "/" }
        if let at = authority.lastIndex(of: "@"),
            let colon = authority[..<at].firstIndex(of: ":")
        {
            let (password, login) = (authority[colon..<at].dropFirst(), authority[..<at])
            let plain = PercentEncoding.decoded(password.utf8) ?? []
            found += [String(password), String(decoding: plain, as: UTF8.self)]
            found.append(Base64.string(PercentEncoding.decoded(login.utf8) ?? []))
        }
        return found
    }

    package var netrcFile: String? {
        if case .netrc(let file) = kind { file } else { nil }
    }

    /// A fixed text, without the credentials.
    public var description: String { "credentials" }
    /// A mirror without children, to hide the credentials.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
