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
