import StorageTestSupport

/// Damage in places where a check must not give up: executable copies, shards, strangers beside the shards.
@Suite struct OddPlacesTests {
    func makeStore() throws -> TemporaryStore {
        let temporary = try TemporaryStore(adding: "1", ["run": "#!executable", "a": "plain"])
        try expect(temporary.versions.check().findings, equals: [])
        return temporary
    }

    @Test(arguments: [480, 500, 512, 520, 1000, 3900])
    func `a store whose path is longer than SQLite takes is a store like any other`(
        length: Int
    ) throws {
        let directory = TemporaryDirectory()
        var path = directory.appending("s")
        while path.utf8.count + 1 < length {
            path += "/" + String(repeating: "d", count: min(200, length - path.utf8.count - 1))
        }
        for _ in 1...2 {
            let store = try VersionStore.create(at: path).versions
            try expect(store.versions().count, equals: 0)
            try expect(store.check().findings, equals: [])
        }
    }

    @Test(arguments: [
        String(repeating: "/d", count: 2100), "/" + String(repeating: "d", count: 256) + "/s",
    ])
    func `a path that no system takes is refused before anything of it is made`(
        end: String
    ) throws {
        let directory = TemporaryDirectory()
        let found = code { _ = try VersionStore.create(at: directory.appending("above") + end) }
        expect(found, equals: .tooLarge)
        expect(Damage.names(directory.appending(".")).filter { $0 == "above" }, equals: [])
    }

    @Test(arguments: [Damage.Stranger.emptyFile, .symbolicLink("/tmp"), .fifo])
    func `something else in place of a shard does not stop a check`(
        stranger: Damage.Stranger
    ) throws {
        let temporary = try makeStore()
        let path = try temporary.objectPath(address(of: "plain")) as NSString
        try Damage.replace(path.deletingLastPathComponent, by: stranger)
        var kinds: [Finding.Kind] = []
        let found = code { kinds = try temporary.versions.check().findings.map(\.kind) }
        expect(found == nil)
        expect(!kinds.isEmpty)
    }

    @Test func `a shard that is a symbolic link is not followed`() throws {
        let temporary = try makeStore()
        let address = try address(of: "plain")
        let shard = (temporary.objectPath(address) as NSString).deletingLastPathComponent
        let elsewhere = temporary.directory.appending("elsewhere")
        try FileManager.default.moveItem(atPath: shard, toPath: elsewhere)
        try Damage.replace(shard, by: .symbolicLink(elsewhere))
        var holds: Bool?
        _ = code { holds = try temporary.store.contains(address) }
        expect(holds != true)
    }

    @Test(arguments: ["README", "zz", "AB", "abc", "lost+found"])
    func `what is not castree's directly in objects is named`(name: String) throws {
        let temporary = try makeStore()
        try writeTree(temporary.path + "/objects", [name: "by hand"])
        try expect(temporary.versions.check().findings.map(\.kind), equals: [.strayFile])
        _ = try temporary.store.collect()
        try expect(Damage.contents(temporary.path + "/objects/" + name), equals: bytes("by hand"))
    }

    @Test func `bit-rot in the index file is named, and a repair makes it again`() throws {
        var random = SeededRandom()
        let temporary = try DerivedIndexTests.makeStore()
        let before = try Answers(temporary.reopened())
        let size = try Damage.contents(temporary.indexPath).count
        for _ in 0..<60 {
            let offset = Int.random(in: 0..<size, using: &random)
            let bit = UInt8.random(in: 0...7, using: &random)
            let comment: Comment = "bit \(bit) of byte \(offset), seed \(random.seed)"
            guard offset < (try Damage.contents(temporary.indexPath).count) else { continue }
            let path = temporary.indexPath
            try Damage.keepingTimes(of: path) { try Damage.flip(path, at: offset, bit: bit) }
            // A flip may look like another schema; then it is refused, and says what to do.
            let found = code { _ = try temporary.reopened().check(repairing: true) }
            guard found != .unsupportedFormat else {
                Damage.remove(path)
                continue
            }
            expect(found == nil, comment)
            let after = try Answers(temporary.reopened())
            expect(after.findings, equals: [], comment)
            expect(after.versions, equals: before.versions, comment)
            if after.versions != before.versions { Damage.remove(path) }
        }
        try expect(Answers(temporary.reopened()), equals: before, "seed \(random.seed)")
    }
}
