// Skips the plain text of a string, eight bytes at a time.

/// The first index from `start` on of a quote, a backslash, a control character below 0x20 or a byte of a multi-byte
/// character; the count if there is none.
func endOfPlainRun(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    let raw = UnsafeRawBufferPointer(bytes)
    var index = start
    while index <= bytes.count - 8 {
        let word = UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: index, as: UInt64.self))
        let stops = bytesThatStop(word)
        if stops != 0 { return index + stops.trailingZeroBitCount / 8 }
        index += 8
    }
    while index < bytes.count, isPlain(bytes[index]) { index += 1 }
    return index
}

private func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte < 0x80 && byte != ASCII.quote && byte != ASCII.backslash
}

/// Sets the top bit of each byte that ends a run.
///
/// The lowest set bit is always right; bits above it may be wrong, because a subtraction borrows from the next byte.
// https://graphics.stanford.edu/~seander/bithacks.html#HasLessInWord
private func bytesThatStop(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let quotes = word ^ (ones &* UInt64(ASCII.quote))
    let backslashes = word ^ (ones &* UInt64(ASCII.backslash))
    let isQuote = (quotes &- ones) & ~quotes
    let isBackslash = (backslashes &- ones) & ~backslashes
    let isControl = (word &- (ones &* 0x20)) & ~word
    return (isQuote | isBackslash | isControl | word) & (ones &* 0x80)
}
