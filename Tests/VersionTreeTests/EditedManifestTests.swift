import StorageTestSupport

/// A whole version is what was registered: another manifest in its place is named, and nothing is made
/// from it until somebody says that it counts.
@Suite("A manifest that somebody edited") struct EditedManifestTests {
    /// How the file came to say something else.
    enum Way: CaseIterable { case inPlace, replaced }

    static let edits: [(name: String, of: @Sendable (String) throws -> String)] = [
        ("exchanges two contents", { try exchanged($0) }),
        ("renames a path", { $0.replacing("\"a\"", with: "\"aa\"") }),
        ("names other content", { $0.replacing(try address("one"), with: try address("six")) }),
        ("says another time", { $0.replacing("\"createdAt\":", with: "\"createdAt\":1") }),
        ("adds a field", { $0.replacing("\"order\":", with: "\"note\":1,\"order\":") }),
    ]

    static func address(_ text: String) throws -> String {
        var hasher = try ObjectHasher()
        return Array(text.utf8).withUnsafeBytes { hasher.hash($0).address }.description
    }

    private static func exchanged(_ text: String) throws -> String {
        let (one, other) = (try address("one"), try address("two"))
        return text.replacing(one, with: "-").replacing(other, with: one)
            .replacing("\"-\"", with: "\"\(other)\"")
    }

    /// A store whose version 1 has been edited, and what its manifest said before.
    func edited(
        _ edit: (String) throws -> String, _ way: Way
    ) throws -> (temporary: TemporaryStore, before: [UInt8]) {
        let temporary = try TemporaryStore(adding: "1", ["a": "one", "b": "two"])
        try temporary.add("2", ["a": "six"])
        try temporary.versions.activate("1")
        let path = manifest(temporary)
        let before = try Damage.contents(path)
        let text = String(decoding: before, as: UTF8.self)
        let after = try edit(text)
        try require(after != text)
        switch way {
        case .inPlace: try Damage.overwrite(path, with: Array(after.utf8))
        case .replaced: try writeFile(path, after)
        }
        return (temporary, before)
    }

    func manifest(_ temporary: TemporaryStore) -> String { temporary.path + "/manifests/1.json" }

    @Test(arguments: edits.indices, Way.allCases)
    func `is a finding that no repair takes for the truth`(_ edit: Int, _ way: Way) throws {
        let (temporary, before) = try edited(Self.edits[edit].of, way)
        let kept = try Damage.contents(manifest(temporary))
        // What a look finds, too, without reading what has not been touched.
        let evident = try temporary.reopened().evidentFindings()
        expect(
            evident.map { "\($0.kind) \($0.version ?? "")" }, equals: ["editedManifest 1"],
            "\(evident)")
        for repairing in [false, true, false] {
            let found = try temporary.reopened().check(repairing: repairing).findings
            expect(found.map(\.kind), equals: [.editedManifest], "\(found.map(\.message))")
            expect(found.map(\.version) == ["1"] && found.map(\.path) == ["manifests/1.json"])
            expect(found.allSatisfy { !$0.isRepaired })
            expect(found.first?.message.contains("retire"), equals: true)
        }
        // The tree is what it was, and so is the file.
        try expect(readTree(temporary.tree("1")), equals: ["a": "one", "b": "two"])
        try expect(Damage.contents(manifest(temporary)), equals: kept)
        // Back from a copy, all is well.
        try writeFile(manifest(temporary), String(decoding: before, as: UTF8.self))
        try temporary.expectClean()
    }

    @Test(arguments: Way.allCases)
    func `makes no tree, no checkout and no garbage`(_ way: Way) throws {
        let (temporary, _) = try edited(Self.edits[2].of, way)
        try temporary.versions.activate("2")
        shell("chmod -R u+w \(temporary.tree("1")) && rm -rf \(temporary.tree("1"))")
        let versions = try temporary.reopened()
        expectRefusal(.badManifest) { try versions.materialize("1") }
        expectRefusal(.badManifest) {
            try versions.checkout("1", to: temporary.directory.appending("out"))
        }
        // What it needs is in doubt.
        expectRefusal(.index) { try versions.store.collect() }
        try expect(versions.store.contains(require(ObjectID(Self.address("one")))))
    }

