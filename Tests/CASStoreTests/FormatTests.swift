import StorageTestSupport

/// Making and opening: what is a store, and what is not.
@Suite struct FormatTests {
    func open(_ path: String) -> StoreError.Code? { code { _ = try VersionStore.open(path) } }

    @Test func `a new store has its parts and an empty answer to everything`() throws {
        let temporary = try TemporaryStore(isDurable: true)
        try expect(Damage.contents(temporary.path + "/FORMAT"), equals: bytes("castree 1\n"))
        let names = Set(try FileManager.default.contentsOfDirectory(atPath: temporary.path))
        expect(
            names.isSuperset(of: [
                "FORMAT", "objects", "staging", "manifests", "versions", "leases", "index.sqlite",
            ]))
        let versions = try temporary.reopened()
        try expect(versions.versions(), equals: [])
        try expect(versions.lifecycle(), equals: Lifecycle())
        try expect(versions.check().findings, equals: [])
        try expect(versions.store.usage().objects, equals: 0)
    }

    @Test func `a disk without hard links is refused before anything is on it`() throws {
        let directory = TemporaryDirectory()
        expectRefusal(.unsupported, saying: "no hard links") {
            _ = try Store.create(
                at: directory.appending("store"), options: StoreOptions(),
                manifests: StoredManifests(),
                fileSystem: FaultyFileSystem { $0.verb == .link ? $0.error(EPERM) : nil })
        }
        expect(Damage.names(directory.path), equals: [])
    }

    @Test func `nothing there, an empty directory and a lost FORMAT are no store`() throws {
        let directory = TemporaryDirectory()
        expect(open(directory.appending("nothing")), equals: .noStore)
        expect(open(directory.path), equals: .noStore)
        let temporary = try TemporaryStore()
        Damage.remove(temporary.path + "/FORMAT")
        expect(open(temporary.path), equals: .noStore)
    }

    @Test func `a file in place of the directory is no store`() throws {
        let directory = TemporaryDirectory()
        try Damage.replace(directory.appending("file"), by: .emptyFile)
        expect(open(directory.appending("file")), equals: .noStore)
        expect(open(directory.appending("file/store")) != nil)
        expect(code { _ = try VersionStore.create(at: directory.appending("file")) } != nil)
        expect(Damage.names(directory.path), equals: ["file"])
    }

    @Test(arguments: ["castree 2\n", "castree 1000000\n"])
    func `a newer format is refused, and says so`(text: String) throws {
        let temporary = try TemporaryStore()
        try Damage.overwrite(temporary.path + "/FORMAT", with: bytes(text))
        expect(open(temporary.path), equals: .unsupportedFormat)
        expect(code { _ = try VersionStore.create(at: temporary.path) }, equals: .unsupportedFormat)
        expectRefusal(saying: String(text.split(separator: " ")[1].dropLast())) {
            _ = try VersionStore.open(temporary.path)
        }
    }

    @Test(arguments: [
        "", "\n", "castree", "castree \n", "castree x\n", "castree 0\n", "castree -1\n",
        "castree 1 more\n", "Castree 1\n", "git 1\n", "castree 99999999999999999999\n", "1\n",
        "castree 1.0\n", "\0\0\0\0\0\0\0\0\0\0", "ref: refs/heads/main\n",
    ])
    func `garbage in FORMAT is refused`(text: String) throws {
        let temporary = try TemporaryStore()
        try Damage.overwrite(temporary.path + "/FORMAT", with: bytes(text))
        expect(open(temporary.path), equals: .unsupportedFormat)
        expect(code { _ = try VersionStore.create(at: temporary.path) }, equals: .unsupportedFormat)
    }

    @Test func `something that is not a file in place of FORMAT is refused, with a reason`()
        throws
    {
        for stranger in [Damage.Stranger.directory, .fifo, .symbolicLink("/etc/hostname")] {
            let temporary = try TemporaryStore()
            try Damage.replace(temporary.path + "/FORMAT", by: stranger)
            expect(open(temporary.path) != nil, "\(stranger)")
        }
        let temporary = try TemporaryStore()
        try Damage.extend(temporary.path + "/FORMAT", by: [UInt8](repeating: 10, count: 1 << 20))
        expect(open(temporary.path) != nil)
    }

