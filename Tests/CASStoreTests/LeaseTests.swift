import StorageTestSupport

/// Leases: a running writer is waited for, a dead one is cleaned up after.
@Suite struct LeaseTests {
    private let temporary: TemporaryStore

    init() throws { temporary = try TemporaryStore() }

    /// The registration of a version of one file with each of the texts.
    func registration(_ name: String, _ texts: [String]) throws -> Registration {
        let entries = try texts.map { text in
            Manifest.Entry(
                path: try TreePath(text), address: try address(of: text),
                byteCount: Int64(text.utf8.count))
        }
        let manifest = try Manifest(
            version: VersionName(name), ordinal: 1, createdAt: 1, entries: entries)
        return try manifest.registration(manifest: address(of: "manifest of \(name)"))
    }

    @Test func `a lease is a locked file in leases that goes with it`() throws {
        let other = try temporary.reopened().store
        do {
            let lease = try temporary.store.makeLease()
            let name = lease.name
            expect(Damage.names(temporary.path + "/leases").contains(name))
            try expect(other.leases().running, equals: [name])
            try expect(other.leases().dead, equals: [])
        }
        try expect(other.leases().running, equals: [])
        expect(Damage.names(temporary.path + "/leases").filter { !$0.hasPrefix(".") }, equals: [])
    }

    @Test
    func `the locks of pulls that were killed go with a collection, those of living ones stay`()
        throws
    {
        let leases = temporary.path + "/leases/"
        let dead = [
            StoreLayout.pullLock("1"), StoreLayout.fetchLock(try address(of: "a")),
            StoreLayout.pullLock("a name with spaces"),
        ]
        for name in dead { try Damage.replace(leases + name, by: .emptyFile) }
        let living = try temporary.store.openLock(StoreLayout.pullLock("2"))
        try temporary.store.waitForLock(living.raw, exclusive: false)
        _ = try temporary.reopened().collect()
        let left = Damage.names(leases).filter { $0.hasPrefix(".pull-") || $0.hasPrefix(".fetch-") }
        expect(left, equals: [StoreLayout.pullLock("2")])
    }

    // Who cleans up looks whether a stray file is the last copy of something: not by reading what no version can name.
    @Test(.timeLimit(.minutes(60)), arguments: ["x", "serve-1", "1.json"])
    func `a huge file among the leases keeps nobody from cleaning up`(_ name: String) throws {
        let temporary = try TemporaryStore(adding: "0", ["index.html": "zero"])
        let path = temporary.path + "/leases/" + name
        try Damage.replace(path, by: .emptyFile)
        expect(truncate(path, 300 << 30), equals: 0)
        _ = try temporary.reopened().collect()
        expect(!FileManager.default.fileExists(atPath: path))
    }

    // The directory of a writer that is none: a stray file, or what somebody put in its place.
    @Test(arguments: ["file", "link", "fifo"])
    func `what stands in place of a dead writer's directory keeps nobody from writing`(
        _ kind: String
    ) throws {
        let place = temporary.path + "/staging/foo"
        try Damage.replace(temporary.path + "/leases/foo", by: .emptyFile)
        switch kind {
        case "file": try Data("x".utf8).write(to: URL(filePath: place))
        case "link": expect(symlink("/etc", place), equals: 0)
        default: expect(mkfifo(place, 0o644), equals: 0)
        }
        try temporary.add("0", ["index.html": "zero"])
        let again = try temporary.reopened()
        _ = try again.collect()
        try again.retire("0")
        _ = try again.check(repairing: true)
        try expect(temporary.reopened().check().findings.filter { !$0.isRepaired }.count <= 1)
    }

    @Test func `two leases have two names`() throws {
        let first = try temporary.store.makeLease()
        let second = try temporary.store.makeLease()
        let (left, right) = (first.name, second.name)
        expect(left != right)
    }

    @Test func `the reservation of a running lease protects, until the lease ends`() throws {
        let reserved = try temporary.put("claimed")
        let loose = try temporary.put("loose")
        let other = try temporary.reopened().store
        do {
            let lease = try other.makeLease()
            _ = try other.reserve(registration("1", ["claimed"]), lease: lease)
            try expect(temporary.store.planCollection().objects.map(\.address), equals: [loose])
            try expect(temporary.store.collect().objectCount, equals: 1)
            try expect(temporary.store.contains(reserved))
            // A reservation is no version.
            try expect(temporary.versions.versions().count, equals: 0)
            try expect(temporary.versions.check().findings, equals: [])
        }
        try expect(temporary.store.collect().objectCount, equals: 1)
        try expect(temporary.store.contains(reserved), equals: false)
    }

    /// A writer that has reserved and published, and was killed before it could record anything.
    func killedWriter(_ temporary: TemporaryStore) throws {
        let source = temporary.directory.appending("source")
        try writeTree(source, ["a": "published", "b": "published, too"])
        let disk = FaultyFileSystem()
        let markedForDeletion = try temporary.reopened(on: disk, isDurable: false)
        // The shards are there, so that every link succeeds.
        for text in ["published", "published, too"] {
            try markedForDeletion.store.objects.makeShard(of: address(of: text))
        }
        disk.arm(.stop(after: 2, of: [.link], path: "/objects/"))
        _ = code { _ = try markedForDeletion.add(directory: source, version: "1") }
        expect(disk.hasFired)
        try temporary.waitForDeadLease()
    }

