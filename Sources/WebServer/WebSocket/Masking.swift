/// The masking of a client's payloads (RFC 6455, section 5.3).
package enum Masking {
    /// Masks or unmasks `bytes` in place, eight at a time.
    ///
    /// `key` is the masking key as it is in memory; `offset` is the position of the first byte in the frame's
    /// payload.
    package static func apply(
        _ key: UInt32, offset: Int, to bytes: UnsafeMutableRawBufferPointer
    ) {
        let turned = rotated(key, by: offset & 3)
        let word = UInt64(turned) << 32 | UInt64(turned)
        let wordsEnd = bytes.count & ~7
        var position = 0
        while position < wordsEnd {
            let value = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            bytes.storeBytes(of: value ^ word, toByteOffset: position, as: UInt64.self)
            position += 8
        }
        guard position < bytes.count else { return }
        withUnsafeBytes(of: turned) { keyBytes in
            while position < bytes.count {
                bytes[position] ^= keyBytes[position & 3]
                position += 1
            }
        }
    }

    /// The key whose first byte in memory is the byte of `key` at this position.
    private static func rotated(_ key: UInt32, by count: Int) -> UInt32 {
        let little = UInt32(littleEndian: key)
        let shift = UInt32(count * 8)
        let turned = shift == 0 ? little : little >> shift | little << (32 - shift)
        return turned.littleEndian
    }
}
