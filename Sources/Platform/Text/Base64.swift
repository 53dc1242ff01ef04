/// Base64 with padding (RFC 4648, section 4).
package enum Base64 {
    package static func string(_ bytes: [UInt8]) -> String {
        var result: [UInt8] = []
        result.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var word: UInt32 = 0
            for byte in group { word = word << 8 | UInt32(byte) }
            word <<= 8 * UInt32(3 - group.count)
            for place in 0..<4 {
                let isPadding = place > group.count
                result.append(
                    isPadding ? padding : alphabet[Int(word >> (18 - 6 * UInt32(place))) & 63])
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// The URL-safe form without padding, for URLs and JWTs (RFC 4648, section 5).
    package static func urlString(_ bytes: [UInt8]) -> String {
        let digits: [UInt8] = string(bytes).utf8.compactMap { digit in
            switch digit {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case padding: nil
            default: digit
            }
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// Decodes a text; nil for another alphabet, missing padding, or bits after the last byte that are not zero
    /// (section 3.5), so that each digest has one spelling.
    package static func bytes(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 4 == 0 else { return nil }
        var result: [UInt8] = []
        result.reserveCapacity(digits.count / 4 * 3)
        for start in stride(from: 0, to: digits.count, by: 4) {
            let isLast = start + 4 == digits.count
            var word: UInt32 = 0
            var count = 0
            for place in 0..<4 {
                let digit = digits[start + place]
                if isLast, digit == padding, place > 1, place == 3 || digits[start + 3] == padding {
                    continue
                }
                guard count == place, let value = value(digit) else { return nil }
                word |= UInt32(value) << (18 - 6 * UInt32(place))
                count += 1
            }
            let decoded = count - 1
            for place in 0..<decoded {
                result.append(UInt8(truncatingIfNeeded: word >> (16 - 8 * UInt32(place))))
            }
            // The bits after the last byte.
            if word << (8 + 8 * UInt32(decoded)) != 0 { return nil }
        }
        return result
    }

    static let padding = UInt8(ascii: "=")
    static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 65...90: digit - 65
        case 97...122: digit - 71
        case 48...57: digit + 4
        case 43: 62
        case 47: 63
        default: nil
        }
    }
}