    @Test(arguments: Way.allCases)
    func `does not keep an index from being mended`(_ way: Way) throws {
        let (temporary, _) = try edited(Self.edits[0].of, way)
        try Damage.flip(temporary.objectPath(require(ObjectID(Self.address("six")))), at: 0)
        let found = try temporary.reopened().check(repairing: true).findings
        expect(
            Set(found.map(\.kind)) == [.editedManifest, .damagedObject, .wrongInTree]
                || Set(found.map(\.kind)) == [.editedManifest, .damagedObject])
        try expect(readTree(temporary.tree("1")), equals: ["a": "one", "b": "two"])
    }

    @Test(arguments: Way.allCases)
    func `goes with its version, which can come again`(_ way: Way) throws {
        let (temporary, _) = try edited(Self.edits[0].of, way)
        try temporary.versions.activate("2")
        try temporary.reopened().retire("1")
        try temporary.expectClean()
        try temporary.add("1", ["a": "one", "b": "two"])
        try expect(readTree(temporary.tree("1")), equals: ["a": "one", "b": "two"])
        try temporary.expectClean()
    }

    @Test func `counts when the index is deleted, which is how somebody says so`() throws {
        let (temporary, _) = try edited(Self.edits[0].of, .inPlace)
        Damage.remove(temporary.path + "/index.sqlite")
        let found = try temporary.reopened().check(repairing: true).findings
        expect(Set(found.map(\.kind)) == [.wrongInTree] && found.allSatisfy(\.isRepaired))
        try expect(readTree(temporary.tree("1")), equals: ["a": "two", "b": "one"])
        try temporary.expectClean()
    }

    @Test
    func `of an incomplete version is what the version waits for: it may be revised`() throws {
        let temporary = try TemporaryStore()
        try temporary.versions.register(makeManifest("1", ["a": "one"], ordinal: 1))
        let path = manifest(temporary)
        let text = String(decoding: try Damage.contents(path), as: UTF8.self)
        try writeFile(path, text.replacing("\"a\"", with: "\"aa\""))
        try temporary.expectClean()
        try expect(
            temporary.reopened().manifest(of: "1").entries.map(\.path.description), equals: ["aa"])
    }

    static let spellings: [(name: String, of: @Sendable (String) -> String)] = [
        ("white space", { $0 + "\n" }),
        (
            "order",
            { "{\"version\":\"1\"," + $0.dropFirst().replacing(",\"version\":\"1\"", with: "") }
        ),
        (
            "defaults",
            { $0.replacing("\"path\":\"a\"", with: "\"executable\":false,\"path\":\"a\"") }
        ),
    ]

    @Test(arguments: spellings.indices)
    func `only in how it is written is registered as it stands`(_ spelling: Int) throws {
        let (temporary, _) = try edited(Self.spellings[spelling].of, .inPlace)
        let text = try Damage.contents(manifest(temporary))
        Damage.remove(temporary.path + "/index.sqlite")
        let versions = try temporary.reopened()
        for _ in 0..<2 {
            try versions.add(directory: temporary.directory.appending("source-1"), version: "1")
            try expect(Damage.contents(manifest(temporary)), equals: text)
            try temporary.expectClean()
            try versions.activate("2")
            temporary.unlock(temporary.tree("1"))
            expect(shell("rm -rf '\(temporary.tree("1"))'"), equals: 0)
            try temporary.reopened().materialize("1")
            try expect(readTree(temporary.tree("1")), equals: ["a": "one", "b": "two"])
        }
        try temporary.expectClean()
    }

    @Test(
        "is none where a version is retired and added again while an add shows it anew",
        arguments: [false, true])
    func race(isDamaged: Bool) throws {
        let temporary = try TemporaryStore(adding: "0", ["a": "zero"])
        try temporary.add("1", ["a": "one", "b": "two"])
        let source = temporary.directory.appending("source-1")
        let other = try temporary.reopened()
        if isDamaged { try writeFile(manifest(temporary), "{") }
        let operations = Shared(0)
        let failures = Shared<[String]>([])
        let versions = try opened(temporary) { verb, path in
            // The manifest stands, and the tree takes its place.
            guard verb == "renameNew", path == "1", operations.with({ $0 == 0 }) else { return }
            operations.with { $0 = 1 }
            do {
                try other.retire("1")
                var options = AddOptions()
                options.createdAt = 7
                try other.add(directory: source, version: "1", options: options)
            } catch { failures.with { $0.append("\(error)") } }
        }
        try versions.add(directory: source, version: "1")
        expect(failures.with { $0 }, equals: [])
        expect(operations.with { $0 }, equals: 1)
        try expect(versions.manifest(of: "1").createdAt, equals: 7)
        try expect(
            temporary.reopened().versions().first { $0.version == "1" }?.createdAt, equals: 7)
        try expect(readTree(temporary.tree("1")), equals: ["a": "one", "b": "two"])
        try temporary.expectClean()
    }

