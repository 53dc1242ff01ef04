/// Recounts, from the edges of the versions, what the index says about its objects and versions.
///
/// It looks at objects in the order of their ids, one window at a time, and for each window goes
/// through the edges of all versions. So it reads each row once, in the order on disk, and its memory
/// does not grow with the store.
struct IndexRecount {
    private let index: IndexTransaction
    private let last: Int64
    /// What each version names, by its id.
    private var sums: [Int64: AddressSum] = [:]
    private var tallies: [Int64: Int64] = [:]
    private var stored: [Int64: (name: String, unique: Int64, tally: Int64)] = [:]
    /// The bytes that each version keeps alone.
    private var unique: [Int64: Int64] = [:]
    private var window = Window()
    /// What is wrong with the counts.
    private(set) var findings: [Finding] = []

    /// What the rows of neighbouring ids say.
    private struct Window {
        var ids: Range<Int64> = 0..<0
        /// `nil` if there is no such object.
        var addresses: [ObjectID?] = []
        /// What the rows count, less what the edges say.
        var references: [Int64] = []
        var keepers: [Int64] = []
        /// The counts of each block, each times its object's weight.
        var tallies: [Int64] = []
    }

    /// How many ids are looked at together: 8 MiB of them.
    private static let windowSize: Int64 = 1 << 17
    /// The largest number of windows: the edges are read once for each.
    private static let windowCountMax: Int64 = 64

    init(_ index: IndexTransaction) throws(StoreError) {
        self.index = index
        last = Int64(try index.lastObjectID())
    }

    /// The sum of the addresses that a version's edges name.
    func sum(of version: Int64) -> AddressSum { sums[version] ?? AddressSum() }

    /// Looks at everything.
    /// - Throws: `.index` if edges cannot be read.
    mutating func run() throws(StoreError) {
        let versions = try index.statement("SELECT id, name, unique_bytes, tally FROM version")
        while try versions.step() {
            stored[versions.integer(0)] = (
                versions.text(1) ?? "", versions.integer(2), versions.integer(3)
            )
        }
        // Of whole blocks.
        var size = max(Self.windowSize, last / Self.windowCountMax)
        size = Tally.block(of: size + Tally.blockSize - 1) * Tally.blockSize
        var areCountsRight = true
        var start: Int64 = 0
        repeat {
            try load(start..<(start + size))
            try subtractEdges()
            let isRight =
                window.references.allSatisfy { $0 == 0 }
                && window.keepers.allSatisfy { $0 == 0 }
            let agrees = try talliesAgree()
            areCountsRight = areCountsRight && isRight && agrees
            start += size
        } while start <= last
        guard findings.isEmpty else { return }
        guard areCountsRight else {
            findings = [Store.wrongCount(nil)]
            return
        }
        let wrong = stored.filter {
            unique[$0.key, default: 0] != $0.value.unique
                || tallies[$0.key, default: 0] != $0.value.tally
        }
        findings = wrong.values.map(\.name).sorted().map { Store.wrongCount($0) }
    }

    private mutating func load(_ ids: Range<Int64>) throws(StoreError) {
        window.ids = ids
        let count = Int(min(ids.upperBound, last + 1) - ids.lowerBound)
        window.addresses = Array(repeating: nil, count: count)
        window.references = Array(repeating: 0, count: count)
        window.keepers = Array(repeating: 0, count: count)
        window.tallies = Array(repeating: 0, count: Int(Tally.block(of: Int64(ids.count))))
        let rows = try index.statement(
            "SELECT id, address, bytes, refs, keepers, state FROM object "
                + "WHERE id >= ? AND id < ?"
        ).bind(1, ids.lowerBound == 0 ? Int64.min : ids.lowerBound).bind(2, ids.upperBound)
        while try rows.step() {
            let (id, references, keepers) = (rows.integer(0), rows.integer(3), rows.integer(4))
            guard id > 0 else {
                findings = [Store.wrongCount(nil)]
                continue
            }
            let place = Int(id - ids.lowerBound)
            window.addresses[place] = rows.address(1)
            window.references[place] = references
            window.keepers[place] = keepers
            window.tallies[Int(Tally.block(of: Int64(place)))] &+=
                references &* Tally.weight(of: id)
            if references == 1, rows.integer(5) == ObjectState.present.rawValue {
                unique[keepers, default: 0] += rows.integer(2)
            }
        }
    }

    private mutating func subtractEdges() throws(StoreError) {
        let rows = try index.statement("SELECT id, edges FROM version")
        while try rows.step() {
            let version = rows.integer(0)
            var sum = sum(of: version)
            var tally = tallies[version] ?? 0
            switch rows.withBlob(1, { subtract($0, of: version, &sum, &tally) }) {
            case nil: throw EdgeRuns.damage
            case false?: findings = [Store.wrongCount(stored[version]?.name)]
            case true?: (sums[version], tallies[version]) = (sum, tally)
            }
        }
    }

    /// - Returns: whether the edges name possible ids only; `nil` if they are damaged.
    private mutating func subtract(
        _ edges: UnsafeRawBufferPointer, of version: Int64, _ sum: inout AddressSum,
        _ tally: inout Int64
    ) -> Bool? {
        let ids = window.ids
        var reading = EdgeRuns.Reading(edges)
        while let run = reading.next() {
            if run.lowerBound >= ids.upperBound, run.upperBound <= last { break }
            guard run.lowerBound > 0, run.upperBound <= last else { return false }
            guard run.upperBound >= ids.lowerBound else { continue }
            let first = Int(max(run.lowerBound, ids.lowerBound) - ids.lowerBound)
            let end = Int(min(run.upperBound + 1, ids.upperBound) - ids.lowerBound)
            for place in first..<end {
                tally &+= Tally.weight(of: ids.lowerBound + Int64(place))
                // The object may be gone; then the sum says so.
                guard let address = window.addresses[place] else { continue }
                sum.add(address)
                window.references[place] -= 1
                window.keepers[place] &-= version
            }
        }
        return reading.isDamaged ? nil : true
    }

    /// Whether the sums of the blocks say the same as the counts of their objects.
    private mutating func talliesAgree() throws(StoreError) -> Bool {
        let first = Tally.block(of: window.ids.lowerBound)
        let rows = try index.statement(
            "SELECT block, sum FROM tally WHERE block >= ? AND block < ?"
        ).bind(1, first).bind(2, first + Int64(window.tallies.count))
        // A block without a row sums to 0.
        while try rows.step() { window.tallies[Int(rows.integer(0) - first)] &-= rows.integer(1) }
        return window.tallies.allSatisfy { $0 == 0 }
    }
}
