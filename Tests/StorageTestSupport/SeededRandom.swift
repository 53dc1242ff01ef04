/// Random numbers that can be had again: SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number
/// Generators", 2014).
package struct SeededRandom: RandomNumberGenerator, Sendable {
    /// What `$CASTREE_TEST_SEED` gives, if it is set.
    package static var given: UInt64? {
        ProcessInfo.processInfo.environment["CASTREE_TEST_SEED"].flatMap(UInt64.init)
    }

    /// What the same numbers are had again by.
    package let seed: UInt64
    private var state: UInt64

    /// Numbers that are others in each run; the seed is printed.
    package init(_ test: String = #function) {
        self.init(seed: Self.given ?? UInt64.random(in: 0...UInt64.max))
        print("\(test): CASTREE_TEST_SEED=\(seed)")
    }

    /// Numbers that are the same in each run.
    package init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }
}