    private func opened(
        _ temporary: TemporaryStore, before: @escaping @Sendable (String, String) -> Void
    ) throws -> VersionStore {
        try temporary.opened(on: InterposedFileSystem(before: before))
    }

    @Test
    func `does not keep another version from being added that completes the edited one`() throws {
        let temporary = try TemporaryStore()
        try temporary.versions.register(makeManifest("1", ["a": "one"], ordinal: 1))
        let text = String(decoding: try Damage.contents(manifest(temporary)), as: UTF8.self)
        try Damage.overwrite(
            manifest(temporary), with: Array(text.replacing("\"a\"", with: "\"aa\"").utf8))
        try expect(temporary.add("2", ["b": "one"]).healed, equals: [])
        try expect(
            temporary.versions.versions().first { $0.version == "1" }?.state, equals: .incomplete)
        try expect(readTree(temporary.tree("2")), equals: ["b": "one"])
        try expect(!temporary.versions.isMaterialized("1"))
    }

    @Test func `after it became complete, by another add, is none of that add's failures`() throws {
        let temporary = try TemporaryStore()
        try temporary.versions.register(makeManifest("1", ["a": "one"], ordinal: 1))
        let source = temporary.directory.appending("source")
        try writeTree(source, ["b": "one"])
        let path = manifest(temporary)
        let hasActed = Shared(false)
        let versions = try opened(temporary) { verb, name in
            // Its tree is asked for: it is complete, and about to be made.
            guard verb == "status", name == "1", !hasActed.with({ $0 }) else { return }
            hasActed.with { $0 = true }
            #expect(throws: Never.self) { try Damage.extend(path, by: [10]) }
        }
        let report = try versions.add(directory: source, version: "2")
        expect(hasActed.with { $0 })
        expect(report.healed, equals: [])
        try expect(readTree(temporary.tree("2")), equals: ["b": "one"])
        try expect(temporary.reopened().check().findings.map(\.kind), equals: [.editedManifest])
    }

    @Test func `does not keep a repair from fetching what the version is missing`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "one", "b": "two"])
        try temporary.add("2", ["a": "one"])
        let one = try require(ObjectID(Self.address("one")))
        try Damage.flip(temporary.objectPath(one), at: 0)
        _ = try temporary.versions.check(repairing: true)
        let path = manifest(temporary)
        let report = try temporary.versions.repair(
            from: RepairSource { (_) throws(StoreError) in
                let lease = try temporary.versions.store.makeLease()
                _ = try temporary.versions.store.put(Array("one".utf8), protectedBy: lease)
                #expect(throws: Never.self) { try Damage.extend(path, by: [10]) }
                return [one]
            }, proceeds: { _ in true })
        expect(report.findings.contains { $0.kind == .incompleteVersion && $0.isRepaired })
        try expect(readTree(temporary.tree("2")), equals: ["a": "one"])
    }

    @Test(
        "because an add was killed that replaced a damaged one goes with the next add of that content"
    )
    func killed() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "one", "b": "two"])
        let source = temporary.directory.appending("source-1")
        try writeFile(manifest(temporary), "{")
        // When its manifest has taken the place of the one that was there.
        let (disk, versions) = try temporary.openedOnFaultyDisk()
        disk.arm(.stop(after: 1, of: [.rename], path: "/manifests/1.json"))
        #expect(throws: StoreError.self) { try versions.add(directory: source, version: "1") }
        expect(disk.hasFired)
        let found = try temporary.reopened().check().findings
        let edited = try require(found.first { $0.kind == .editedManifest })
        expect(edited.message.contains("add the same content again"))
        try temporary.reopened().add(directory: source, version: "1")
        _ = try temporary.reopened().store.collect()
        try expect(readTree(temporary.tree("1")), equals: ["a": "one", "b": "two"])
        try temporary.expectClean()
    }
}
