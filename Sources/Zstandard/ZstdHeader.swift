package import Platform

/// What the header of a zstd frame says (RFC 8878, section 3.1.1.1).
///
/// Only frames that castree writes are let through: one that declares its content's size and needs no
/// dictionary by number. Skippable frames are refused.
package struct ZstdHeader: Sendable, Hashable {
    /// The most bytes of a header, with the magic number.
    package static let byteCountMax = 18

    /// The size of the content, in bytes.
    package let contentByteCount: UInt64
    /// How far back content may refer to earlier content, in bytes: what a streaming decoder must hold.
    package let windowByteCount: UInt64

    /// Reads the header at the beginning of a frame.
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

extension StoreError {
    static func badFrame(_ problem: String) -> StoreError {
        StoreError(.badFrame, "a compressed frame is refused: \(problem)")
    }
}

extension StoreError.Code {
    /// A compressed frame is not one that castree reads, or does not give what it promises.
    package static let badFrame = Self("badFrame")
}
