/// Cuts the head of a request or answer into lines as its bytes come (RFC 9112, section 2.2).
///
/// Each line ends with CR LF. Other control characters are refused, except tabs after line one.
struct HeadLines: Sendable {
    private(set) var start = 0
    private var scanned = 0

    var hasBegun: Bool { scanned > 0 }
    var isInFirst: Bool { start == 0 }

    /// The next line without its line end, in the first `limit` bytes of the head; `nil` if it has not come.
    mutating func next(_ bytes: Span<UInt8>, limit: Int) throws(MessageFailure) -> Range<Int>? {
        let end = min(bytes.count, limit)
        while let position = Self.firstControl(bytes, from: scanned, to: end) {
            switch bytes[position] {
            case 13:
                guard position + 1 < end else {
                    scanned = position
                    return nil
                }
                guard bytes[position + 1] == 10 else {
                    throw MessageFailure(400, "a carriage return comes without a line feed")
                }
                let line = start..<position
                start = position + 2
                scanned = start
                return line
            case 9 where start > 0: scanned = position + 1
            case 10: throw MessageFailure(400, "a line feed comes without a carriage return")
            default: throw MessageFailure(400, "the head contains a control character")
            }
        }
        scanned = end
        return nil
    }

    /// The first byte below 32, or 127, eight bytes at a time.
    private static func firstControl(
        _ bytes: Span<UInt8>, from start: Int, to end: Int
    ) -> Int? {
        let raw = bytes.bytes
        var position = start
        while position + 8 <= end {
            let word = UInt64(
                littleEndian: raw.unsafeLoadUnaligned(
                    fromByteOffset: position, as: UInt64.self))
            let high: UInt64 = 0x8080_8080_8080_8080
            let below32 = (word &- 0x2020_2020_2020_2020) & ~word & high
            let deleted = word ^ 0x7F7F_7F7F_7F7F_7F7F
            let is127 = (deleted &- 0x0101_0101_0101_0101) & ~deleted & high
            let found = below32 | is127
            // Bytes above the first hit may be wrong (a borrow), the first never is.
            if found != 0 { return position + found.trailingZeroBitCount / 8 }
            position += 8
        }
        while position < end {
            if bytes[position] < 32 || bytes[position] == 127 { return position }
            position += 1
        }
        return nil
    }
}
