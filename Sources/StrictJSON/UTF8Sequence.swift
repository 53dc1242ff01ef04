// Well-formed multi-byte characters, after the syntax in RFC 3629 §4.

enum UTF8Sequence: Equatable {
    case wellFormed(byteCount: Int)
    /// The input ends inside a character that was well-formed so far.
    case cut
    case malformed(index: Int)

    /// The first byte, at `start`, is 0x80 or above.
    init(in bytes: UnsafeBufferPointer<UInt8>, at start: Int) {
        let byteCount: Int
        var allowed: ClosedRange<UInt8> = 0x80...0xBF
        switch bytes[start] {
        case 0xC2...0xDF: byteCount = 2
        case 0xE0: (byteCount, allowed) = (3, 0xA0...0xBF)  // below: overlong
        case 0xED: (byteCount, allowed) = (3, 0x80...0x9F)  // above: surrogates
        case 0xE1...0xEF: byteCount = 3
        case 0xF0: (byteCount, allowed) = (4, 0x90...0xBF)  // below: overlong
        case 0xF1...0xF3: byteCount = 4
        case 0xF4: (byteCount, allowed) = (4, 0x80...0x8F)  // above: beyond U+10FFFF
        default:
            self = .malformed(index: start)
            return
        }
        for index in start + 1..<start + byteCount {
            guard index < bytes.count else {
                self = .cut
                return
            }
            guard allowed.contains(bytes[index]) else {
                self = .malformed(index: index)
                return
            }
            allowed = 0x80...0xBF
        }
        self = .wellFormed(byteCount: byteCount)
    }
}

extension [UInt8] {
    /// Requires that the code point is not a surrogate.
    mutating func append(codePoint value: UInt32) {
        if let scalar = Unicode.Scalar(value) { append(contentsOf: String(scalar).utf8) }
    }
}
