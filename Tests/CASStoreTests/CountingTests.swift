import StorageTestSupport

/// The counts of the index against the manifests, counted again by hand.
@Suite struct CountingTests {
    /// One line of the index.
    struct Row: Hashable {
        var references: Int
        var keepers: Set<String>
    }

    /// What the index says: address to count, and for single references the keeper's name.
    func counted(_ temporary: TemporaryStore) throws -> [ObjectID: (refs: Int64, keepers: Int64)] {
        try temporary.withIndex { connection in
            var result: [ObjectID: (refs: Int64, keepers: Int64)] = [:]
            let rows = try connection.statement("SELECT address, refs, keepers FROM object")
            while try rows.step() {
                guard let address = rows.address(0) else { continue }
                result[address] = (rows.integer(1), rows.integer(2))
            }
            return result
        }
    }

    func ids(_ temporary: TemporaryStore) throws -> [String: Int64] {
        try temporary.withIndex { connection in
            var result: [String: Int64] = [:]
            let rows = try connection.statement("SELECT name, id FROM version")
            while try rows.step() { result[rows.text(0) ?? ""] = rows.integer(1) }
            return result
        }
    }

    func compare(_ temporary: TemporaryStore, _ comment: Comment) throws {
        let ids = try ids(temporary)
        var references: [ObjectID: [String]] = [:]
        var sizes: [ObjectID: Int64] = [:]
        for name in ids.keys {
            var distinct: Set<ObjectID> = []
            for entry in try temporary.versions.manifest(of: name).entries {
                distinct.insert(entry.address)
                sizes[entry.address] = entry.byteCount
            }
            for address in distinct { references[address, default: []].append(name) }
        }
        let counted = try counted(temporary)
        for (address, row) in counted {
            let names = references[address] ?? []
            expect(row.refs, equals: Int64(names.count), comment)
            expect(row.keepers, equals: names.reduce(0) { $0 + (ids[$1] ?? 0) }, comment)
        }
        for address in references.keys { expect(counted[address] != nil, comment) }
        for version in try temporary.versions.versions() {
            let own = references.filter { $0.value == [version.version] }
            let expected = own.keys.reduce(0) { $0 + (sizes[$1] ?? 0) }
            expect(version.uniqueBytes, equals: expected, comment)
            let distinct = references.filter { $0.value.contains(version.version) }
            let usage = try temporary.versions.usage(of: [version.version])[0]
            expect(usage.uniqueBytes, equals: expected, comment)
            expect(
                usage.sharedBytes + usage.uniqueBytes,
                equals: distinct.keys.reduce(0) { $0 + (sizes[$1] ?? 0) }, comment)
        }
    }

    @Test func `counts are those of the manifests, whatever was added, retired and collected`()
        throws
    {
        var random = SeededRandom()
        let temporary = try TemporaryStore()
        var names: [String] = []
        for step in 0..<40 {
            let comment: Comment = "step \(step), seed \(random.seed)"
            switch Int.random(in: 0..<10, using: &random) {
            case 0...4:
                var files: [String: String] = [:]
                for file in 0..<Int.random(in: 1...12, using: &random) {
                    let content = Int.random(in: 0..<25, using: &random)
                    files["d\(file % 3)/f\(file)"] = String(
                        repeating: "x\(content) ", count: content)
                }
                try temporary.add("v\(step)", files)
                names.append("v\(step)")
            case 5...7:
                guard let name = names.randomElement(using: &random) else { continue }
                let usage = try temporary.versions.usage(of: [name])[0]
                _ = try temporary.store.collect()
                try temporary.versions.retire(name)
                names.removeAll { $0 == name }
                let planned = try temporary.store.planCollection().byteCount
                expect(planned, equals: usage.uniqueBytes, comment)
                try expect(temporary.store.collect().byteCount, equals: usage.uniqueBytes, comment)
            case 8: _ = try temporary.put("loose \(step)")
            default: _ = try temporary.store.collect()
            }
            try compare(temporary, comment)
        }
        try expect(temporary.versions.check().findings, equals: [], "seed \(random.seed)")
        // Made again from the manifests, the counts are the same.
        let before = try temporary.versions.versions()
        Damage.remove(temporary.indexPath)
        try expect(temporary.reopened().versions(), equals: before, "seed \(random.seed)")
        try compare(temporary, "after a rebuild, seed \(random.seed)")
    }

    @Test func `what a version is missing, its retiring does not free`() throws {
        let temporary = try TemporaryStore()
        let source = try TemporaryStore(adding: "1", ["a": "never came"])
        try temporary.versions.register(source.versions.manifest(of: "1"))
        let unique = try temporary.versions.versions()[0].uniqueBytes
        try temporary.versions.retire("1")
        let freed = try temporary.store.collect().byteCount
        expect(freed, equals: 0)
        expect(unique, equals: freed)
    }

    @Test func `what comes later is kept by whoever names it then`() throws {
        let temporary = try TemporaryStore()
        let source = try TemporaryStore(adding: "1", ["a": "comes later"])
        try temporary.versions.register(source.versions.manifest(of: "1"))
        try expect(temporary.versions.versions().map(\.uniqueBytes), equals: [0])
        try temporary.add("2", ["b": "comes later"])
        try expect(temporary.versions.versions().map(\.uniqueBytes), equals: [0, 0])
        try temporary.versions.retire("2")
        try expect(temporary.versions.versions().map(\.uniqueBytes), equals: [11])
        try Damage.flip(temporary.objectPath(address(of: "comes later")), at: 0)
        try expect(temporary.versions.check(repairing: true).findings.isEmpty, equals: false)
        try expect(temporary.versions.versions().map(\.uniqueBytes), equals: [0])
        try expect(temporary.versions.check().findings, equals: [])
    }
}
