/// Values by key up to a total cost; what was used longest ago goes first.
///
/// For a few dozen large values: to make room it looks at all of them. One value that alone costs more than the limit
/// may be kept, in the place of all others: who asked for it will ask for it again.
struct BoundedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Entry {
        var value: Value
        var cost: Int
        var usedAt: UInt64
    }

    private let limit: Int
    private let keepsOneLarger: Bool
    private var entries: [Key: Entry] = [:]
    private(set) var cost = 0
    private var clock: UInt64 = 0

    init(limit: Int, keepsOneLarger: Bool = false) {
        self.limit = limit
        self.keepsOneLarger = keepsOneLarger
    }

    var count: Int { entries.count }

    mutating func value(of key: Key) -> Value? {
        guard entries[key] != nil else { return nil }
        clock += 1
        entries[key]?.usedAt = clock
        return entries[key]?.value
    }

    /// Keeps a value, unless it alone costs more than the limit and no such value is kept.
    ///
    /// - Returns: what went for it: to let go of that takes long, and is no work to be done under a lock.
    @discardableResult
    mutating func insert(_ key: Key, _ value: Value, cost: Int) -> [Value] {
        var gone = entries[key].map { [$0.value] } ?? []
        remove(key)
        guard cost <= limit || keepsOneLarger else { return gone }
        while self.cost + cost > limit,
            let oldest = entries.min(by: { $0.value.usedAt < $1.value.usedAt })
        {
            gone.append(oldest.value.value)
            remove(oldest.key)
        }
        clock += 1
        entries[key] = Entry(value: value, cost: cost, usedAt: clock)
        self.cost += cost
        return gone
    }

    mutating func remove(_ key: Key) {
        guard let gone = entries.removeValue(forKey: key) else { return }
        cost -= gone.cost
    }
}
