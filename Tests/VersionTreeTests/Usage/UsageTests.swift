import StorageTestSupport

extension VersionStore {
    /// The largest objects and where they are shown, of a survey.
    func largest(_ count: Int, entriesReadMax: Int = .max) throws(StoreError) -> [LargestEntry] {
        var options = SurveyOptions()
        options.largestMax = count
        options.entriesReadMax = entriesReadMax
        return try survey(options).largest
    }
}

/// What the manifests say, added up the slow way.
struct CountedByHand {
    var names: [String] = []  // newest first
    var manifests: [String: Manifest] = [:]
    var naming: [ObjectID: Set<String>] = [:]
    var sizes: [ObjectID: Int64] = [:]
    var present: Set<ObjectID> = []

    init(_ versions: VersionStore) throws {
        for summary in try versions.versions() {
            let manifest = try versions.manifest(of: summary.version)
            names.append(summary.version)
            manifests[summary.version] = manifest
            for entry in manifest.entries {
                naming[entry.address, default: []].insert(summary.version)
                sizes[entry.address] = entry.byteCount
                if try versions.store.contains(entry.address) { present.insert(entry.address) }
            }
        }
    }

    func objects(of version: String) -> Set<ObjectID> {
        Set(naming.filter { $0.value.contains(version) }.keys)
    }

    func bytes(_ objects: some Sequence<ObjectID>) -> Int64 {
        objects.reduce(0) { $0 + (sizes[$1] ?? 0) }
    }

    func freed(retiring chosen: Set<String>) -> Set<ObjectID> {
        Set(naming.filter { present.contains($0.key) && $0.value.isSubset(of: chosen) }.keys)
    }
}

/// Makes a store of a few versions that share much: some retired, some incomplete.
func makeRandomStore(_ random: inout SeededRandom) throws -> TemporaryStore {
    let temporary = try TemporaryStore()
    var names: [String] = []
    for step in 0..<Int.random(in: 2...9, using: &random) {
        var files: [String: String] = [:]
        for file in 0..<Int.random(in: 1...14, using: &random) {
            let content = Int.random(in: 0..<30, using: &random)
            let folder = ["", "a/", "a!/", "a/b/", "c/d/e/"].randomElement(using: &random) ?? ""
            let ending = ["", ".js", ".JS", ".tar.gz"].randomElement(using: &random) ?? ""
            files["\(folder)f\(file)\(ending)"] = String(repeating: "\(content),", count: content)
        }
        if Int.random(in: 0..<5, using: &random) == 0 {
            try temporary.versions.register(makeManifest("v\(step)", files, ordinal: 0))
        } else {
            try temporary.add("v\(step)", files)
        }
        names.append("v\(step)")
        if Int.random(in: 0..<6, using: &random) == 0, names.count > 1 {
            try temporary.versions.retire(names.removeFirst())
        }
        if Int.random(in: 0..<4, using: &random) == 0 { _ = try temporary.store.collect() }
    }
    return temporary
}

extension TemporaryStore {
    var store: Store { versions.store }
}

@Suite("Usage") struct UsageTests {
    static let rounds = 0..<12

    @Test(arguments: rounds)
    func `agrees with what the manifests say, version by version`(_ round: Int) throws {
        var random = SeededRandom(seed: UInt64(round) + 1)
        let temporary = try makeRandomStore(&random)
        let counted = try CountedByHand(temporary.versions)
        let survey = try temporary.versions.survey()
        expect(survey.versions.map(\.version), equals: counted.names, "round \(round)")
        for usage in survey.versions {
            let comment: Comment = "\(usage.version), round \(round)"
            let objects = counted.objects(of: usage.version)
            let there = objects.intersection(counted.present)
            let unique = there.filter { counted.naming[$0] == [usage.version] }
            expect(usage.files, equals: counted.manifests[usage.version]?.count, comment)
            expect(
                usage.apparentBytes,
                equals: counted.manifests[usage.version]?.entries.reduce(0) { $0 + $1.byteCount },
                comment)
            expect(usage.uniqueBytes, equals: counted.bytes(unique), comment)
            expect(usage.sharedBytes, equals: counted.bytes(there.subtracting(unique)), comment)
            expect(usage.missingBytes, equals: counted.bytes(objects.subtracting(there)), comment)
            // Asked for alone, the same.
            try expect(temporary.versions.usage(of: [usage.version]), equals: [usage], comment)
        }
        try expect(temporary.versions.usage(), equals: survey.versions)
    }

