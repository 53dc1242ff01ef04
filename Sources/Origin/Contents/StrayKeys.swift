package import HotPush

/// Keys below an origin that are not castree's and that nobody deletes.
package struct StrayKeys: Sendable, Hashable {
    package private(set) var figures = FileFigures()
    /// The first ones, in order; at most ``countMax``.
    package private(set) var keys: [String] = []

    /// Bounds the names kept: a bucket may hold millions of strays.
    package static let countMax = 100

    package init() {}

    mutating func add(_ key: String, _ byteCount: Int64) {
        figures.add(byteCount)
        name(key)
    }

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
