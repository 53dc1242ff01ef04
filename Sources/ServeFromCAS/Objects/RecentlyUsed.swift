import Platform

/// Values by address; evicts those not used lately when the cost exceeds a limit.
///
/// A flat table with open addressing. A look-up writes one mark and moves nothing: to evict, a hand
/// goes round, removes marks, and stops at a value without one (CLOCK, Corbató 1968). Addresses are
/// good hashes; a random factor keeps a publisher from choosing neighbours.
struct RecentlyUsed<Value> {
    private struct Entry {
        var key: ObjectID
        var cost: Int32
        var wasUsed: Bool
        /// `nil`: the place is free.
        var value: Value?
    }

    private let limit: Int
    private(set) var cost = 0
    private(set) var count = 0
    /// Whether anything was ever evicted to make room.
    private(set) var wasFull = false
    private var entries: [Entry] = []
    private var free: [Int32] = []
    // Positions in `entries`; -1 is free. The count is a power of two, at least twice the entries.
    private var slots: [Int32]
    private var hand = 0
    private let factor = UInt64.random(in: 0...UInt64.max) | 1

    init(limit: Int) {
        self.limit = limit
        slots = Array(repeating: -1, count: 16)
    }

    /// Whether a value of that cost fits in addition to those here.
    func hasRoom(_ cost: Int) -> Bool { self.cost + cost <= limit }

    @inline(__always)
    private func home(_ key: ObjectID) -> Int {
        // The upper half of a product depends on all bits of the lower half.
        Int(truncatingIfNeeded: (key.w0 &* factor) >> 32) & (slots.count - 1)
    }

    /// The position of a key in `slots`; `nil` if it is absent.
    @inline(__always)
    private func slot(of key: ObjectID) -> Int? {
        var slot = home(key)
        while slots[slot] >= 0 {
            if entries[Int(slots[slot])].key == key { return slot }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    @inline(__always)
    mutating func value(of key: ObjectID) -> Value? {
        guard let slot = slot(of: key) else { return nil }
        let position = Int(slots[slot])
        if !entries[position].wasUsed { entries[position].wasUsed = true }
        return entries[position].value
    }

    /// A value that is here; this does not count as a use.
    func peek(_ key: ObjectID) -> Value? {
        guard let slot = slot(of: key) else { return nil }
        return entries[Int(slots[slot])].value
    }

    /// All values that are here, in no order.
    var values: [Value] { entries.compactMap(\.value) }

    /// Changes a value that is here; this does not count as a use.
    mutating func update(_ key: ObjectID, _ change: (inout Value) -> Void) {
        guard let slot = slot(of: key) else { return }
        let position = Int(slots[slot])
        guard var value = entries[position].value else { return }
        change(&value)
        entries[position].value = value
    }

    /// Keeps a value, unless it alone costs more than the limit.
    /// - Returns: the last value that was evicted to make room.
    @discardableResult
    mutating func insert(_ key: ObjectID, _ value: Value, cost: Int) -> Value? {
        remove(key)
        guard cost <= limit, cost <= Int(Int32.max) else { return nil }
        var gone: Value?
        while !hasRoom(cost), count > 0 { gone = throwOut() }
        let entry = Entry(key: key, cost: Int32(cost), wasUsed: false, value: value)
        let position: Int32
        if let reused = free.popLast() {
            position = reused
            entries[Int(position)] = entry
        } else {
            position = Int32(entries.count)
            entries.append(entry)
        }
        count += 1
        self.cost += cost
        if count * 2 > slots.count { grow() } else { place(position) }
        return gone
    }

    mutating func remove(_ key: ObjectID) {
        guard let slot = slot(of: key) else { return }
        let position = slots[slot]
        cost -= Int(entries[Int(position)].cost)
        count -= 1
        entries[Int(position)].value = nil
        free.append(position)
        close(slot)
    }

    /// Evicts the first value that the hand finds unused since its last round.
    private mutating func throwOut() -> Value? {
        wasFull = true
        while true {
            if hand >= entries.count { hand = 0 }
            defer { hand += 1 }
            guard let value = entries[hand].value else { continue }
            if entries[hand].wasUsed {
                entries[hand].wasUsed = false
                continue
            }
            remove(entries[hand].key)
            return value
        }
    }

    /// Frees a slot, and moves up those after it that would otherwise not be found (Knuth, 6.4 R).
    private mutating func close(_ slot: Int) {
        let mask = slots.count - 1
        var gap = slot
        var next = (gap + 1) & mask
        while slots[next] >= 0 {
            let home = home(entries[Int(slots[next])].key)
            if (next - home) & mask >= (next - gap) & mask {
                slots[gap] = slots[next]
                gap = next
            }
            next = (next + 1) & mask
        }
        slots[gap] = -1
    }

    private mutating func place(_ position: Int32) {
        var slot = home(entries[Int(position)].key)
        while slots[slot] >= 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = position
    }

    private mutating func grow() {
        slots = Array(repeating: -1, count: slots.count * 2)
        for position in entries.indices where entries[position].value != nil {
            place(Int32(position))
        }
    }
}
