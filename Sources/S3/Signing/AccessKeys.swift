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
        for secret in [secret, sessionToken, id].compactMap(\.self) where !secret.isEmpty {
            text = text.replacing(secret, with: "…")
        }
        for secret in [secret, sessionToken].compactMap(\.self) {
            text = Self.masked(text, partsOf: secret)
        }
        return text
    }

    /// A text without what a part of a secret is, however it is spelled: stores cut what they repeat.
    private static func masked(_ text: String, partsOf secret: String) -> String {
        let (length, lower) = (12, Array(secret.lowercased()))
        guard lower.count > length else { return text }
        let parts = Set((0...lower.count - length).map { String(lower[$0..<$0 + length]) })
        let (shown, compared) = (Array(text), Array(text.lowercased()))
        guard shown.count == compared.count, shown.count >= length else { return text }
        var isSecret = Array(repeating: false, count: shown.count)
        for start in 0...shown.count - length
        where parts.contains(String(compared[start..<start + length])) {
            for place in start..<start + length { isSecret[place] = true }
        }
        var masked = ""
        for place in shown.indices {
            if !isSecret[place] {
                masked.append(shown[place])
            } else if masked.last != "…" {
                masked.append("…")
            }
        }
        return masked
    }

    /// The ends of the key's name.
    package var description: String { "key \(shortID)" }
    /// The ends of the key's name.
    package var debugDescription: String { description }
    /// Nothing but the ends of the key's name.
    package var customMirror: Mirror { Mirror(self, children: ["id": shortID]) }
}
