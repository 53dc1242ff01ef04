import StorageTestSupport

/// State on disk that no castree has written.
@Suite("A store with a stranger's state") struct HostileStoreTests {
    private func victim() throws -> TamperingTests.Victim { try TamperingTests.Victim() }

    @Test func `refuses a manifest beyond a GiB before it reads it`() throws {
        let victim = try victim()
        // Sparse: it costs nothing to make, and would cost two GiB to read.
        try Damage.overwriteOrCreate(victim.path("manifests/huge.json"), with: [])
        try require(truncate(victim.path("manifests/huge.json"), 2 << 30) == 0)
        let versions = try victim.place.open()
        expectRefusal(.tooLarge) { _ = try versions.manifest(of: "huge") }
        try expect(versions.versions().map(\.version).sorted(), equals: ["0", "1", "2"])
        #expect(throws: StoreError.self) { try versions.store.collect() }
    }

    @Test(arguments: [0, 1, Int64(UInt32.max), 4_291_747_200, 253_402_300_799])
    func `continues in any year`(_ year: Int64) throws {
        let victim = try victim()
        let versions = try victim.place.open()
        try writeTree(victim.place.beside + "/timed", ["a": "of the year \(year)"])
        var options = AddOptions()
        options.createdAt = year
        try versions.add(
            directory: victim.place.beside + "/timed", version: "timed", options: options)
        // The newest is the one that came last, whatever its time says.
        try expect(versions.versions().first?.version, equals: "timed")
        try expect(versions.versions().first?.createdAt, equals: year)
        try versions.store.collect()
        try expect(versions.check(CheckOptions(isDeep: true)).findings, equals: [])
    }

    @Test(arguments: [
        "objects/ab/CDEF", "objects/ab/" + String(repeating: "a", count: 61),
        "objects/ab/" + String(repeating: "a", count: 63),
        "objects/ab/" + String(repeating: "A", count: 62),
        "objects/ab/" + String(repeating: "a", count: 62) + ".y",
    ])
    func `takes nothing for an address that is not spelled as one`(_ name: String) throws {
        let victim = try victim()
        mkdir(victim.path("objects/ab"), 0o755)
        try Damage.overwriteOrCreate(victim.path(name), with: [1])
        let versions = try victim.place.open()
        try expect(versions.check().findings.map(\.kind), equals: [.strayFile])
        try versions.store.collect()
        expect(FileManager.default.fileExists(atPath: victim.path(name)))
    }

    @Test func `takes a folder of very many names, and shows and forgets it`() throws {
        let victim = try victim()
        let count = TestShare.isWhole ? 100_000 : 20_000
        let source = victim.place.beside + "/many"
        mkdir(source, 0o755)
        for number in 0..<count {
            let file = open("\(source)/\(number)", O_CREAT | O_WRONLY, 0o644)
            _ = write(file, "same", 4)
            close(file)
        }
        let versions = try victim.place.open()
        let report = try versions.add(directory: source, version: "many")
        expect(report.files == count && report.newObjects == 1)
        expect(Damage.names(victim.path("versions/many")).count, equals: count)
        try expect(versions.check().findings, equals: [])
        try versions.retire("many")
        expect(!FileManager.default.fileExists(atPath: victim.path("versions/many")))
    }

    @Test func `takes a stray tree of some hundred levels away`() throws {
        let victim = try victim()
        let depth = 500
        mkdir(victim.path("versions/7"), 0o755)
        var level = open(victim.path("versions/7"), O_RDONLY)
        for _ in 0..<depth {
            mkdirat(level, "d", 0o755)
            let next = openat(level, "d", O_RDONLY)
            close(level)
            level = next
        }
        close(level)
        try expect(
            victim.place.open().check(repairing: true).findings.map(\.kind), equals: [.strayTree])
        expect(!FileManager.default.fileExists(atPath: victim.path("versions/7")))
        try expect(victim.place.open().check().findings, equals: [])
    }

    @Test func `that is copied to another place is the same store`() throws {
        let victim = try victim()
        let copy = victim.place.moved(to: victim.directory.appending("copy"))
        mkdir(copy.root, 0o755)
        try FileManager.default.copyItem(atPath: victim.place.store, toPath: copy.store)
        let versions = try copy.open()
        try expect(versions.versions().map(\.version).sorted(), equals: ["0", "1", "2"])
        try expect(versions.lifecycle().current, equals: "1")
        // A copy has lost its hard links, which a check of the trees may mend.
        _ = try versions.check(repairing: true)
        try expect(copy.open().check(CheckOptions(isDeep: true)).findings, equals: [])
    }
}
