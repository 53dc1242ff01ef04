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
        var words: (UInt64, UInt64) = (0, 0)
        for index in 0..<8 {
            words.0 = words.0 << 8 | UInt64(bytes[index])
            words.1 = words.1 << 8 | UInt64(bytes[index + 8])
        }
        (high, low) = words
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
        var bytes: [UInt8] = []
        for word in [high, low] {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
            }
        }
        return Hex.string(bytes)
    }
}