    @Test func `what a killed writer had published is recorded, its reservations and staging go`()
        throws
    {
        try killedWriter(temporary)
        try expect(temporary.store.leases().dead.count, equals: 1)
        let addresses = try [address(of: "published"), address(of: "published, too")]
        for address in addresses { try expect(temporary.store.contains(address)) }

        _ = try temporary.store.makeLease()
        expect(Damage.names(temporary.path + "/staging"), equals: [])
        expect(Damage.names(temporary.path + "/leases").filter { !$0.hasPrefix(".") }, equals: [])
        try expect(temporary.store.usage().objects, equals: 2)
        try expect(
            Set(temporary.store.planCollection().objects.map(\.address)), equals: Set(addresses))
        try expect(temporary.versions.check().findings, equals: [])
    }

    @Test func `a collection cleans up behind a killed writer automatically`() throws {
        try killedWriter(temporary)
        try expect(temporary.store.collect().objectCount, equals: 2)
        expect(Damage.names(temporary.path + "/staging"), equals: [])
        expect(Damage.names(temporary.path + "/objects").filter { $0.contains("/") }, equals: [])
        try expect(temporary.versions.check().findings, equals: [])
    }

    @Test func `a plan beside a killed writer is what the collection then does`() throws {
        try killedWriter(temporary)
        // One of the two is needed by a version that only its manifest tells of.
        let source = try TemporaryStore(adding: "2", ["a": "published"])
        let manifest = try Damage.contents(source.path + "/manifests/2.json")
        try Damage.overwriteOrCreate(temporary.path + "/manifests/2.json", with: manifest)
        let before = try temporary.store.usage().objects
        let plan = try temporary.store.planCollection()
        try expect(plan.objects.map(\.address), equals: [address(of: "published, too")])
        // A plan changes nothing.
        try expect(temporary.store.usage().objects, equals: before)
        try expect(temporary.store.leases().dead.count, equals: 1)
        let collected = try temporary.store.collect()
        expect(collected.objectCount, equals: plan.objectCount)
        expect(collected.byteCount, equals: plan.byteCount)
        try expect(temporary.store.contains(address(of: "published")))
    }

    @Test func `a plan beside a writer that died with one object is what the collection does`()
        throws
    {
        // Published from `staging/` itself, and not recorded.
        let alone = try temporary.put("alone")
        expect(link(temporary.objectPath(alone), temporary.path + "/staging/\(alone)"), equals: 0)
        try temporary.changeUnnoticed("DELETE FROM object")
        let plan = try temporary.store.planCollection()
        expect(plan.objectCount, equals: 1)
        let collected = try temporary.store.collect()
        expect(collected.objectCount, equals: plan.objectCount)
        expect(collected.byteCount, equals: plan.byteCount)
    }

    @Test func `a check names what a killed writer left, a repair removes it`() throws {
        try killedWriter(temporary)
        let found = try temporary.versions.check().findings
        expect(found.map(\.kind), equals: [.leftover], "\(found)")
        try expect(temporary.versions.check(repairing: true).findings.allSatisfy(\.isRepaired))
        try expect(temporary.versions.check().findings, equals: [])
    }

    @Test func `an empty lease file of nobody is removed by the next writer`() throws {
        for name in ["4711-0123456789abcdef", ".new-4711-0123456789abcdef"] {
            try Damage.replace(temporary.path + "/leases/" + name, by: .emptyFile)
            _ = try temporary.put("something \(name)")
            expect(!Damage.names(temporary.path + "/leases").contains(name))
        }
    }

    @Test func `a published object that a power cut has torn is not recorded`() throws {
        try killedWriter(temporary)
        let torn = try address(of: "published")
        try Damage.overwrite(temporary.objectPath(torn), with: [0, 0, 0])
        _ = try temporary.store.makeLease()
        try expect(temporary.store.contains(torn), equals: false)
        try expect(temporary.versions.check().findings, equals: [])
    }

    // A version names it by now, and nothing else has its bytes.
    @Test func `an executable copy outlives the object that a power cut has torn`() throws {
        let temporary = try TemporaryStore(adding: "1", ["run.sh": "#!kept"])
        let torn = try address(of: "#!kept")
        let path = temporary.objectPath(torn)
        Damage.remove(temporary.path + "/versions/1")
        let lease = "4711-0123456789abcdef"
        try Damage.replace(temporary.path + "/leases/" + lease, by: .emptyFile)
        try Damage.replace(temporary.path + "/staging/" + lease, by: .directory)
        expect(link(path, temporary.path + "/staging/\(lease)/\(torn)"), equals: 0)
        try Damage.overwrite(path, with: [0, 0, 0])
        try expect(
            Damage.contents(path + StoreLayout.executableCopySuffix), equals: bytes("#!kept"))
        _ = try temporary.store.makeLease()
        try expect(temporary.store.read(torn, limit: 10), equals: bytes("#!kept"))
    }

    @Test func `something odd in leases does not keep anyone from writing`() throws {
        for stranger in [Damage.Stranger.directory, .fifo, .symbolicLink("/nowhere")] {
            let temporary = try TemporaryStore()
            try Damage.replace(temporary.path + "/leases/lost+found", by: stranger)
            let last = code { _ = try temporary.put("something") }
            expect(last == nil, "\(stranger)")
        }
    }
}
