// A second count of references to check the first: what looks like garbage must not be named.

/// Sums over blocks of neighbouring ids, which check the reference counts without reading the edges.
///
/// Each id has a weight. Naming an object adds its weight to the sum of its block, so the sum must equal the block's
/// counts, each times its object's weight. It is kept from the edges alone, so that any wrong count disagrees.
enum Tally {
    /// How many ids share a sum: few rows to read for a check, and few sums to store.
    static let blockSize: Int64 = 64

    static func block(of id: Int64) -> Int64 { id / blockSize }

    static func ids(of block: Int64) -> ClosedRange<Int64> {
        (block * blockSize)...(block * blockSize + blockSize - 1)
    }

    /// A pseudorandom number from 1 to 2^31: 2^26 versions may name all objects of a block.
    static func weight(of id: Int64) -> Int64 {
        // The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
        var mixed = UInt64(bitPattern: id) &* 0x9e37_79b9_7f4a_7c15
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return Int64((mixed ^ (mixed >> 31)) >> 33) + 1
    }
}

extension EdgeRuns {
    var tally: Int64 {
        var sum: Int64 = 0
        for run in runs {
            for id in run { sum &+= Tally.weight(of: id) }
        }
        return sum
    }

    /// Calls `body` with each block that has ids, ascending, and the sum of their weights.
    func forEachTally(
        _ body: (_ block: Int64, _ sum: Int64) throws(StoreError) -> Void
    ) throws(StoreError) {
        var block: Int64 = -1
        var sum: Int64 = 0
        for run in runs {
            for id in run {
                let next = Tally.block(of: id)
                if next != block {
                    if sum > 0 { try body(block, sum) }
                    (block, sum) = (next, 0)
                }
                sum += Tally.weight(of: id)
            }
        }
        if sum > 0 { try body(block, sum) }
    }
}

extension IndexTransaction {
    /// Adds what a version names to the sums, or subtracts it.
    func tally(_ edges: EdgeRuns, by change: Int64) throws(StoreError) {
        let add = try statement(
            "INSERT INTO tally (block, sum) VALUES (?1, ?2) "
                + "ON CONFLICT (block) DO UPDATE SET sum = sum + ?2")
        try edges.forEachTally { (block, sum) throws(StoreError) in
            try add.bind(1, block).bind(2, change * sum).run()
        }
        guard change < 0 else { return }
        let drop = try statement("DELETE FROM tally WHERE block = ? AND sum = 0")
        try edges.forEachTally { (block, _) throws(StoreError) in try drop.bind(1, block).run() }
    }

    /// Checks that no version names one of these objects after all: a count is a hint, and must never delete content.
    ///
    /// The cost depends on the objects and their neighbours, not on what else the store holds.
    /// - Throws: `.index`; then the index is made again from the manifests.
    func refuseNamed(_ ids: [Int64]) throws(StoreError) {
        let counts = try statement(
            "SELECT id, refs FROM object WHERE id BETWEEN ? AND ?")
        let sums = try statement("SELECT sum FROM tally WHERE block = ?")
        var last: Int64 = -1
        for id in ids.sorted() {
            let block = Tally.block(of: id)
            guard block != last else { continue }
            last = block
            let range = Tally.ids(of: block)
            counts.bind(1, range.lowerBound).bind(2, range.upperBound)
            var counted: Int64 = 0
            while try counts.step() {
                counted &+= counts.integer(1) &* Tally.weight(of: counts.integer(0))
            }
            sums.bind(1, block)
            let named = try sums.step() ? sums.integer(0) : 0
            sums.reset()
            guard named == counted else {
                throw StoreError(.index, "the index counts the references of an object wrongly")
            }
        }
    }
}
