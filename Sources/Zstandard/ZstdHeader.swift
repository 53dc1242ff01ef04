package import Platform

/// The header of a zstd frame (RFC 8878, section 3.1.1.1).
///
/// Only frames like castree's own are accepted, which declare their content's size and need no dictionary by number.
/// Skippable frames are refused.
package struct ZstdHeader: Sendable, Hashable {
    /// The longest header, with the magic number.
    package static let byteCountMax = 18

    package let contentByteCount: UInt64
    /// How far back content may refer, in bytes, which a streaming decoder must hold.
    package let windowByteCount: UInt64

    /// - Throws: `.badFrame` with what is wrong.
    package init(of frame: UnsafeRawBufferPointer) throws(StoreError) {
        guard frame.count >= 6 else { throw .badFrame("it is cut off") }
        guard frame.loadUnaligned(as: UInt32.self).littleEndian == 0xFD2F_B528 else {
            throw .badFrame("it does not begin as one")
        }
        let descriptor = frame[4]
        guard descriptor & 0b1000 == 0 else { throw .badFrame("it uses what is reserved") }
        guard descriptor & 0b11 == 0 else { throw .badFrame("it needs a dictionary") }
        let isSingleSegment = descriptor & 0b10_0000 != 0
        let sizeFlag = Int(descriptor >> 6)
        let sizeByteCount = sizeFlag == 0 ? (isSingleSegment ? 1 : 0) : 1 << sizeFlag
        guard sizeByteCount > 0 else { throw .badFrame("it does not say how large its content is") }
        let sizeStart = isSingleSegment ? 5 : 6
        guard frame.count >= sizeStart + sizeByteCount else { throw .badFrame("it is cut off") }
        var size: UInt64 = 0
        for position in (0..<sizeByteCount).reversed() {
            size = size << 8 | UInt64(frame[sizeStart + position])
        }
        contentByteCount = sizeByteCount == 2 ? size + 256 : size
        if isSingleSegment {
            windowByteCount = contentByteCount
        } else {
            let base = UInt64(1) << (10 + UInt64(frame[5] >> 3))
            windowByteCount = base + base / 8 * UInt64(frame[5] & 7)
        }
    }
}
