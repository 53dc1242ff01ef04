internal import Platform

/// Collects the pieces of a range of an archive or another composed body, and joins adjacent bytes in memory.
package struct ZipCut {
    let range: Range<Int64>
    private var pieces: [ZipArchive.Piece] = []
    private var bytes: [UInt8] = []

    private static let joinedByteCountMax = 64 << 10

    package init(_ range: Range<Int64>) { self.range = range }

    /// The part within the range of something at an offset; `nil` if there is none.
    package func part(of byteCount: Int64, at offset: Int64) -> Range<Int64>? {
        let lower = max(range.lowerBound - offset, 0)
        let upper = min(range.upperBound - offset, byteCount)
        return lower < upper ? lower..<upper : nil
    }

    /// Adds the part within the range of bytes at an offset.
    package mutating func add(_ record: [UInt8], at offset: Int64) {
        guard let part = part(of: Int64(record.count), at: offset) else { return }
        if bytes.count + part.count > Self.joinedByteCountMax { flush() }
        bytes += record[Int(part.lowerBound)..<Int(part.upperBound)]
    }

    /// Adds a piece that is within the range.
    package mutating func add(_ piece: ZipArchive.Piece) {
        flush()
        pieces.append(piece)
    }

    package mutating func finish() -> [ZipArchive.Piece] {
        flush()
        return pieces
    }

    private mutating func flush() {
        guard !bytes.isEmpty else { return }
        pieces.append(.bytes(bytes))
        bytes = []
    }
}