    @Test func `an existing empty directory and missing parents become a store`() throws {
        let directory = TemporaryDirectory()
        try Damage.replace(directory.appending("empty"), by: .directory)
        try expect(VersionStore.create(at: directory.appending("empty")).isNew)
        try expect(VersionStore.create(at: directory.appending("a/b//c/")).isNew)
        expect(open(directory.appending("a/b/c")) == nil)
    }

    /// How a making goes wrong.
    enum Interruption: CaseIterable {
        case killed, refused, full

        func fault(at step: Int) -> FaultyFileSystem.Fault {
            switch self {
            case .killed: .stop(after: step)
            case .refused: .fail(EIO, at: step + 1)
            case .full: .fail(ENOSPC, at: step + 1, of: FaultyFileSystem.Verb.allocating)
            }
        }
    }

    @Test(arguments: Interruption.allCases)
    func `a making that stopped anywhere is finished by the next`(
        interruption: Interruption
    ) throws {
        let options = StoreOptions(reservedByteCount: 1 << 20)
        var steps = 0
        while true {
            let directory = TemporaryDirectory()
            let path = directory.appending("new/store")
            let disk = FaultyFileSystem()
            disk.arm(interruption.fault(at: steps))
            let last = code {
                let new = try VersionStore.create(at: path, options: options, fileSystem: disk)
                // As init does.
                _ = new.store.keepsModes
            }
            let hasFired = disk.hasFired
            let comment: Comment = "\(interruption) after \(steps):\n\(disk.trace)"
            // Half a store is none; a whole one may be used at once.
            let half = open(path)
            expect(half == .noStore || half == nil, comment)
            let versions = try VersionStore.create(at: path, options: options).versions
            try writeTree(directory.appending("source"), ["a": "one"])
            _ = try versions.add(directory: directory.appending("source"), version: "1")
            let findings = try VersionStore.open(path, options: options).check().findings
            expect(findings, equals: [], comment)
            // The next writer has removed what was tried.
            expect(Damage.names(path + "/staging"), equals: [], comment)
            let leases = Damage.names(path + "/leases")
            expect(!leases.contains { $0.hasPrefix(".new-") }, comment)
            if last == nil, !hasFired { break }
            steps += 1
        }
        expect(steps > (interruption == .full ? 5 : 20))
    }

    @Test(arguments: ["staging", "quarantine", "versions", "leases"])
    func `an empty directory that a copy has left out is made again`(name: String) throws {
        let temporary = try TemporaryStore()
        _ = try temporary.put("something")
        Damage.remove(temporary.path + "/" + name)
        let versions = try temporary.reopened()
        try expect(versions.check().findings, equals: [])
        try expect(versions.versions(), equals: [])
    }

    @Test func `a store that has lost its objects has them again from its trees`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "one"])
        Damage.remove(temporary.path + "/objects")
        try expect(temporary.reopened().check().findings.map(\.kind), equals: [.missingObject])
        try expect(temporary.reopened().check(repairing: true).findings.allSatisfy(\.isRepaired))
        try expect(temporary.reopened().check(CheckOptions(isDeep: true)).findings, equals: [])
    }

    @Test
    func
        `a store that has lost its manifests is refused until there is an empty directory for them`()
        throws
    {
        let temporary = try TemporaryStore(adding: "1", ["a": "one"])
        Damage.remove(temporary.path + "/manifests")
        expect(open(temporary.path), equals: .noStore)
        mkdir(temporary.path + "/manifests", 0o755)
        try expect(temporary.reopened().check(repairing: true).findings.allSatisfy(\.isRepaired))
        try expect(readTree(temporary.path + "/versions/1"), equals: ["a": "one"])
        try expect(temporary.reopened().check(CheckOptions(isDeep: true)).findings, equals: [])
    }
}
