/// The character classes of HTTP, as bit sets: no table in memory, no branch for each byte.
package enum ByteClass {
    private static func contains(_ low: UInt64, _ high: UInt64, _ byte: UInt8) -> Bool {
        let half = byte < 64 ? low : high
        return byte < 128 && half >> (UInt64(byte) & 63) & 1 == 1
    }

    /// A character of a token: method and field names (RFC 9110, section 5.6.2).
    @inline(__always)
    package static func isToken(_ byte: UInt8) -> Bool {
        contains(0x03FF_6CFA_0000_0000, 0x57FF_FFFF_C7FF_FFFE, byte)
    }

    /// A character of a field's value: no control character but the tab (RFC 9110, section 5.5).
    @inline(__always)
    static func isValue(_ byte: UInt8) -> Bool {
        byte >= 32 && byte != 127 || byte == 9
    }

    /// A character of a request target: visible ASCII but no fragment (RFC 9112, section 3.2).
    ///
    /// Wider than RFC 3986 on purpose: browsers send `|`, `^`, `"` and braces as they are.
    @inline(__always)
    static func isTarget(_ byte: UInt8) -> Bool {
        byte > 32 && byte < 127 && byte != 35
    }

    /// A character of a registered name other than `%` (RFC 3986, section 3.2.2).
    @inline(__always)
    static func isName(_ byte: UInt8) -> Bool {
        // Letters, digits and - . _ ~ ! $ & ' ( ) * + , ; =
        contains(0x2BFF_7FD2_0000_0000, 0x47FF_FFFE_87FF_FFFE, byte)
    }

    /// The lower case of eight bytes at once.
    @inline(__always)
    static func lowercase(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let high: UInt64 = 0x8080_8080_8080_8080
        let seven = word & ~high
        // One sum reaches the eighth bit from A on, the other from the byte after Z on.
        let fromA = seven + ones * (0x80 - 65)
        let afterZ = seven + ones * (0x80 - 91)
        let isUpper = fromA & ~afterZ & ~word & high
        return word | isUpper >> 2
    }
}
