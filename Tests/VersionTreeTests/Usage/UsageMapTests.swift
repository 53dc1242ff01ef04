import StorageTestSupport

@Suite("A usage map") struct UsageMapTests {
    /// A leaf and its path.
    struct Placed {
        var path: String
        var leaf: UsageMap.Leaf
    }

    /// The leaves with their paths, read as the columns are defined.
    func placed(_ map: UsageMap) -> [Placed] {
        var result: [Placed] = []
        var node = 0
        var leaf = 0
        func visit(_ above: [String], isRoot: Bool) {
            let here = map.nodes[node]
            node += 1
            if here.childCount == 0, !isRoot {
                result.append(
                    Placed(
                        path: (above + [here.name]).joined(separator: "/"), leaf: map.leaves[leaf]))
                leaf += 1
                return
            }
            for _ in 0..<here.childCount {
                visit(isRoot ? [] : above + [here.name], isRoot: false)
            }
        }
        if !map.nodes.isEmpty { visit([], isRoot: true) }
        expect(node, equals: map.nodes.count)
        expect(leaf, equals: map.leaves.count)
        return result
    }

    func shows(_ map: UsageMap, _ leaf: UsageMap.Leaf) -> Set<String> {
        Set(map.versionSets[leaf.versionSet].flatMap { $0.map { map.versions[$0] } })
    }

    @Test(arguments: 0..<12)
    func `shows each version's paths, sizes and sharing, and nothing else`(_ round: Int) throws {
        var random = SeededRandom(seed: UInt64(round) + 1)
        let temporary = try makeRandomStore(&random)
        let counted = try CountedByHand(temporary.versions)
        let map = try temporary.versions.map(of: counted.names)
        expect(map.versions, equals: counted.names.reversed())
        let leaves = placed(map)
        var found: [String: [String: Int64]] = [:]
        for each in leaves {
            for version in shows(map, each.leaf) {
                expect(found[version]?[each.path] == nil, "\(each.path) twice in \(version)")
                found[version, default: [:]][each.path] = each.leaf.byteCount
            }
        }
        for (name, manifest) in counted.manifests {
            var expected: [String: Int64] = [:]
            for entry in manifest.entries { expected[entry.path.description] = entry.byteCount }
            expect(found[name] ?? [:], equals: expected, "\(name), round \(round)")
        }
        // Each object once makes what the versions take.
        var homes: Set<Int> = []
        var total: Int64 = 0
        for each in leaves where each.leaf.references > 0 {
            if each.leaf.object > 0, !homes.insert(each.leaf.object).inserted { continue }
            total += each.leaf.byteCount
        }
        let usage = try temporary.store.usage()
        expect(total, equals: usage.objectBytes - usage.unreferencedBytes, "round \(round)")
        let unique = leaves.filter { $0.leaf.references == 1 }
        expect(unique.allSatisfy { shows(map, $0.leaf).count == 1 }, "round \(round)")
    }

    @Test func `puts the smallest files of a directory together where there are too many`() throws {
        let temporary = try TemporaryStore()
        var files: [String: String] = [:]
        for file in 0..<40 {
            files["d\(file % 2)/f\(file)"] = String(repeating: "x", count: file + 1)
        }
        try temporary.add("1", files)
        let map = try temporary.versions.map(of: ["1"], filesMax: 10)
        expect(map.leaves.count <= 13)
        expect(map.leaves.reduce(0) { $0 + $1.files }, equals: 40)
        expect(map.leaves.reduce(0) { $0 + $1.byteCount }, equals: 820)
        let leaves = placed(map)
        let piles = leaves.filter { $0.leaf.files > 1 }
        expect(piles.allSatisfy { ["d0/", "d1/"].contains($0.path) })
        expect(leaves.filter { $0.leaf.files == 1 }.map(\.leaf.byteCount).min() ?? 0 > 30)
    }

    @Test func `leaves the oldest versions out where there are too many entries`() throws {
        let temporary = try TemporaryStore()
        for version in 1...4 { try temporary.add("\(version)", ["a": "\(version)", "b": "b"]) }
        let map = try temporary.versions.map(of: ["4", "3", "2", "1"], entriesMax: 5)
        expect(map.versions, equals: ["3", "4"])
        expect(map.omittedVersionCount, equals: 2)
        expect(placed(map).first { $0.path == "b" }?.leaf.references, equals: 4)
    }

    @Test func `joins the runs of a path that went and came back`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "one", "b": "b"])
        try temporary.add("2", ["b": "b"])
        try temporary.add("3", ["a": "one", "b": "b"])
        try temporary.add("4", ["a": "one", "b": "b"])
        let map = try temporary.versions.map(of: ["4", "3", "2", "1"])
        let leaf = try require(placed(map).first { $0.path == "a" }?.leaf)
        expect(map.versionSets[leaf.versionSet], equals: [0...0, 2...3])
        expect(leaf.references, equals: 3)
    }
}
