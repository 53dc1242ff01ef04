/// What is around a byte in the base, and before it in the content.
struct Surroundings {
    /// The base's byte.
    let same: UInt32
    /// The base's byte and the next three, the first in the lowest bits; likewise those before it.
    let ahead: UInt32
    let behind: UInt32
    /// The content's last three bytes, the last in the lowest bits.
    let before: UInt32
    /// The last byte's difference to the base at this alignment.
    let change: UInt32
    /// Where in a word of 4 bytes the content is.
    let phase: UInt32

    @inline(__always)
    init(_ base: UnsafePointer<UInt8>, _ target: UnsafePointer<UInt8>, _ position: Int) {
        let bytes = UnsafeRawPointer(base)
        ahead = UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self))
        behind = UInt32(bigEndian: (bytes - 3).loadUnaligned(as: UInt32.self))
        same = ahead & 0xFF
        var before: UInt32 = 0
        for back in 0..<min(position, 3) {
            before |= UInt32(target[position &- 1 &- back]) << UInt32(8 &* back)
        }
        self.before = before
        change = position > 0 ? (before &- behind >> 8) & 0xFF : 0
        phase = UInt32(truncatingIfNeeded: position & 3)
    }

    /// The byte, the next and the one before.
    @inline(__always)
    var sides: UInt32 { ahead & 0xFFFF | (behind & 0xFF00) << 8 }

    @inline(__always)
    func neighbours(_ seed: UInt32) -> UInt32 { hashed(sides | change << 24, seed) }

    @inline(__always)
    func phasedNeighbours(_ seed: UInt32) -> UInt32 {
        hashed(ahead & 0xFFFF | change << 16 | phase << 24, seed)
    }
}

/// The word of the base that a byte belongs to, where words begin at multiples of 4 in the content.
struct BaseWord {
    private let base: UnsafePointer<UInt8>
    private let target: UnsafePointer<UInt8>
    private let start: Int
    private let word: UInt32
    private let known: UInt32
    private let mask: UInt32
    private let shift: UInt32

    @inline(__always)
    init(base: UnsafePointer<UInt8>, target: UnsafePointer<UInt8>, position: Int) {
        let phase = position & 3
        self.base = base - phase
        self.target = target
        start = position &- phase
        word = Self.load(base - phase)
        shift = UInt32(truncatingIfNeeded: phase &* 8)
        mask = 1 << shift &- 1
        var known: UInt32 = 0
        for index in 0..<phase { known |= UInt32(target[start &+ index]) << UInt32(8 &* index) }
        self.known = known
    }

    /// The byte if the word differs from the base's by as much as the one so many bytes before it.
    ///
    /// The context: whether that differs at all (1), and whether it is right so far (2).
    @inline(__always)
    func guess(_ distance: Int) -> (byte: UInt32, context: UInt32)? {
        guard start >= distance else { return nil }
        let difference = Self.load(target + (start &- distance)) &- Self.load(base - distance)
        let whole = word &+ difference
        let isRight = (whole ^ known) & mask == 0
        return (whole >> shift & 0xFF, (difference != 0 ? 1 : 0) | (isRight ? 2 : 0))
    }

    @inline(__always)
    private static func load(_ bytes: UnsafePointer<UInt8>) -> UInt32 {
        UInt32(littleEndian: UnsafeRawPointer(bytes).loadUnaligned(as: UInt32.self))
    }
}
