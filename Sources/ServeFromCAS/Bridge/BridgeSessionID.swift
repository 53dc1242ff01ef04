import CASStore

/// The name of one page's session: 128 random bits.
///
/// A secret: whoever knows it can read the session's messages.
public struct BridgeSessionID: Sendable, Hashable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt64

    /// Reads 32 lower-case hexadecimal digits; `nil` for anything else.
    package init?(_ text: String) {
        guard let bytes = Hex.bytes(text), bytes.count == 16 else { return nil }
        high = bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes[8...].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// A new name from the system's random numbers.
    static func random() throws(StoreError) -> BridgeSessionID {
        let digits = try randomToken() + randomToken()
        guard let id = BridgeSessionID(digits) else {
            throw StoreError(.io, "the system's random numbers are not 16 digits")
        }
        return id
    }

    /// The digits.
    public var description: String {
        withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Hex.string($0) }
    }
}
