/// The largest of many objects; of equally large ones those with the smaller addresses.
struct LargestObjects {
    private let limit: Int
    /// Largest first.
    private(set) var sorted: [LargeObject] = []

    init(limit: Int) { self.limit = limit }

    /// Whether an object of this size may be among them, so that its address is worth reading.
    func mayHold(_ byteCount: Int64) -> Bool {
        guard sorted.count == limit else { return true }
        guard let last = sorted.last else { return false }
        return byteCount >= last.byteCount
    }

    /// Adds an object, if it is among them.
    mutating func add(_ object: LargeObject) {
        let place = (0..<sorted.count).firstPosition { !Self.precedes(sorted[$0], object) }
        guard place < limit else { return }
        if sorted.count == limit { sorted.removeLast() }
        sorted.insert(object, at: place)
    }

    private static func precedes(_ left: LargeObject, _ right: LargeObject) -> Bool {
        left.byteCount == right.byteCount
            ? left.address < right.address : left.byteCount > right.byteCount
    }
}
