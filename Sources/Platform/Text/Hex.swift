/// Lower-case hexadecimal, the one spelling of digests in castree.
package enum Hex {
    package static func string(_ bytes: some Collection<UInt8>) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { target in
            var position = 0
            for byte in bytes {
                target[position] = digit(byte >> 4)
                target[position + 1] = digit(byte & 15)
                position += 2
            }
            return position
        }
    }

    /// Decodes a text; `nil` unless it is an even number of lower-case hexadecimal digits.
    package static func bytes(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var result: [UInt8] = []
        result.reserveCapacity(digits.count / 2)
        for place in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(of: digits[place]), let low = value(of: digits[place + 1])
            else { return nil }
            result.append(high << 4 | low)
        }
        return result
    }

    /// Reads 16 lower-case digits at an offset, most significant first; `nil` for anything else.
    @inline(__always)
    package static func word(_ digits: UnsafeRawBufferPointer, at offset: Int) -> UInt64? {
        guard let high = half(digits.loadUnaligned(fromByteOffset: offset, as: UInt64.self)),
            let low = half(digits.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self))
        else { return nil }
        return high << 32 | low
    }

    /// Writes the 16 digits of a word, most significant first.
    @inline(__always)
    package static func write(_ word: UInt64, to target: UnsafeMutableRawPointer) {
        target.storeBytes(of: characters(word >> 32).bigEndian, as: UInt64.self)
        target.storeBytes(
            of: characters(word & 0xffff_ffff).bigEndian, toByteOffset: 8, as: UInt64.self)
    }

    private static let ones: UInt64 = 0x0101_0101_0101_0101

    /// Decodes eight digits in one word.
    @inline(__always)
    private static func half(_ digits: UInt64) -> UInt64? {
        let digits = UInt64(bigEndian: digits)
        // Letters have bit 6, and count from 1 in their low half.
        var value = (digits & (ones &* 0x0f)) &+ ((digits >> 6) & ones) &* 9
        // These nibbles must spell the same digits again.
        guard value & (ones &* 0xf0) == 0, spelling(value) == digits else { return nil }
        value = (value | value >> 4) & 0x00ff_00ff_00ff_00ff
        value = (value | value >> 8) & 0x0000_ffff_0000_ffff
        return (value | value >> 16) & 0xffff_ffff
    }

    @inline(__always)
    private static func characters(_ value: UInt64) -> UInt64 {
        var value = (value | value << 16) & 0x0000_ffff_0000_ffff
        value = (value | value << 8) & 0x00ff_00ff_00ff_00ff
        value = (value | value << 4) & 0x0f0f_0f0f_0f0f_0f0f
        return spelling(value)
    }

    @inline(__always)
    private static func spelling(_ nibbles: UInt64) -> UInt64 {
        let isLetter = ((nibbles &+ ones &* 6) >> 4) & ones
        return nibbles &+ ones &* 48 &+ isLetter &* 39
    }

    /// - Parameter nibble: below 16.
    @inline(__always)
    package static func digit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? nibble + 48 : nibble + 87
    }

    @inline(__always)
    package static func value(of character: UInt8) -> UInt8? {
        switch character {
        case 48...57: character - 48
        case 97...102: character - 87
        default: nil
        }
    }

    @inline(__always)
    package static func value(ofEitherCase character: UInt8) -> UInt8? {
        switch character {
        case 65...70: character - 55
        default: value(of: character)
        }
    }
}
