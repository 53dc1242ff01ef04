/// The ranks of ids among sorted ids: looked up in a table if the ids have few gaps, searched otherwise.
struct IDRanks {
    private let ids: [Int64]
    /// How many of the ids are smaller than a number; empty if they have large gaps.
    private let table: [UInt32]

    init(_ sorted: [Int64]) {
        guard let last = sorted.last, let first = sorted.first, first >= 0,
            last / 4 <= sorted.count
        else {
            (ids, table) = (sorted, [])
            return
        }
        ids = []
        table = [UInt32](unsafeUninitializedCapacity: Int(last) + 2) { table, filled in
            for (rank, id) in sorted.enumerated() {
                while filled <= id {
                    table[filled] = UInt32(rank)
                    filled += 1
                }
            }
            table[filled] = UInt32(sorted.count)
            filled += 1
        }
    }

    /// Which of the ids the runs name, as spans of ranks; `nil` if the runs are damaged.
    func spans(of runs: consuming EdgeRuns.Reading) -> [UsageTable.Span]? {
        var runs = runs
        var result: [UsageTable.Span] = []
        var from = 0
        while let run = runs.next() {
            let lower = rank(of: run.lowerBound, from: from)
            let upper = rank(of: run.upperBound + 1, from: lower)
            from = upper
            guard lower < upper else { continue }
            if let last = result.last, last.upper == UInt32(lower) {
                result[result.count - 1].upper = UInt32(upper)
            } else {
                result.append(UsageTable.Span(lower: UInt32(lower), upper: UInt32(upper)))
            }
        }
        return runs.isDamaged ? nil : result
    }

    private func rank(of id: Int64, from start: Int) -> Int {
        if !table.isEmpty { return Int(table[Int(min(id, Int64(table.count - 1)))]) }
        // First in growing steps: the next run is seldom far away.
        var low = start
        var step = 1
        while low + step <= ids.count, ids[low + step - 1] < id {
            low += step
            step *= 2
        }
        return ids[low..<min(low + step, ids.count)].firstPosition { $0 < id }
    }
}
