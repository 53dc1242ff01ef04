// A validated string, and its decoded text.

/// The range of the text between the quotes of a validated string.
struct StringToken {
    var start: Int
    var end: Int
    var hasEscapes: Bool

    func text(in bytes: [UInt8]) -> String {
        guard hasEscapes else { return String(decoding: bytes[start..<end], as: UTF8.self) }
        var decoded: [UInt8] = []
        append(from: bytes, to: &decoded)
        return String(decoding: decoded, as: UTF8.self)
    }

    func append(from bytes: [UInt8], to target: inout [UInt8]) {
        guard hasEscapes else {
            target.append(contentsOf: bytes[start..<end])
            return
        }
        target.reserveCapacity(target.count + (end - start))
        var index = start
        while index < end {
            if bytes[index] == ASCII.backslash {
                index = appendEscape(at: index, from: bytes, to: &target)
            } else {
                target.append(bytes[index])
                index += 1
            }
        }
    }

    /// Appends the decoded escape at `index` and returns where it ends (RFC 8259 §7).
    private func appendEscape(at index: Int, from bytes: [UInt8], to target: inout [UInt8]) -> Int {
        let letter = bytes[index + 1]
        guard letter == UInt8(ascii: "u") else {
            target.append(Self.byte(forEscape: letter) ?? letter)
            return index + 2
        }
        let unit = Self.codeUnit(in: bytes, at: index + 2)
        guard (0xD800...0xDBFF).contains(unit) else {
            target.append(codePoint: unit)
            return index + 6
        }
        let low = Self.codeUnit(in: bytes, at: index + 8)
        target.append(codePoint: 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
        return index + 12
    }

    static func byte(forEscape letter: UInt8) -> UInt8? {
        switch letter {
        case ASCII.quote, ASCII.backslash, UInt8(ascii: "/"): letter
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    private static func codeUnit(in bytes: [UInt8], at index: Int) -> UInt32 {
        var unit: UInt32 = 0
        for digit in bytes[index..<index + 4] { unit = unit << 4 | (digit.hexValue ?? 0) }
        return unit
    }
}
