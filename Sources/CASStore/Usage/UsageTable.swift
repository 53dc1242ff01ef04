/// What every version names, with sizes, read in one pass of one transaction.
///
/// Objects have ranks, ascending with their ids; versions are spans of ranks; sizes are kept as sums up to each rank.
/// So a question about versions costs as many steps as they have spans, however long.
package struct UsageTable: Sendable {
    /// A half-open run of ranks that a version names.
    package struct Span: Sendable, Hashable {
        var lower: UInt32
        var upper: UInt32
    }

    package internal(set) var versions: [VersionRow] = []
    /// Which present objects each version names, ascending.
    var spans: [[Span]] = []
    /// The size of what each version names and the store is missing.
    package internal(set) var missingBytes: [Int64] = []
    /// The sizes of all objects of lower rank, in bytes; one element more than there are objects.
    var before: [Int64] = [0]
    var references: [UInt32] = []
    /// Like ``before``, for the disk usage with executable copies; empty if the disk was not examined.
    var diskBefore: [Int64] = []
    /// The same, for objects that only one version names.
    var uniqueDiskBefore: [Int64] = []
    private var blocks: ObjectBlocks?
    /// The largest objects, largest first, as many as requested.
    package internal(set) var largest: [LargeObject] = []
    package internal(set) var usage = StoreUsage()

    package init() {}

    func bytes(_ span: Span) -> Int64 { before[Int(span.upper)] - before[Int(span.lower)] }

    mutating func add(_ disk: DiskUsage, _ blocks: ObjectBlocks) {
        usage.add(disk)
        self.blocks = blocks
        (diskBefore, uniqueDiskBefore) = ([0], [0])
        diskBefore.reserveCapacity(references.count + 1)
        uniqueDiskBefore.reserveCapacity(references.count + 1)
        var (all, unique, unreferenced): (Int64, Int64, Int64) = (0, 0, 0)
        for (bytes, count) in zip(blocks.all, references) {
            all += bytes
            if count == 1 { unique += bytes }
            if count == 0 { unreferenced += bytes }
            diskBefore.append(all)
            uniqueDiskBefore.append(unique)
        }
        usage.unreferencedDiskBytes = unreferenced
        for place in largest.indices {
            guard let (own, copy) = blocks.diskBytes(of: largest[place].address) else { continue }
            largest[place].diskBytes = own + copy
        }
    }

    package var knowsDisk: Bool { blocks != nil }

    /// The disk usage of an object and its executable copy; `nil` if it is missing, or the disk was not examined.
    package func diskBytes(of address: ObjectID) -> (own: Int64, copy: Int64)? {
        blocks?.diskBytes(of: address)
    }
}

// MARK: Questions

extension UsageTable {
    /// The totals of a version's present objects, each once, in bytes.
    package struct Sums {
        package var bytes: Int64 = 0
        /// Their disk usage; 0, like the next, if the disk was not examined.
        package var diskBytes: Int64 = 0
        /// The disk usage of those that no other version names.
        package var uniqueDiskBytes: Int64 = 0
    }

    package func sums(of version: Int) -> Sums {
        var sums = Sums()
        for span in spans[version] {
            let (lower, upper) = (Int(span.lower), Int(span.upper))
            sums.bytes += before[upper] - before[lower]
            guard knowsDisk else { continue }
            sums.diskBytes += diskBefore[upper] - diskBefore[lower]
            sums.uniqueDiskBytes += uniqueDiskBefore[upper] - uniqueDiskBefore[lower]
        }
        return sums
    }

    /// The size of the objects that both versions name.
    package func commonBytes(of first: Int, _ second: Int) -> Int64 {
        let (left, right) = (spans[first], spans[second])
        var total: Int64 = 0
        var (here, there) = (0, 0)
        while here < left.count, there < right.count {
            let (one, other) = (left[here], right[there])
            let lower = max(one.lower, other.lower)
            let upper = min(one.upper, other.upper)
            if lower < upper { total += bytes(Span(lower: lower, upper: upper)) }
            if one.upper <= other.upper { here += 1 } else { there += 1 }
        }
        return total
    }

    /// For each version, the size and disk usage of the objects that no older version names.
    package func newBytes() -> [(bytes: Int64, diskBytes: Int64)] {
        var seen = RankSet(count: references.count)
        var result = [(bytes: Int64, diskBytes: Int64)](repeating: (0, 0), count: versions.count)
        for version in versions.indices.reversed() {
            for span in spans[version] {
                seen.insert(span) { fresh in
                    result[version].bytes += bytes(fresh)
                    guard !diskBefore.isEmpty else { return }
                    result[version].diskBytes +=
                        diskBefore[Int(fresh.upper)] - diskBefore[Int(fresh.lower)]
                }
            }
        }
        return result
    }
}

/// Ranks that have been seen, one bit for each.
private struct RankSet {
    private var words: [UInt64]

    init(count: Int) { words = Array(repeating: 0, count: count / 64 + 1) }

    mutating func insert(_ span: UsageTable.Span, _ body: (UsageTable.Span) -> Void) {
        var position = span.lower
        while position < span.upper {
            let word = Int(position / 64)
            let end = min(span.upper, (position / 64 + 1) * 64)
            let length = end - position
            let mask = (length == 64 ? ~0 : (UInt64(1) << length) - 1) << (position % 64)
            var fresh = mask & ~words[word]
            words[word] |= mask
            if fresh == mask {
                body(UsageTable.Span(lower: position, upper: end))
            } else {
                while fresh != 0 {
                    let rank = UInt32(word * 64 + fresh.trailingZeroBitCount)
                    body(UsageTable.Span(lower: rank, upper: rank + 1))
                    fresh &= fresh - 1
                }
            }
            position = end
        }
    }
}

/// The largest of many objects; among equally large ones those with the smaller addresses.
struct LargestObjects {
    private let limit: Int
    private(set) var sorted: [LargeObject] = []

    init(limit: Int) { self.limit = limit }

    /// Whether an object of this size may be among them, so that its address is worth reading.
    func mayHold(_ byteCount: Int64) -> Bool {
        guard sorted.count == limit else { return true }
        guard let last = sorted.last else { return false }
        return byteCount >= last.byteCount
    }

    mutating func add(_ object: LargeObject) {
        let place = sorted.firstPosition { Self.precedes($0, object) }
        guard place < limit else { return }
        if sorted.count == limit { sorted.removeLast() }
        sorted.insert(object, at: place)
    }

    private static func precedes(_ left: LargeObject, _ right: LargeObject) -> Bool {
        left.byteCount == right.byteCount
            ? left.address < right.address : left.byteCount > right.byteCount
    }
}

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
