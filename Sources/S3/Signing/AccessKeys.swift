import Platform

/// What requests are signed with.
///
/// Whoever prints one sees no secret.
package struct AccessKeys: Sendable, Hashable, CustomStringConvertible,
    CustomDebugStringConvertible,
    CustomReflectable
{
    /// Names the key; sent with each request.
    package var id: String
    /// Signs; never sent.
    package var secret: String
    /// Comes with keys that end; sent with each request.
    package var sessionToken: String?
    /// When they end: seconds since 1970; nil if they do not.
    package var expiresAt: Int64?

    /// Makes keys.
    package init(id: String, secret: String, sessionToken: String? = nil, expiresAt: Int64? = nil) {
        self.id = id
        self.secret = secret
        self.sessionToken = sessionToken
        self.expiresAt = expiresAt
    }

    /// The ends of the key's name, as in `AKIA…7Q`: enough to know which one it was.
    package var shortID: String {
        id.utf8.count > 8 ? "\(id.prefix(4))…\(id.suffix(2))" : "…"
    }

    /// A text of somebody else's without what nobody should read.
    func hidden(in text: String) -> String {
        // A signature counts for a quarter of an hour.
        var text = text.replacing(/[0-9a-fA-F]{32,}/, with: "…")
        if !id.isEmpty { text = text.replacing(id, with: "…") }
        return hiding([secret, sessionToken].compactMap(\.self), in: text)
    }

    /// The ends of the key's name.
    package var description: String { "key \(shortID)" }
    /// The ends of the key's name.
    package var debugDescription: String { description }
    /// Nothing but the ends of the key's name.
    package var customMirror: Mirror { Mirror(self, children: ["id": shortID]) }
}
