/// Prepared heads that were asked for lately: bounded, for one thread, without a lock.
///
/// Direct-mapped: a head that falls on another one's place takes it. A miss costs a few microseconds;
/// nothing about an answer depends on what is here.
struct HeadCache: Sendable {
    private var slots: [(key: Int, heads: PreparedHeads)?] = []
    private let mask: Int

    /// - Parameter countMax: rounded up to a power of two.
    init(countMax: Int) {
        var count = 16
        while count < countMax { count *= 2 }
        mask = count - 1
    }

    /// The heads for a key, made if they are not here.
    @inline(__always)
    mutating func heads(_ key: Int, make: () -> PreparedHeads) -> PreparedHeads {
        if slots.isEmpty { slots = Array(repeating: nil, count: mask + 1) }
        // Neighbouring keys differ in coding and in immutability: spread them.
        let slot = (key &* 0x9E37_79B1) >> 7 & mask
        if let found = slots[slot], found.key == key { return found.heads }
        let made = make()
        slots[slot] = (key, made)
        return made
    }
}
