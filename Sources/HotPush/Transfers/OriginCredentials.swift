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
        /// Nothing but what stands in the URL of the origin.
        case address
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
        case .netrc, .address: nil
        }
    }

    /// A text of the origin's without what it was told: it may repeat it.
    package func concealed(in text: String) -> String {
        hiding(secrets.filter { $0.utf8.count > 3 }, in: text)
    }

    private var secrets: [String] {
        var found = [authorization.map { String($0.drop { $0 != " " }.dropFirst()) } ?? ""]
        if case .login(_, let password) = kind { found.append(password) }
        if let netrcFile {
            // Whoever cannot read it has told nobody what is in it.
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

    /// The netrc file; nil if there is none.
    package var netrcFile: String? {
        if case .netrc(let file) = kind { file } else { nil }
    }

    /// Says what it is, and nothing of what is in it.
    public var description: String { "credentials" }
    /// Shows nothing of what is in it.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
