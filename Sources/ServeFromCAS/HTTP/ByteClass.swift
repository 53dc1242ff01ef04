/// The character classes of HTTP, as bit sets: no table in memory, no branch a byte.
enum ByteClass {
    private static func contains(_ low: UInt64, _ high: UInt64, _ byte: UInt8) -> Bool {
        let half = byte < 64 ? low : high
        return byte < 128 && half >> (UInt64(byte) & 63) & 1 == 1
    }

    /// A character of a token: method and field names (RFC 9110, section 5.6.2).
    @inline(__always)
    static func isToken(_ byte: UInt8) -> Bool {
        contains(0x03FF_6CFA_0000_0000, 0x57FF_FFFF_C7FF_FFFE, byte)
    }

    /// What may stand in a field's value: no control character but the tab (RFC 9110, section 5.5).
    @inline(__always)
    static func isValue(_ byte: UInt8) -> Bool {
        byte >= 32 && byte != 127 || byte == 9
    }

    /// What may stand in a request target: visible ASCII but no fragment (RFC 9112, section 3.2).
    ///
    /// Wider than RFC 3986 on purpose: browsers send `|`, `^`, `"` and braces as they are.
    @inline(__always)
    static func isTarget(_ byte: UInt8) -> Bool {
        byte > 32 && byte < 127 && byte != 35
    }

    /// A character of a registered name or an IP literal, and its port's colon (RFC 3986, 3.2.2).
    @inline(__always)
    static func isAuthority(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122: true
        // - . _ ~ ! $ & ' ( ) * + , ; = % : [ ]
        case 45, 46, 95, 126, 33, 36, 38, 39, 40, 41, 42, 43, 44, 59, 61, 37, 58, 91, 93: true
        default: false
        }
    }

    /// The value of a hexadecimal digit; `nil` for anything else.
    @inline(__always)
    static func hexadecimal(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 48...57: byte - 48
        case 65...70: byte - 55
        case 97...102: byte - 87
        default: nil
        }
    }

    /// The lower case of an ASCII letter; other bytes as they are.
    @inline(__always)
    static func lowercase(_ byte: UInt8) -> UInt8 {
        byte >= 65 && byte <= 90 ? byte | 32 : byte
    }
}
