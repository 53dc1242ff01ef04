// Reads the data that usage is computed from.

extension Store {
    /// - Parameters:
    ///   - largestMax: how many of the largest objects to note in passing.
    ///   - looksAtDisk: whether to walk through the store, too, for disk usage.
    package func usageTable(
        largestMax: Int = 0, looksAtDisk: Bool = false
    ) throws(StoreError) -> UsageTable {
        var (table, words): (UsageTable, [UInt64]) = try reading { (index) throws(StoreError) in
            try index.usageTable(largestMax: largestMax, noting: looksAtDisk)
        }
        guard looksAtDisk else { return table }
        let (disk, blocks) = try diskUsage(noting: words)
        table.add(disk, blocks)
        return table
    }

    /// The bytes of a version's objects, present and missing, each once; costs what the version names.
    package func namedBytes(
        of name: String
    ) throws(StoreError) -> (row: VersionRow, present: Int64, missing: Int64)? {
        try reading { (index) throws(StoreError) in
            guard let row = try index.version(name) else { return nil }
            var (present, missing): (Int64, Int64) = (0, 0)
            let sums = try index.statement(
                "SELECT total(CASE WHEN state = 1 THEN bytes END), "
                    + "total(CASE WHEN state <> 1 THEN bytes END) "
                    + "FROM object WHERE id BETWEEN ? AND ?")
            try sums.forEachRow(in: index.edges(of: row.id)) { row in
                present += row.integer(0)
                missing += row.integer(1)
            }
            return (row, present, missing)
        }
    }

    /// How many versions name each of these objects, by the position of the reference; 0 for a missing one.
    package func referenceCounts(of references: References) throws(StoreError) -> [UInt32] {
        try reading { (index) throws(StoreError) in
            var result: [UInt32] = []
            result.reserveCapacity(references.count)
            var objects = try ObjectCursor(index)
            defer { objects.end() }
            for reference in references {
                let found = try objects.find(reference.address)
                let isPresent = found.map { $0.state != .absent } ?? false
                result.append(isPresent ? UInt32(clamping: max(found?.references ?? 1, 1)) : 0)
            }
            return result
        }
    }
}

extension IndexTransaction {
    /// - Parameter notesWords: whether to return the first eight bytes of the objects' addresses, too, by rank.
    fileprivate func usageTable(
        largestMax: Int, noting notesWords: Bool
    ) throws(StoreError) -> (UsageTable, words: [UInt64]) {
        var table = UsageTable()
        var largest = LargestObjects(limit: largestMax)
        // Ids may have large gaps; beyond this the arrays grow on demand.
        let known = min(try lastObjectID(), 4_000_000)
        table.before.reserveCapacity(known + 1)
        table.references.reserveCapacity(known)
        // The ids of present objects by rank; those of absent ones, with the sums of their sizes.
        var present: [Int64] = []
        present.reserveCapacity(known)
        var absent: [Int64] = []
        var absentBefore: [Int64] = [0]
        let objects = try statement(
            "SELECT id, bytes, state, refs, address FROM object ORDER BY id")
        var total: Int64 = 0
        var words: [UInt64] = []
        if notesWords { words.reserveCapacity(known) }
        while try objects.step() {
            let (id, bytes) = (objects.integer(0), objects.integer(1))
            let references = objects.integer(3)
            guard objects.integer(2) != ObjectState.absent.rawValue else {
                absent.append(id)
                // Absent objects may claim any size; wrapping sums still give the right differences.
                absentBefore.append((absentBefore.last ?? 0) &+ bytes)
                continue
            }
            total += bytes
            present.append(id)
            table.before.append(total)
            table.references.append(UInt32(clamping: references))
            if references == 0 { table.usage.unreferencedBytes += bytes }
            if notesWords { words.append(objects.address(4)?.w0 ?? 0) }
            if largest.mayHold(bytes), let address = objects.address(4) {
                largest.add(
                    LargeObject(address: address, byteCount: bytes, references: Int(references)))
            }
        }
        table.largest = largest.sorted
        table.usage.objects = present.count
        table.usage.objectBytes = total
        table.versions = try versions()
        let ranks = IDRanks(present)
        present = []
        let absentRanks = IDRanks(absent)
        for row in table.versions {
            table.usage.apparentBytes = table.usage.apparentBytes.addingClamped(row.byteCount)
            let found = try withEdges(of: row.id) { edges in
                (
                    spans: ranks.spans(of: EdgeRuns.Reading(edges)),
                    missing: absent.isEmpty
                        ? [] : absentRanks.spans(of: EdgeRuns.Reading(edges)) ?? []
                )
            }
            guard let spans = found?.spans, let missing = found?.missing else {
                throw EdgeRuns.damage
            }
            table.spans.append(spans)
            table.missingBytes.append(
                missing.reduce(0) {
                    $0.addingClamped(absentBefore[Int($1.upper)] &- absentBefore[Int($1.lower)])
                })
        }
        return (table, words)
    }
}

extension Store {
    /// The versions that name any of the objects, newest first, each with those that it names.
    package func naming(
        _ addresses: [ObjectID]
    ) throws(StoreError) -> [(row: VersionRow, objects: [ObjectID])] {
        try reading { (index) throws(StoreError) in
            var wanted: [(id: Int64, address: ObjectID)] = []
            for address in addresses {
                guard let object = try index.object(address) else { continue }
                wanted.append((object.id, address))
            }
            wanted.sort { $0.id < $1.id }
            let ids = IDRanks(wanted.map(\.id))
            var result: [(row: VersionRow, objects: [ObjectID])] = []
            for row in try index.versions() {
                let spans = try index.withEdges(of: row.id) { ids.spans(of: EdgeRuns.Reading($0)) }
                guard let found = spans ?? nil else { throw EdgeRuns.damage }
                let objects = found.flatMap { span in
                    (span.lower..<span.upper).map { wanted[Int($0)].address }
                }
                if !objects.isEmpty { result.append((row, objects)) }
            }
            return result
        }
    }
}
