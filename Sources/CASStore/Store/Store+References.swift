// Who names what, by the name of a version or by addresses.

extension Store {
    /// The registered versions whose manifest is gone, by name: something else mentions them.
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

    /// The versions whose manifest is another file than the one that the index was made from, or has changed since: these are
    /// read again by whoever writes next.
    package func versionsWithTouchedManifest() throws(StoreError) -> [String] {
        try reading { (index) throws(StoreError) in try index.touchedManifests() }
    }

    /// What a version names, as the index knows it.
    package func references(of name: String) throws(StoreError) -> [Reference] {
        try reading { (index) throws(StoreError) in
            guard let row = try index.version(name) else { return [] }
            return try index.references(of: row.id)
        }
    }

    /// The addresses that no registered version names.
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

    /// The sizes of objects, as the index knows them.
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

    /// Objects that no registered version names and no retired one left: they may be the content of a version that
    /// was lost without a trace.
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
}
