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
}
