import CASStore

/// Values by address, the least recently used thrown out when their cost is over a limit.
struct RecentlyUsed<Value> {
    private struct Node {
        var key: ObjectID
        var value: Value?
        var cost: Int
        var newer: Int
        var older: Int
    }

    private let limit: Int
    private(set) var cost = 0
    private var positions: [ObjectID: Int] = [:]
    private var nodes: [Node] = []
    private var free: [Int] = []
    private var newest = -1
    private var oldest = -1

    init(limit: Int) { self.limit = limit }

    var count: Int { positions.count }

    mutating func value(of key: ObjectID) -> Value? {
        guard let position = positions[key] else { return nil }
        if position != newest {
            unlink(position)
            makeNewest(position)
        }
        return nodes[position].value
    }

    /// Keeps a value, unless it alone costs more than the limit.
    mutating func insert(_ key: ObjectID, _ value: Value, cost: Int) {
        remove(key)
        guard cost <= limit else { return }
        while self.cost + cost > limit, oldest >= 0 { remove(nodes[oldest].key) }
        let node = Node(key: key, value: value, cost: cost, newer: -1, older: -1)
        let position: Int
        if let reused = free.popLast() {
            position = reused
            nodes[position] = node
        } else {
            position = nodes.count
            nodes.append(node)
        }
        positions[key] = position
        self.cost += cost
        makeNewest(position)
    }

    mutating func remove(_ key: ObjectID) {
        guard let position = positions.removeValue(forKey: key) else { return }
        unlink(position)
        cost -= nodes[position].cost
        nodes[position].value = nil
        free.append(position)
    }

    private mutating func unlink(_ position: Int) {
        let (newer, older) = (nodes[position].newer, nodes[position].older)
        if newer >= 0 { nodes[newer].older = older } else { newest = older }
        if older >= 0 { nodes[older].newer = newer } else { oldest = newer }
    }

    private mutating func makeNewest(_ position: Int) {
        nodes[position].newer = -1
        nodes[position].older = newest
        if newest >= 0 { nodes[newest].newer = position } else { oldest = position }
        newest = position
    }
}
