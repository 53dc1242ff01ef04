import CASStore

/// The name of one page's session: 128 random bits, which are a secret, because they give access to the session's
/// messages.
public struct BridgeSessionID: Sendable, Hashable, CustomStringConvertible {
    /// 32 lower-case hexadecimal digits.
    public let description: String

    package init?(_ text: String) {
        guard Hex.bytes(text)?.count == 16 else { return nil }
        description = text
    }

    static func random() throws(StoreError) -> BridgeSessionID {
        BridgeSessionID(digits: try randomToken() + randomToken())
    }

    private init(digits: String) { description = digits }
}
