import Platform

/// The keys that sign requests; printing them shows no secret.
package struct AccessKeys: Sendable, Hashable, CustomStringConvertible,
    CustomDebugStringConvertible,
    CustomReflectable
{
    /// Names the key; sent with each request.
    package var id: String
    /// Signs; never sent.
    package var secret: String
    /// Accompanies temporary keys; sent with each request.
    package var sessionToken: String?
    /// Seconds since 1970; `nil` if they do not expire.
    package var expiresAt: Int64?

    package init(id: String, secret: String, sessionToken: String? = nil, expiresAt: Int64? = nil) {
        self.id = id
        self.secret = secret
        self.sessionToken = sessionToken
        self.expiresAt = expiresAt
    }

    /// The ends of the key's name, as in `AKIA…7Q`: enough to recognize it.
    package var shortID: String {
        id.utf8.count > 8 ? "\(id.prefix(4))…\(id.suffix(2))" : "…"
    }

    /// Hides secrets in somebody else's text.
    func hidden(in text: String) -> String {
        // A signature is valid for a quarter of an hour.
        var text = text.replacing(/[0-9a-fA-F]{32,}/, with: "…")
        if !id.isEmpty { text = text.replacing(id, with: "…") }
        return hiding([secret, sessionToken].compactMap(\.self), in: text)
    }

    package var description: String { "key \(shortID)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["id": shortID]) }
}