    @Test(arguments: rounds)
    func `tells how the store grew and what versions have in common`(_ round: Int) throws {
        var random = SeededRandom(seed: UInt64(round) + 1)
        let temporary = try makeRandomStore(&random)
        let counted = try CountedByHand(temporary.versions)
        let survey = try temporary.versions.survey()
        expect(survey.growth.map(\.version), equals: counted.names.reversed())
        var (seen, apparent) = (Set<ObjectID>(), Int64(0))
        for point in survey.growth {
            let objects = counted.objects(of: point.version).intersection(counted.present)
            apparent += try require(counted.manifests[point.version]).byteCount
            let fresh = objects.subtracting(seen)
            expect(point.newBytes, equals: counted.bytes(fresh), "round \(round)")
            seen.formUnion(objects)
            expect(point.objectBytes, equals: counted.bytes(seen), "round \(round)")
            expect(point.apparentBytes, equals: apparent, "round \(round)")
        }
        for (row, one) in survey.sharing.versions.enumerated() {
            for (column, other) in survey.sharing.versions.enumerated() {
                let common = counted.objects(of: one).intersection(counted.objects(of: other))
                    .intersection(counted.present)
                expect(
                    survey.sharing[row, column], equals: counted.bytes(common),
                    "\(one) and \(other), round \(round)")
            }
        }
    }

    @Test(arguments: rounds)
    func `knows what a set of versions would free together`(_ round: Int) throws {
        var random = SeededRandom(seed: UInt64(round) + 1)
        let temporary = try makeRandomStore(&random)
        let counted = try CountedByHand(temporary.versions)
        let chosen = counted.names.filter { _ in Bool.random(using: &random) }
        guard !chosen.isEmpty else { return }
        let retirement = try temporary.versions.retirement(of: chosen)
        let expected = counted.freed(retiring: Set(chosen))
        expect(retirement.versions, equals: chosen, "round \(round)")
        expect(retirement.bytes, equals: counted.bytes(expected), "round \(round)")
        expect(retirement.objects, equals: expected.count, "round \(round)")
        // And it comes true.
        _ = try temporary.store.collect()
        for name in chosen { try temporary.versions.retire(name) }
        try expect(temporary.store.collect().byteCount, equals: retirement.bytes, "round \(round)")
    }

    @Test(arguments: rounds)
    func `adds up directories and types`(_ round: Int) throws {
        var random = SeededRandom(seed: UInt64(round) + 1)
        let temporary = try makeRandomStore(&random)
        let counted = try CountedByHand(temporary.versions)
        let name = try require(counted.names.randomElement(using: &random))
        let entries = Array(try require(counted.manifests[name]).entries)
        func expectUsage(_ usage: PathUsage, _ members: [Manifest.Entry]) {
            let comment: Comment = "\"\(usage.name)\" of \(name), round \(round)"
            let objects = Set(members.map(\.address))
            let there = objects.intersection(counted.present)
            let unique = there.filter { counted.naming[$0] == [name] }
            expect(usage.files, equals: members.count, comment)
            expect(usage.apparentBytes, equals: members.reduce(0) { $0 + $1.byteCount }, comment)
            expect(usage.uniqueBytes, equals: counted.bytes(unique), comment)
            expect(usage.sharedBytes, equals: counted.bytes(there.subtracting(unique)), comment)
            expect(usage.missingBytes, equals: counted.bytes(objects.subtracting(there)), comment)
        }
        let directories = try temporary.versions.usage(of: name, by: .directory)
        expect(Set(directories.map(\.name)).count, equals: directories.count)
        expect(directories.first?.name, equals: "")
        for usage in directories {
            expectUsage(
                usage,
                entries.filter {
                    usage.name.isEmpty || $0.path.description.hasPrefix(usage.name + "/")
                })
        }
        let types = try temporary.versions.usage(of: name, by: .type)
        expect(types.reduce(0) { $0 + $1.files }, equals: entries.count)
        for usage in types {
            expect(["", "js", "gz"].contains(usage.name))
            expectUsage(
                usage,
                entries.filter {
                    let path = $0.path.description.lowercased()
                    return usage.name.isEmpty
                        ? !path.contains(".") : path.hasSuffix("." + usage.name)
                })
        }
    }

