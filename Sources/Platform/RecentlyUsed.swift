/// Values by key up to a total cost; those not used lately go first.
///
/// A look-up writes one mark and moves nothing: to free space, a hand goes round, removes marks, and stops at a value
/// without one (CLOCK, Corbató 1968).
package struct RecentlyUsed<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Entry {
        var key: Key
        var cost: Int
        var wasUsed = false
        var value: Value?
    }

    private let limit: Int
    private let keepsOneLarger: Bool
    package private(set) var cost = 0
    /// Whether anything was ever evicted to free space.
    package private(set) var wasFull = false
    private var entries: [Entry] = []
    private var free: [Int] = []
    private var places: [Key: Int] = [:]
    private var hand = 0

    /// - Parameter keepsOneLarger: whether one value that alone costs more than the limit may be kept in place of all
    ///   others, because it is likely to be requested again.
    package init(limit: Int, keepsOneLarger: Bool = false) {
        self.limit = limit
        self.keepsOneLarger = keepsOneLarger
    }

    package var count: Int { places.count }

    /// Whether a value of that cost fits in addition to those here.
    package func hasSpace(_ cost: Int) -> Bool { self.cost + cost <= limit }

    package mutating func value(of key: Key) -> Value? {
        guard let place = places[key] else { return nil }
        if !entries[place].wasUsed { entries[place].wasUsed = true }
        return entries[place].value
    }

    /// The value of a key, without counting as a use.
    package func peek(_ key: Key) -> Value? { places[key].flatMap { entries[$0].value } }

    package var values: [Value] { entries.compactMap(\.value) }

    /// Changes a value, without counting as a use.
    package mutating func update(_ key: Key, _ change: (inout Value) -> Void) {
        guard let place = places[key], var value = entries[place].value else { return }
        change(&value)
        entries[place].value = value
    }

    /// Keeps a value, unless it alone costs more than the limit and no such value is kept.
    /// - Returns: the evicted values: releasing them may take long, and should not be done under a lock.
    @discardableResult
    package mutating func insert(_ key: Key, _ value: Value, cost: Int) -> [Value] {
        var gone = remove(key).map { [$0] } ?? []
        guard cost <= limit || keepsOneLarger else { return gone }
        while !hasSpace(cost), count > 0 {
            if let evicted = throwOut() { gone.append(evicted) }
        }
        let place = free.popLast() ?? entries.count
        let entry = Entry(key: key, cost: cost, value: value)
        if place == entries.count { entries.append(entry) } else { entries[place] = entry }
        places[key] = place
        self.cost += cost
        return gone
    }

    @discardableResult
    package mutating func remove(_ key: Key) -> Value? {
        guard let place = places.removeValue(forKey: key) else { return nil }
        cost -= entries[place].cost
        free.append(place)
        defer { entries[place].value = nil }
        return entries[place].value
    }

    /// Evicts the first value that the hand finds unused since its last round.
    private mutating func throwOut() -> Value? {
        wasFull = true
        while true {
            if hand >= entries.count { hand = 0 }
            defer { hand += 1 }
            guard entries[hand].value != nil else { continue }
            if !entries[hand].wasUsed { return remove(entries[hand].key) }
            entries[hand].wasUsed = false
        }
    }
}
