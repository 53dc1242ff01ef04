/// The heads of one representation, made once.
struct PreparedHeads: Sendable {
    var number: Int
    /// The entity tag.
    var tag: [UInt8]
    /// 200 with the whole representation.
    var whole: ResponseHead
    /// 304, once it was asked for.
    var notModified: ResponseHead?
}

/// Prepared heads that were asked for lately: bounded, for one thread, without a lock.
///
/// Direct-mapped: a head that falls on another one's place takes it. A miss costs about a
/// microsecond; nothing about an answer depends on what is here.
struct HeadCache: Sendable {
    private var slots: [PreparedHeads?] = []
    private let mask: Int

    /// - Parameter countMax: rounded up to a power of two.
    init(countMax: Int) {
        var count = 16
        while count < countMax { count *= 2 }
        mask = count - 1
    }

    /// Makes the heads of a representation if they are not here, and says where they are.
    @inline(__always)
    mutating func place(_ representation: Representation) -> Int {
        if slots.isEmpty { slots = Array(repeating: nil, count: mask + 1) }
        // Neighbours differ in coding and immutability, which few sites have both of: spread them.
        let number = representation.number
        let slot = ((number >> 3) &+ (number & 7) &* 0x9E3779B1) & mask
        if slots[slot]?.number != number {
            slots[slot] = PreparedHeads(
                number: number, tag: representation.tag, whole: representation.whole())
        }
        return slot
    }

    /// The head of 200 at a place.
    func whole(_ slot: Int, _ representation: Representation) -> ResponseHead {
        slots[slot]?.whole ?? representation.whole()
    }

    /// The entity tag at a place.
    func tag(_ slot: Int, _ representation: Representation) -> [UInt8] {
        slots[slot]?.tag ?? representation.tag
    }

    /// The head of 304 at a place.
    mutating func notModified(_ slot: Int, _ representation: Representation) -> ResponseHead {
        if let head = slots[slot]?.notModified { return head }
        let head = representation.notModified()
        slots[slot]?.notModified = head
        return head
    }
}
