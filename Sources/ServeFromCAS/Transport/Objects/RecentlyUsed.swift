import CASStore

/// Values by address, the least recently used thrown out when their cost is over a limit.
struct RecentlyUsed<Value> {
    private struct Node {
        var key: ObjectID
        var value: Value?
        var cost: Int32
        var newer: Int32
        var older: Int32
    }

    private let limit: Int
    private(set) var cost = 0
    // By the first word of the address, which is as good as random: a third of the memory. Two with one
    // first word, which nobody has seen, take each other's place.
    private var positions: [UInt64: Int32] = [:]
    private var nodes: [Node] = []
    private var free: [Int32] = []
    private var newest: Int32 = -1
    private var oldest: Int32 = -1

    init(limit: Int) { self.limit = limit }

    var count: Int { positions.count }

    /// Whether a value of that cost fits beside what is here.
    func hasRoom(_ cost: Int) -> Bool { self.cost + cost <= limit }

    mutating func value(of key: ObjectID) -> Value? {
        guard let position = positions[key.w0], nodes[Int(position)].key == key else { return nil }
        if position != newest {
            unlink(position)
            makeNewest(position)
        }
        return nodes[Int(position)].value
    }

    /// Keeps a value, unless it alone costs more than the limit.
    mutating func insert(_ key: ObjectID, _ value: Value, cost: Int) {
        remove(at: key.w0)
        guard cost <= limit, cost <= Int(Int32.max) else { return }
        while self.cost + cost > limit, oldest >= 0 { remove(at: nodes[Int(oldest)].key.w0) }
        let node = Node(key: key, value: value, cost: Int32(cost), newer: -1, older: -1)
        let position: Int32
        if let reused = free.popLast() {
            position = reused
            nodes[Int(position)] = node
        } else {
            position = Int32(nodes.count)
            nodes.append(node)
        }
        positions[key.w0] = position
        self.cost += cost
        makeNewest(position)
    }

    mutating func remove(_ key: ObjectID) {
        guard let position = positions[key.w0], nodes[Int(position)].key == key else { return }
        remove(at: key.w0)
    }

    private mutating func remove(at word: UInt64) {
        guard let position = positions.removeValue(forKey: word) else { return }
        unlink(position)
        cost -= Int(nodes[Int(position)].cost)
        nodes[Int(position)].value = nil
        free.append(position)
    }

    private mutating func unlink(_ position: Int32) {
        let (newer, older) = (nodes[Int(position)].newer, nodes[Int(position)].older)
        if newer >= 0 { nodes[Int(newer)].older = older } else { newest = older }
        if older >= 0 { nodes[Int(older)].newer = newer } else { oldest = newer }
    }

    private mutating func makeNewest(_ position: Int32) {
        nodes[Int(position)].newer = -1
        nodes[Int(position)].older = newest
        if newest >= 0 { nodes[Int(newest)].newer = position } else { oldest = position }
        newest = position
    }
}
