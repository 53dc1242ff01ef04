// Garbage and its origins: what retired versions have left, and what others would leave.

package struct RetiredVersion: Sendable, Hashable {
    package let name: String
    /// In seconds since 1970; for people.
    package let retiredAt: Int64
}

extension IndexTransaction {
    /// Records the objects that only this version named, before it is removed; for people only.
    func noteGarbage(of name: String, _ edges: EdgeRuns, at time: Int64) throws(StoreError) {
        var orphans: [Int64] = []
        let rows = try statement(
            "SELECT id FROM object WHERE refs = 0 AND state = 1 AND id BETWEEN ? AND ?")
        try rows.forEachRow(in: edges) { orphans.append($0.integer(0)) }
        guard !orphans.isEmpty else { return }
        try statement(
            "INSERT INTO retired (name, retired_at, edges) VALUES (?, ?, ?)"
        )
        .bind(1, name).bind(2, time).bind(3, EdgeRuns(orphans).encoded).run()
    }

    /// Forgets the origins of garbage once there is none.
    func forgetGarbageOrigins() throws(StoreError) {
        let rest = try statement("SELECT 1 FROM object WHERE refs = 0 LIMIT 1").firstInteger()
        guard rest == nil else { return }
        try statement("DELETE FROM retired").run()
    }

    /// The retired versions that have left something, oldest first.
    func garbageOrigins() throws(StoreError) -> [(origin: RetiredVersion, edges: EdgeRuns)] {
        var result: [(origin: RetiredVersion, edges: EdgeRuns)] = []
        let rows = try statement(
            "SELECT name, retired_at, edges FROM retired ORDER BY id")
        while try rows.step() {
            guard let name = rows.text(0), let edges = rows.withBlob(2, { EdgeRuns($0) }) else {
                throw EdgeRuns.damage
            }
            result.append((RetiredVersion(name: name, retiredAt: rows.integer(1)), edges))
        }
        return result
    }

    /// Calls `body` with each object on disk that no version names, and the retired version that left it.
    func forEachGarbage(
        _ body: (ObjectRow, RetiredVersion?) throws(StoreError) -> Void
    ) throws(StoreError) {
        // Latest first: if two versions left an object, the later one was its last user.
        let origins = try garbageOrigins().reversed()
        var after: Int64 = 0
        while true {
            let batch = try garbage(after: after, limit: 4096)
            guard let last = batch.last else { return }
            after = last.id
            for row in batch where row.state != .absent {
                try body(row, origins.first { $0.edges.contains(row.id) }?.origin)
            }
        }
    }

    /// How many ids ``orphans(retiring:_:_:)`` counts at once, in 6 MiB of counters.
    private static var orphanWindow: Int64 { 1 << 20 }

    /// The objects on disk that nothing would name if versions were retired one after the other.
    /// - Parameter found: called with the object and the position of the version that was the last to name it.
    func orphans(
        retiring versions: [Int64],
        _ found: (ObjectID, Int64, Int) -> Void
    ) throws(StoreError) {
        var edges: [[UInt8]] = []
        for version in versions {
            edges.append(try withEdges(of: version) { Array($0) } ?? [])
        }
        let end = Int64(try lastObjectID()) + 1
        var start: Int64 = 1
        while start < end {
            let ids = start..<min(end, start + Self.orphanWindow)
            try orphans(in: ids, edges, found)
            start = ids.upperBound
        }
    }

    private func orphans(
        in ids: Range<Int64>, _ edges: [[UInt8]],
        _ found: (ObjectID, Int64, Int) -> Void
    ) throws(StoreError) {
        // How many of the versions name an id, and the last that does.
        var counts = [UInt32](repeating: 0, count: ids.count)
        var last = [UInt32](repeating: 0, count: ids.count)
        for (position, bytes) in edges.enumerated() {
            let isSound = bytes.withUnsafeBytes { bytes -> Bool in
                var reading = EdgeRuns.Reading(bytes)
                while let run = reading.next() {
                    if run.lowerBound >= ids.upperBound { break }
                    if run.upperBound < ids.lowerBound { continue }
                    for id in run.clamped(to: ids.lowerBound...(ids.upperBound - 1)) {
                        counts[Int(id - ids.lowerBound)] += 1
                        last[Int(id - ids.lowerBound)] = UInt32(position)
                    }
                }
                return !reading.isDamaged
            }
            guard isSound else { throw EdgeRuns.damage }
        }
        let rows = try statement(
            "SELECT id, refs, bytes, address FROM object WHERE id BETWEEN ? AND ? AND state = 1")
        var position = 0
        while position < counts.count {
            guard counts[position] > 0 else {
                position += 1
                continue
            }
            let first = position
            while position < counts.count, counts[position] > 0 { position += 1 }
            rows.bind(1, ids.lowerBound + Int64(first))
                .bind(2, ids.lowerBound + Int64(position - 1))
            while try rows.step() {
                let place = Int(rows.integer(0) - ids.lowerBound)
                guard rows.integer(1) == Int64(counts[place]) else { continue }
                found(try rows.requiredAddress(3), rows.integer(2), Int(last[place]))
            }
        }
    }

    func referencedBytes() throws(StoreError) -> Int64 {
        try statement("SELECT coalesce(sum(bytes), 0) FROM object WHERE refs > 0 AND state = 1")
            .firstInteger() ?? 0
    }
}
