/// The heads of one representation, made once.
private struct PreparedHeads: Sendable {
    var number: Int
    /// 200 with the whole representation.
    var whole: ResponseHead
    /// 304, if it has been needed.
    var notModified: ResponseHead?
}

/// Heads of representations with a label or a source map, which no other representation shares:
/// recent ones only, bounded, for one thread, without a lock.
///
/// Direct-mapped: a head replaces another in the same place. A miss costs about a microsecond; no
/// answer depends on what is here.
struct HeadCache: Sendable {
    private var slots: [PreparedHeads?] = []
    private let mask: Int

    /// - Parameter countMax: rounded up to a power of two.
    init(countMax: Int) {
        var count = 16
        while count < countMax { count *= 2 }
        mask = count - 1
    }

    /// The head of 200.
    mutating func whole(_ representation: borrowing Representation) -> ResponseHead {
        slots[place(representation)]?.whole ?? representation.whole()
    }

    /// The head of 304.
    mutating func notModified(_ representation: borrowing Representation) -> ResponseHead {
        let slot = place(representation)
        if let head = slots[slot]?.notModified { return head }
        let head = representation.notModified()
        slots[slot]?.notModified = head
        return head
    }

    /// Makes the heads of a representation if they are not here, and returns their place.
    private mutating func place(_ representation: borrowing Representation) -> Int {
        if slots.isEmpty { slots = Array(repeating: nil, count: mask + 1) }
        // Neighbours differ in coding and immutability, but few sites have both: spread them.
        let number = representation.number
        let slot = ((number >> 3) &+ (number & 7) &* 0x9E3779B1) & mask
        if slots[slot]?.number != number {
            slots[slot] = PreparedHeads(number: number, whole: representation.whole())
        }
        return slot
    }
}
