/// Keys below an origin that are not castree's: nobody deletes them.
package struct StrayKeys: Sendable, Hashable {
    /// How many there are, and their bytes.
    package private(set) var figures = FileFigures()
    /// Those that came first, in order; at most ``countMax``.
    package private(set) var keys: [String] = []

    /// So many are named: a bucket may hold millions.
    package static let countMax = 100

    /// None.
    package init() {}

    /// Counts one more.
    mutating func add(_ key: String, _ byteCount: Int64) {
        figures.add(byteCount)
        name(key)
    }

    /// Counts those of both.
    package static func + (left: StrayKeys, right: StrayKeys) -> StrayKeys {
        var sum = left
        sum.figures = left.figures + right.figures
        for key in right.keys { sum.name(key) }
        return sum
    }

    private mutating func name(_ key: String) {
        guard keys.count < Self.countMax else { return }
        let place = keys.firstIndex { key.utf8.lexicographicallyPrecedes($0.utf8) }
        keys.insert(key, at: place ?? keys.endIndex)
    }
}
