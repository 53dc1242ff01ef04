/// The textual form of keys (RFC 7468): base64 between a line that begins it and one that ends it.
///
/// Works on memory that the caller overwrites, since it may be a private key.
enum PEM {
    struct Block {
        /// The type in the two lines, such as `PUBLIC KEY`.
        let label: String
        let body: Range<Int>
    }

    private static let begin = Array("-----BEGIN ".utf8)
    private static let dashes = Array("-----".utf8)

    /// The first block; `nil` if there is none (text before it is for people, section 2).
    static func firstBlock(in text: UnsafeRawBufferPointer) -> Block? {
        var start: Int?
        var label: [UInt8] = []
        var position = 0
        while position < text.count {
            let end = text[position...].firstIndex(of: UInt8(ascii: "\n")) ?? text.count
            var line = text[position..<end]
            while let last = line.last, last == UInt8(ascii: "\r") || last == UInt8(ascii: " ") {
                line.removeLast()
            }
            if let start {
                if line.elementsEqual(Array("-----END ".utf8) + label + dashes) {
                    return Block(
                        label: String(decoding: label, as: UTF8.self), body: start..<position)
                }
            } else if line.starts(with: begin), line.count > begin.count + dashes.count,
                line.suffix(dashes.count).elementsEqual(dashes)
            {
                label = Array(line.dropFirst(begin.count).dropLast(dashes.count))
                start = end + 1
            }
            position = end + 1
        }
        return nil
    }

    /// Writes the bytes of a block to a target.
    /// - Returns: how many there are; `nil` for invalid base64, or more bytes than fit.
    static func decode(
        _ body: Slice<UnsafeRawBufferPointer>, into target: UnsafeMutableRawBufferPointer
    ) -> Int? {
        var (word, bitCount, count, paddingCount) = (UInt32(0), 0, 0, 0)
        for digit in body {
            switch digit {
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: " "): continue
            case Base64.padding: paddingCount += 1
            default:
                guard paddingCount == 0, let value = Base64.value(digit) else { return nil }
                word = word << 6 | UInt32(value)
                bitCount += 6
                guard bitCount >= 8 else { continue }
                guard count < target.count else { return nil }
                bitCount -= 8
                target[count] = UInt8(truncatingIfNeeded: word >> UInt32(bitCount))
                count += 1
            }
        }
        // Whole groups of four, and no bits after the last byte (RFC 4648, sections 3.2 and 3.5).
        let spare = word & ((1 << UInt32(bitCount)) - 1)
        guard paddingCount < 3, bitCount == paddingCount * 2, spare == 0 else { return nil }
        return count
    }
}
