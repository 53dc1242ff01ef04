/// Lower-case hexadecimal, the one spelling of digests in castree.
package enum Hex {
    /// Returns `bytes` as lower-case hexadecimal digits.
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

    /// Returns the bytes that `text` spells, or `nil` unless it is an even number of lower-case
    /// hexadecimal digits.
    package static func bytes(_ text: String) -> [UInt8]? {
        let digits = text.utf8
        guard digits.count % 2 == 0 else { return nil }
        var result: [UInt8] = []
        result.reserveCapacity(digits.count / 2)
        var high: UInt8?
        for character in digits {
            guard let value = value(of: character) else { return nil }
            if let first = high {
                result.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return result
    }

    /// The digit for a value below 16.
    @inline(__always)
    package static func digit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? nibble + 48 : nibble + 87
    }

    /// The value of a lower-case digit, or `nil`.
    @inline(__always)
    package static func value(of character: UInt8) -> UInt8? {
        switch character {
        case 48...57: character - 48
        case 97...102: character - 87
        default: nil
        }
    }

    // MARK: Eight digits at a time
    //
    // A manifest of a million files spells a million addresses, so these two do eight digits in one
    // word, each in a byte of its own.

    private static let ones: UInt64 = 0x0101_0101_0101_0101

    /// The number that 16 lower-case digits at `offset` spell; `nil` if one of them is none.
    @inline(__always)
    static func word(_ digits: UnsafeRawBufferPointer, at offset: Int) -> UInt64? {
        let high = digits.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        let low = digits.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self)
        guard let high = half(UInt64(littleEndian: high)), let low = half(UInt64(littleEndian: low))
        else { return nil }
        return UInt64(high) << 32 | UInt64(low)
    }

    // The first digit stands in the lowest byte.
    @inline(__always)
    private static func half(_ digits: UInt64) -> UInt32? {
        // Letters have bit 6, and their low four bits begin at 1.
        let values = (digits & (ones &* 15)) &+ ((digits >> 6) & ones) &* 9
        // What else maps to a value is found by spelling the values again.
        guard values & (ones &* 0xf0) == 0, spelled(values) == digits else { return nil }
        let lanes: UInt64 = 0x000f_000f_000f_000f
        var bytes = (values & lanes) << 4 | (values >> 8) & lanes
        bytes = (bytes | bytes >> 8) & 0x0000_ffff_0000_ffff
        return UInt32(truncatingIfNeeded: bytes | bytes >> 16).byteSwapped
    }

    @inline(__always)
    private static func spelled(_ values: UInt64) -> UInt64 {
        let isLetter = ((values &+ ones &* 6) >> 4) & ones
        return values &+ ones &* 48 &+ isLetter &* 39
    }

    /// Writes the 16 digits of a word.
    @inline(__always)
    static func write(_ word: UInt64, to target: UnsafeMutableRawPointer) {
        write(UInt32(truncatingIfNeeded: word >> 32), to: target)
        write(UInt32(truncatingIfNeeded: word), to: target + 8)
    }

    @inline(__always)
    private static func write(_ half: UInt32, to target: UnsafeMutableRawPointer) {
        // The four bytes into four lanes of two, then each byte's digits into the lane's two bytes.
        var lanes = UInt64(half.byteSwapped)
        lanes = (lanes | lanes << 16) & 0x0000_ffff_0000_ffff
        lanes = (lanes | lanes << 8) & 0x00ff_00ff_00ff_00ff
        let digits: UInt64 = 0x000f_000f_000f_000f
        let values = (lanes >> 4) & digits | (lanes & digits) << 8
        target.storeBytes(of: spelled(values).littleEndian, as: UInt64.self)
    }
}
