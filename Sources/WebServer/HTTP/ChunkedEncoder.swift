/// The bytes around the pieces of a chunked body (RFC 9112, section 7.1).
enum ChunkedEncoder {
    /// The last chunk, without trailers.
    static let end = Array("0\r\n\r\n".utf8)

    /// The line before a piece of `count` bytes; a line end follows the piece.
    static func sizeLine(_ count: Int) -> [UInt8] {
        let digits = max(1, (Int.bitWidth - count.leadingZeroBitCount + 3) / 4)
        return [UInt8](unsafeUninitializedCapacity: digits + 2) { line, used in
            for place in 0..<digits {
                let digit = UInt8(truncatingIfNeeded: count >> (4 * (digits - 1 - place)) & 15)
                line[place] = digit < 10 ? digit + 48 : digit + 87
            }
            line[digits] = 13
            line[digits + 1] = 10
            used = digits + 2
        }
    }
}
