/// The part of a long enumeration that one run takes: every third point, say; all of them with `$CASTREE_TEST_WHOLE`
/// (`make test-all`).
///
/// Which part, `$CASTREE_TEST_SEED` decides. `scripts/test` makes it of the commit and prints it: each commit looks at
/// other points, and a run can be had again.
package struct TestShare: Sendable {
    /// Whether every enumeration is taken whole.
    package static let isWhole =
        ProcessInfo.processInfo.environment["CASTREE_TEST_WHOLE"].map { $0 != "" } ?? false

    package static let seed: UInt64 = {
        if let given = SeededRandom.given { return given }
        let seed = UInt64.random(in: 0...UInt64(UInt32.max))
        print("shares of enumerations: CASTREE_TEST_SEED=\(seed)")
        return seed
    }()

    /// From one point that is taken to the next.
    package let step: Int
    /// The first point that is taken, below `step`.
    package let first: Int

    /// Makes a share.
    ///
    /// - Parameters:
    ///   - step: of so many points one is taken.
    ///   - enumeration: what the points are of, so that not all enumerations begin alike.
    package init(oneIn step: Int, of enumeration: String = #function) {
        self.step = Self.isWhole ? 1 : step
        // FNV-1a: the same in each process, as `hashValue` is not.
        let name = enumeration.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3
        }
        var random = SeededRandom(seed: Self.seed &+ name)
        first = Int(random.next() % UInt64(self.step))
    }

    package func takes(_ point: Int) -> Bool { point % step == first }

    /// Those that are taken of a list.
    package func of<Point>(_ points: [Point]) -> [Point] {
        points.enumerated().filter { takes($0.offset) }.map(\.element)
    }

    /// Tries the points of an enumeration that has its end where nothing is met any more.
    ///
    /// - Parameter isMet: tries a point, counted from 0, and says whether the enumeration goes so far.
    /// - Returns: a number of points that is at least that of the enumeration, and larger by less than `step`.
    package func count(while isMet: (Int) throws -> Bool) rethrows -> Int {
        var point = first
        while try isMet(point) { point += step }
        return point
    }
}
