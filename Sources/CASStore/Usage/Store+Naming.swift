extension Store {
    /// The versions that name any of the objects, newest first, each with those that it names.
    package func naming(
        _ addresses: [ObjectID]
    ) throws(StoreError) -> [(row: VersionRow, objects: [ObjectID])] {
        try reading { (index, connection) throws(StoreError) in
            var wanted: [(id: Int64, address: ObjectID)] = []
            for address in addresses {
                guard let object = try index.object(address, connection) else { continue }
                wanted.append((object.id, address))
            }
            wanted.sort { $0.id < $1.id }
            let ids = IDRanks(wanted.map(\.id))
            let edges = try connection.statement("SELECT edges FROM version WHERE id = ?")
            var result: [(row: VersionRow, objects: [ObjectID])] = []
            for row in try index.versions(connection) {
                guard try edges.bind(1, row.id).step(),
                    let found = edges.withBlob(0, { ids.spans(of: EdgeRuns.Reading($0)) })
                else { throw StoreError(.index, "the index holds damaged references") }
                edges.reset()
                let objects = found.flatMap { span in
                    (span.lower..<span.upper).map { wanted[Int($0)].address }
                }
                if !objects.isEmpty { result.append((row, objects)) }
            }
            return result
        }
    }
}