    @Test func `calls a file by its last extension, and a hidden file by none`() throws {
        let temporary = try TemporaryStore()
        try temporary.add(
            "1",
            [".profile": "a", "x.": "bc", "a.b/c": "def", "d.PNG": "ghij", "e.tar.gz": "klmno"])
        let types = try temporary.versions.usage(of: "1", by: .type)
        expect(types.map(\.name), equals: ["", "gz", "png"])
        expect(types.map(\.files), equals: [3, 1, 1])
    }

    @Test("finds where the largest objects are shown, with every path or with some of each")
    func largest() throws {
        let temporary = try TemporaryStore()
        for version in ["1", "2", "3"] {
            try temporary.add(
                version, ["big": "a large one", "copy/big": "a large one", version: version])
        }
        let all = try require(try temporary.versions.largest(1).first)
        expect(all.object.references, equals: 3)
        expect(
            all.paths,
            equals: ["3:big", "3:copy/big", "2:big", "2:copy/big", "1:big", "1:copy/big"])
        expect(all.arePathsComplete)
        let some = try require(try temporary.versions.largest(1, entriesReadMax: 0).first)
        expect(some.paths, equals: ["3:big", "3:copy/big"])
        expect(!some.arePathsComplete)
    }

    @Test func `refuses versions that are not there, and says which cannot go`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "1"])
        try temporary.add("2", ["a": "2"])
        try temporary.versions.activate("2")
        expectRefusal(.noVersion) { try temporary.versions.usage(of: ["3"]) }
        expectRefusal(.noVersion) { try temporary.versions.retirement(of: ["1", "3"]) }
        var options = SurveyOptions()
        options.versions = ["3"]
        expectRefusal(.noVersion) { try temporary.versions.survey(options) }
        let refused = try temporary.versions.retirement(of: ["1", "2"]).refused
        expect(refused.map(\.version), equals: ["2"])
        try expect(temporary.versions.survey().kept.map(\.version), equals: ["2"])
    }

    @Test func `judges a set together: one version stays that can be gone back to`() throws {
        let temporary = try TemporaryStore()
        let versions = temporary.versions
        for name in ["A", "B", "C"] {
            try temporary.add(name, ["a": name])
            try versions.activate(name)
            if name != "C" { try versions.confirm(name, token: versions.boot().token) }
        }
        try expect(versions.lifecycle().knownGood, equals: ["B", "A"])
        try expect(versions.survey().usableGood, equals: ["B", "A"])
        for name in ["A", "B"] {
            try expect(versions.retirement(of: [name]).refused.isEmpty)
        }
        let both = try versions.retirement(of: ["A", "B"])
        expect(both.refused.map(\.version), equals: ["B"])
        expect(both.refused.first?.reason, equals: "it would be the last known good version")
        // And so it is.
        try versions.retire("A")
        expectRefusal(.versionInUse) { try versions.retire("B") }
        try expect(versions.retirement(of: ["B"]).refused.map(\.version), equals: ["B"])
        // With the current one confirmed there is something else to go back to.
        try versions.confirm("C", token: versions.boot().token)
        try expect(versions.retirement(of: ["B"]).refused.isEmpty)
    }

    @Test func `bounds the matrix to the newest versions`() throws {
        let temporary = try TemporaryStore()
        for version in 1...5 { try temporary.add("\(version)", ["a": "\(version)"]) }
        var options = SurveyOptions()
        options.sharingMax = 2
        let sharing = try temporary.versions.survey(options).sharing
        expect(sharing.versions, equals: ["5", "4"])
        expect(sharing.omittedCount, equals: 3)
    }

    @Test func `is nothing in an empty store`() throws {
        let temporary = try TemporaryStore()
        let survey = try temporary.versions.survey()
        expect(survey.versions.isEmpty && survey.growth.isEmpty && survey.largest.isEmpty)
        expect(survey.store.objectBytes == 0 && survey.store.ratio == 1)
    }
}
