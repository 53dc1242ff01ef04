/// Base64 with padding (RFC 4648, section 4).
enum Base64 {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func string(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var word: UInt32 = 0
            for byte in group { word = word << 8 | UInt32(byte) }
            word <<= UInt32(8 * (3 - group.count))
            for place in 0...3 {
                let digit = alphabet[Int(word >> UInt32(18 - 6 * place) & 63)]
                text.append(place <= group.count ? digit : 61)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The number of bytes that `text` spells; `nil` unless it is Base64 in its one canonical form.
    static func byteCount(_ text: some Collection<UInt8>) -> Int? {
        guard text.count % 4 == 0 else { return nil }
        let digits = text.prefix { $0 != 61 }
        let padding = text.count - digits.count
        guard padding <= 2, text.dropFirst(digits.count).allSatisfy({ $0 == 61 }) else {
            return nil
        }
        var last: UInt8 = 0
        for digit in digits {
            guard let value = alphabet.firstIndex(of: digit) else { return nil }
            last = UInt8(value)
        }
        // Bits that no byte uses must be zero.
        let unused: UInt8 = padding == 2 ? 0x0F : padding == 1 ? 0x03 : 0
        guard last & unused == 0 else { return nil }
        return text.count / 4 * 3 - padding
    }
}
