import Platform

// Queries of the index about versions, and about objects by their addresses.

extension Store {
    /// The registered versions, newest first, each with the number of its missing objects.
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

    package func versionRow(_ name: String) throws(StoreError) -> VersionRow? {
        try reading { (index) throws(StoreError) in try index.version(name) }
    }

    /// The missing objects of a version, which are still to be downloaded.
    package func missingObjects(of name: String) throws(StoreError) -> [Reference]? {
        try reading { (index) throws(StoreError) in
            guard let row = try index.version(name) else { return nil }
            return try index.missing(from: row.id)
        }
    }

    package func manifestNames() throws(StoreError) -> [String] {
        try index { (index) throws(StoreError) in try index.manifestFiles().map(\.name) }
    }

    package func referenceCount(of name: String) throws(StoreError) -> Int {
        try reading { (index) throws(StoreError) in
            guard let row = try index.version(name) else { return 0 }
            return Int(try index.edges(of: row.id).count)
        }
    }

    package func nextOrdinal() throws(StoreError) -> Int64 {
        try reading { (index) throws(StoreError) in try index.nextOrdinal() }
    }

    /// The addresses among `addresses` that the index does not know as present, sorted.
    package func unproven(
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

    /// Up to `limit` addresses of objects on disk that begin with digits, sorted.
    /// - Parameter digits: up to 64 lower-case hex digits; anything else matches nothing.
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

    /// The registered versions whose manifest is gone although something else mentions them, by name.
    package func versionsWithoutManifest() throws(StoreError) -> [String] {
        let manifests = Set(try manifestNames())
        let suspects = try versionRows().map(\.row.name).filter { !manifests.contains($0) }
        guard !suspects.isEmpty else { return [] }
        // A version that is being retired loses its manifest before its row.
        try waitForWriters()
        var lacking: [String] = []
        for name in suspects.sorted() where try versionRow(name) != nil {
            let manifest = StoreLayout.manifest(name)
            if try fileSystem.status(directories.manifests.raw, manifest) == nil {
                lacking.append(name)
            }
        }
        return lacking
    }

    /// The versions whose manifest file has changed since the index was made; the next writer reads them again.
    package func versionsWithTouchedManifest() throws(StoreError) -> [String] {
        try reading { (index) throws(StoreError) in try index.touchedManifests() }
    }

    package func references(of name: String) throws(StoreError) -> [Reference] {
        try reading { (index) throws(StoreError) in
            guard let row = try index.version(name) else { return [] }
            return try index.references(of: row.id)
        }
    }

    package func unnamed(_ addresses: Set<ObjectID>) throws(StoreError) -> [ObjectID] {
        guard !addresses.isEmpty else { return [] }
        return try reading { (index) throws(StoreError) in
            var result: [ObjectID] = []
            for address in addresses.sorted()
            where (try index.object(address)?.references ?? 0) == 0 {
                result.append(address)
            }
            return result
        }
    }

    package func sizes(of addresses: Set<ObjectID>) throws(StoreError) -> [Reference] {
        try reading { (index) throws(StoreError) in
            var result: [Reference] = []
            for address in addresses.sorted() {
                guard let row = try index.object(address) else { continue }
                result.append(Reference(address: address, byteCount: row.byteCount))
            }
            return result
        }
    }

    /// Objects that no registered version names and no retired one left, perhaps of a version lost without a trace.
    package func objectsOfNobody() throws(StoreError) -> [Reference] {
        try reading { (index) throws(StoreError) in
            var result: [Reference] = []
            try index.forEachGarbage { (row, origin) in
                guard origin == nil else { return }
                result.append(Reference(address: row.address, byteCount: row.byteCount))
            }
            return result
        }
    }

    // MARK: What is known of source files without reading them

    /// The mount that holds an open source file; `nil` if a change of a file might not show there.
    package func sourceMount(of file: Int32) -> SourceMount? {
        guard let status = fileSystem.mount(of: file), status.provesChanges else { return nil }
        // Without the name of the boot every file is read, which is always right.
        return SourceMount(status, boot: try? fileSystem.systemBoot())
    }

    /// Looks source files up in the stat cache, and calls `found` for those whose content is known and stored.
    /// - Returns: the ordinal for a new version, whether it should renew hits, and the index version that proves them.
    package func lookUpSources(
        count: Int, key: (Int) -> StatKey?, found: (Int, ObjectID) -> Void
    ) throws(StoreError) -> (ordinal: Int64, renews: Bool, indexVersion: IndexVersion) {
        try reading { (index) throws(StoreError) in
            try index.cachedAddresses(count: count, key, found: found)
            let ordinal = try index.nextOrdinal()
            let renews = index.renewsCache(ordinal: ordinal)
            return (ordinal, renews, try index.currentVersion())
        }
    }

    // One transaction of the index each; code that needs more uses ``Store/index(_:)``.

    /// Reads the index in one transaction, which sees one state and must not be nested: one thread uses it at a time.
    func reading<R>(
        _ body: (IndexTransaction) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        try index { (index) throws(StoreError) in try index.read(body) }
    }

    /// Changes the index in one transaction, during which no one else writes.
    /// - Parameters:
    ///   - rows: about how many rows will change.
    ///   - syncing: makes durable the index and what else belongs to the transaction.
    func writing<R>(
        rows: Int? = nil, _ body: (IndexTransaction) throws(StoreError) -> R,
        syncing: ((IndexTransaction) throws(StoreError) -> Void)? = nil
    ) throws(StoreError) -> R {
        try index { (index) throws(StoreError) in
            try index.write(rows: rows, body, syncing: syncing)
        }
    }
}
