// What the index says about versions, and about objects by their addresses.

extension Store {
    /// The registered versions, newest first, each with what it lacks.
    package func versionRows() throws(StoreError) -> [(row: VersionRow, missing: Int)] {
        try reading { (index) throws(StoreError) in
            var result: [(row: VersionRow, missing: Int)] = []
            for row in try index.versions() {
                let missing =
                    row.isComplete ? 0 : try index.missing(from: row.id).count
                result.append((row, missing))
            }
            return result
        }
    }

    /// A registered version.
    package func versionRow(_ name: String) throws(StoreError) -> VersionRow? {
        try reading { (index) throws(StoreError) in try index.version(name) }
    }

    /// What a version names and the store lacks: what is still to be downloaded.
    package func missingObjects(of name: String) throws(StoreError) -> [MissingObject]? {
        try reading { (index) throws(StoreError) in
            guard let row = try index.version(name) else { return nil }
            return try index.missing(from: row.id)
        }
    }

    /// The names of the manifest files, sorted, whatever they hold.
    package func manifestNames() throws(StoreError) -> [String] {
        try index { (index) throws(StoreError) in try index.manifestFiles().map(\.name) }
    }

    /// How many objects a version names.
    package func referenceCount(of name: String) throws(StoreError) -> Int {
        try reading { (index) throws(StoreError) in
            guard let row = try index.version(name) else { return 0 }
            return Int(try index.edges(of: row.id).count)
        }
    }

    /// The ordinal that a new version gets.
    package func nextOrdinal() throws(StoreError) -> Int64 {
        try reading { (index) throws(StoreError) in try index.nextOrdinal() }
    }

    /// The addresses among `addresses` that the index does not know as present, sorted.
    package func unvouched(
        _ addresses: some Sequence<ObjectID>
    ) throws(StoreError) -> [ObjectID] {
        // An array, since sorting a sequence of unknown type costs five times as much.
        let addresses = Array(addresses).sorted()
        guard !addresses.isEmpty else { return [] }
        return try reading { (index) throws(StoreError) in
            var result: [ObjectID] = []
            var objects = try ObjectCursor(index)
            defer { objects.end() }
            // In the index's own order each of its pages is read once, whatever the cache holds.
            for address in addresses
            where try objects.find(address)?.state != .present {
                result.append(address)
            }
            return result
        }
    }

    /// The addresses of the objects on disk that begin with digits, sorted; no more than `limit`.
    ///
    /// - Parameter digits: lower-case hex digits, 64 at most; of anything else there is none.
    package func addresses(
        beginningWith digits: String, limit: Int
    ) throws(StoreError) -> [ObjectID] {
        let missing = ObjectID.byteCount * 2 - digits.utf8.count
        guard missing >= 0 else { return [] }
        let first = ObjectID(digits + String(repeating: "0", count: missing))
        let last = ObjectID(digits + String(repeating: "f", count: missing))
        guard let first, let last else { return [] }
        return try reading { (index) throws(StoreError) in
            try index.present(from: first.bytes, through: last.bytes, limit: limit)
        }
    }

    /// Returns when every transaction that changes something now has ended.
    package func waitForWriters() throws(StoreError) {
        try index { (index) throws(StoreError) in try index.locks.waitForWriters() }
    }
}
