/// Checks UTF-8 that arrives in pieces, byte by byte (RFC 3629, section 4).
///
/// It notices a wrong byte when it comes, not at the end of the text: overlong forms, surrogates and values beyond
/// U+10FFFF at their second byte.
package struct UTF8Check: Sendable {
    /// How many more bytes the current character needs.
    private var missing = 0
    /// What its next byte may be.
    private var lower: UInt8 = 0x80
    private var upper: UInt8 = 0xBF

    package init() {}

    package var isComplete: Bool { missing == 0 }

    /// Takes the next bytes of the text; `false` as soon as it can no longer be UTF-8.
    package mutating func accept(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var position = 0
        while position < bytes.count {
            if missing == 0 { position = Self.asciiEnd(bytes, from: position) }
            guard position < bytes.count else { break }
            guard step(bytes[position]) else { return false }
            position += 1
        }
        return true
    }

    /// Where a run of ASCII ends; reads eight bytes at a time.
    private static func asciiEnd(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var position = start
        while position + 32 <= bytes.count {
            let a = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            let b = bytes.loadUnaligned(fromByteOffset: position + 8, as: UInt64.self)
            let c = bytes.loadUnaligned(fromByteOffset: position + 16, as: UInt64.self)
            let d = bytes.loadUnaligned(fromByteOffset: position + 24, as: UInt64.self)
            guard (a | b | c | d) & 0x8080_8080_8080_8080 == 0 else { break }
            position += 32
        }
        while position < bytes.count, bytes[position] < 0x80 { position += 1 }
        return position
    }

    @inline(__always)
    private mutating func step(_ byte: UInt8) -> Bool {
        guard missing == 0 else {
            guard byte >= lower, byte <= upper else { return false }
            missing -= 1
            lower = 0x80
            upper = 0xBF
            return true
        }
        switch byte {
        case ..<0x80: break
        case 0xC2...0xDF: missing = 1
        case 0xE0: (missing, lower) = (2, 0xA0)  // below: overlong
        case 0xED: (missing, upper) = (2, 0x9F)  // above: surrogates
        case 0xE1...0xEF: missing = 2
        case 0xF0: (missing, lower) = (3, 0x90)  // below: overlong
        case 0xF1...0xF3: missing = 3
        case 0xF4: (missing, upper) = (3, 0x8F)  // above: beyond U+10FFFF
        default: return false
        }
        return true
    }
}
