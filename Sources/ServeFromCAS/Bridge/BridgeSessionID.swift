import CASStore

/// The name of one page's session: 128 random bits.
///
/// A secret: whoever knows it can read the session's messages.
public struct BridgeSessionID: Sendable, Hashable, CustomStringConvertible {
    /// The digits.
    public let description: String

    /// Reads 32 lower-case hexadecimal digits; `nil` for anything else.
    package init?(_ text: String) {
        guard Hex.bytes(text)?.count == 16 else { return nil }
        description = text
    }

    /// A new name from the system's random numbers.
    static func random() throws(StoreError) -> BridgeSessionID {
        BridgeSessionID(digits: try randomToken() + randomToken())
    }

    private init(digits: String) { description = digits }
}
