// A text that is too long to be held whole: the reader gets the next piece on demand, and forgets what it has read when
// the caller says so.

extension JSONReader {
    /// Returns at most `count` bytes of a text from an offset on; none at its end.
    public typealias Pieces = @Sendable (_ offset: Int, _ count: Int) -> [UInt8]

    static let pieceByteCount = 64 * 1024

    /// Begins to read a text that comes in pieces, each requested when the reader gets there.
    ///
    /// What was read stays in memory until ``discard(atLeast:)``, so call that between values. The results and messages
    /// are the same as for a whole text.
    ///
    /// - Parameters:
    ///   - byteCount: The length of the whole text.
    ///   - limits: What is accepted.
    ///   - pieces: Supplies the text. An empty piece ends the text, so the caller must remember a failure of its
    ///     source.
    /// - Throws: `tooLong` above the limit, `byteOrderMark` if the text begins with one.
    public init(
        byteCount: Int, limits: JSONLimits = JSONLimits(), pieces: @escaping Pieces
    ) throws(JSONError) {
        try self.init([], byteCount, pieces, limits)
    }

    /// Forgets the text before ``offset`` if it has at least `threshold` bytes.
    ///
    /// Costs little: call it after every value of a long array or object.
    public mutating func discard(atLeast threshold: Int = 64 * 1024) {
        // Not for fewer bytes than it moves: each call moves the kept keys again.
        guard position - keptCount >= max(threshold, keptCount), pieces != nil else { return }
        let (first, end) = (keptCount, position)
        bytes.withUnsafeBufferPointer { windowStart.pass($0[first..<end]) }
        let kept = keys.moveKeys(from: bytes)
        bytes.replaceSubrange(..<end, with: kept)
        base += end - kept.count
        position = kept.count
        keptCount = kept.count
    }

    /// Whether the text has a byte at an index of the window, which may have to grow for it.
    @inline(__always)
    mutating func has(_ index: Int) -> Bool {
        if index < bytes.count { return true }
        return grow(toHold: index)
    }

    @inline(never)
    private mutating func grow(toHold index: Int) -> Bool {
        while index >= bytes.count {
            guard extend() else { return false }
        }
        return true
    }

    /// Appends the next piece to the window; `false` at the end of the text.
    @inline(never)
    mutating func extend() -> Bool {
        let end = base + bytes.count
        guard let pieces, end < byteCount else { return false }
        // Doubling reads even a value that is larger than a window in linear time.
        let wanted = min(max(Self.pieceByteCount, bytes.count - keptCount), byteCount - end)
        let piece = pieces(end, wanted)
        if piece.isEmpty {
            byteCount = end
            return false
        }
        bytes += piece
        return true
    }
}

/// A line and a column of a text, both counted from one.
struct TextPlace: Sendable {
    var line = 1
    var column = 1

    /// Advances to the end of `text`.
    mutating func pass(_ text: Slice<UnsafeBufferPointer<UInt8>>) {
        let bytes = UnsafeBufferPointer(rebasing: text)
        let feeds = Self.count(in: bytes, from: 0, Self.isLineFeed)
        var start = 0
        if feeds > 0 {
            line += feeds
            column = 1
            start = (bytes.lastIndex(of: ASCII.lineFeed) ?? -1) + 1
        }
        // Continuation bytes are not characters.
        column += bytes.count - start - Self.count(in: bytes, from: start, Self.isContinuation)
    }

    // Eight bytes at a time: each of these gives the high bit of every byte that counts.

    @inline(__always)
    private static func isLineFeed(_ word: UInt64) -> UInt64 {
        let other = word ^ 0x0A0A_0A0A_0A0A_0A0A
        let low: UInt64 = 0x7F7F_7F7F_7F7F_7F7F
        return ~((other & low) &+ low | other | low)
    }

    @inline(__always)
    private static func isContinuation(_ word: UInt64) -> UInt64 {
        word & ~(word << 1) & 0x8080_8080_8080_8080
    }

    @inline(__always)
    private static func count(
        in bytes: UnsafeBufferPointer<UInt8>, from start: Int, _ marks: (UInt64) -> UInt64
    ) -> Int {
        let raw = UnsafeRawBufferPointer(bytes)
        var count = 0
        var position = start
        while position + 8 <= raw.count {
            let word = raw.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            count &+= marks(word).nonzeroBitCount
            position += 8
        }
        while position < raw.count {
            // The other seven bytes are zero, which counts as nothing.
            count &+= marks(UInt64(raw[position])).nonzeroBitCount
            position += 1
        }
        return count
    }
}
