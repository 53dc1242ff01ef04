import OriginTestSupport

@Suite("Packs and what happens meanwhile") struct PackTogetherTests {
    let fixture: PackingFixture

    init() throws { fixture = try PackingFixture(3, scale: 10, publishing: "r1") }

    /// A disk on which `body` runs when a frame is being written.
    private func whilePacking(_ body: @escaping @Sendable () -> Void) -> FaultyFileSystem {
        let disk = FaultyFileSystem()
        disk.on(.before, .write, path: "/frame-", body)
        return disk
    }

    private func hurried() -> Publisher {
        fixture.publisher(.never) { $0.waitLimit = .zero }
    }

    @Test func `a withdrawal does not wait for packs, and what it takes back gets none`() throws {
        let failure = Mutex<StoreError.Code?>(.io)
        let disk = whilePacking {
            let found = code { try hurried().withdraw(VersionName("r1")) }
            failure.withLock { $0 = found }
        }
        let plan = try fixture.publisher(.before, on: disk).publish(
            "r2", of: fixture.place.versions)
        expect(failure.withLock { $0 } == nil)
        expect(plan.packing?.packs.map(\.version), equals: [nil])
        expect(Set(try fixture.readAll([]).keys), equals: [""])
    }

    @Test("a release is offered without packs first where they come later, and keeps its place")
    func later() throws {
        let seen = Mutex<[ChannelRelease]>([])
        let disk = whilePacking {
            let releases = try? fixture.pointer().releases
            seen.withLock { $0 = releases ?? [] }
        }
        let plan = try fixture.publisher(.after, on: disk).publish("r2", of: fixture.place.versions)
        let first = try require(seen.withLock { $0 }.first)
        expect(first.version?.name.description == "r2" && first.delivery == nil)
        let pointer = try fixture.pointer()
        try expect(pointer.sequence, equals: require(plan.plan).pointer.sequence + 1)
        expect(pointer.releases[0].sequence, equals: first.sequence)
        expect(pointer.releases[0].createdAt, equals: first.createdAt)
        expect(plan.packing?.packs.map(\.version), equals: [nil, "r1"])
        expect(Set(try fixture.readAll(["r1"]).keys), equals: ["", "r1"])
    }

    @Test
    func `packs that come later change nothing when their release has been withdrawn`() throws {
        let disk = whilePacking { _ = try? hurried().withdraw(VersionName("r2")) }
        let plan = try fixture.publisher(.after, on: disk).publish("r2", of: fixture.place.versions)
        expect(plan.packing?.isWithdrawn == true && plan.packing?.packs == [])
        let pointer = try fixture.pointer()
        expect(pointer.releases.map { $0.version?.name.description }, equals: ["r1"])
        try expect(pointer.sequence, equals: require(plan.plan).pointer.sequence + 1)
        expectRefusal(.notOffered) {
            try fixture.publisher().pack("r2", of: fixture.place.versions)
        }
    }

    @Test func `packs that come later find their release behind a newer one`() throws {
        let versions = try fixture.place.store.reopened()
        let disk = whilePacking { _ = try? hurried().publish("r3", of: versions) }
        try fixture.publisher(.after, on: disk).publish("r2", of: fixture.place.versions)
        let releases = try fixture.pointer().releases
        expect(releases.map { $0.version?.name.description }, equals: ["r3", "r2", "r1"])
        expect(releases.map { $0.delivery != nil }, equals: [false, true, false])
    }

    @Test func `two publishers of one release make it once, whole`() throws {
        let versions = try fixture.place.store.reopened()
        let failure = Mutex<StoreError.Code?>(.io)
        let disk = whilePacking {
            let found = code { try fixture.publisher().publish("r2", of: versions) }
            failure.withLock { $0 = found }
        }
        try fixture.publisher(.before, on: disk).publish("r2", of: fixture.place.versions)
        expect(failure.withLock { $0 } == nil)
        expect(Set(try fixture.readAll(["r1"]).keys), equals: ["", "r1"])
        try expect(fixture.pointer().releases.count, equals: 2)
        expect(!Damage.names(fixture.place.origin + "/.publish").contains { $0.hasPrefix("work-") })
    }

    @Test
    func `nothing is written or compressed for a release that is offered with its packs`() throws {
        try fixture.publish("r2")
        let before = try fixture.place.published()
        let own = Damage.names(fixture.place.origin + "/.publish").sorted()
        fixture.place.clock.advance(100)
        let disk = FaultyFileSystem()
        let again = try fixture.publisher(.before, on: disk) { $0.packs.level = 9 }
            .publish("r2", of: fixture.place.versions)
        expect(again.packing == nil && again.isUnchanged)
        try expect(fixture.publisher().pack("r2", of: fixture.place.versions) == nil)
        try expect(fixture.place.published(), equals: before)
        expect(Damage.names(fixture.place.origin + "/.publish").sorted(), equals: own)
        expect(!disk.operations.contains { $0.verb == .write })
    }

    @Test(
        "a release that is offered again without packs keeps those that it has", arguments: places)
    func kept(_ kind: OriginPlace) throws {
        let fixture = try PackingFixture(3, scale: 10, in: kind, publishing: "r1", "r2")
        let delivery = try fixture.pointer().releases[0].delivery
        let offer = ReleaseOffer(rollout: Rollout(perMille: 100, salt: "x"))
        try fixture.publisher(.never).publish("r2", of: fixture.place.versions, as: offer)
        try expect(fixture.pointer().releases[0].delivery, equals: delivery)
        // Also where it comes back from behind another one.
        try fixture.publisher(.never).publish("r3", of: fixture.place.versions)
        try fixture.publisher(.never).publish("r2", of: fixture.place.versions)
        try expect(fixture.pointer().releases[0].delivery, equals: delivery)
    }

    @Test(
        "the newest releases of a channel keep their packs, as many as is said", arguments: places)
    func keptReleases(_ kind: OriginPlace) throws {
        let fixture = try PackingFixture(3, scale: 10, in: kind, publishing: "r1", "r2", "r3")
        try expect(
            fixture.pointer().releases.map { $0.delivery != nil }, equals: [true, true, false])
        try fixture.place.publish("1")
        try expect(
            fixture.pointer().releases.map { $0.delivery != nil },
            equals: [false, true, false, false])
    }

    @Test(
        "packs made for a release that has some already lead from what was not considered before",
        arguments: places)
    func more(_ kind: OriginPlace) throws {
        let fixture = try PackingFixture(3, scale: 10, in: kind, publishing: "r1", "r2")
        let more = try fixture.publisher(.before) { $0.packs.baseVersions = ["r3"] }
            .pack("r2", of: fixture.place.versions)
        expect(more?.packs.map(\.version) == ["r3"] && more?.keptPackCount == 2)
        expect(Set(try fixture.readAll(["r1", "r3"]).keys), equals: ["", "r1", "r3"])
    }
}

@Suite("Collecting an origin with packs") struct PackCollectionTests {
    private func published(_ kind: OriginPlace = .directory) throws -> PackingFixture {
        try PackingFixture(3, scale: 10, in: kind, publishing: "r1", "r2", "r3")
    }

    private func collect(_ fixture: PackingFixture, _ count: Int, grace: Int64) throws {
        try fixture.place.publisher().collect(
            OriginRetention(releaseCount: count, graceSeconds: grace))
    }

    private func files(_ fixture: PackingFixture, _ directory: String) throws -> Int {
        try fixture.place.published().keys.count { $0.hasPrefix(directory + "/") }
    }

    @Test("deletes deliveries that no pointer names, and with them their packs, after the grace")
    func grace() throws {
        let fixture = try published()
        try expect(files(fixture, "deliveries") == 3 && files(fixture, "packs") == 6)
        // r1 has lost its packs to r3.
        try collect(fixture, 10, grace: 3600)
        fixture.place.clock.advance(3599)
        try collect(fixture, 10, grace: 3600)
        try expect(files(fixture, "deliveries") == 3 && files(fixture, "packs") == 6)
        fixture.place.clock.advance(2)
        try collect(fixture, 10, grace: 3600)
        try expect(files(fixture, "deliveries") == 2 && files(fixture, "packs") == 5)
        try fixture.readAll(["r1", "r2"])
        try collect(fixture, 1, grace: 0)
        try expect(files(fixture, "deliveries") == 1 && files(fixture, "packs") == 3)
    }

    @Test func `never reads a pack`() throws {
        let fixture = try published()
        let disk = FaultyFileSystem()
        try fixture.place.publisher(on: disk).collect(OriginRetention(graceSeconds: 0))
        expect(!disk.operations.contains { $0.verb == .read && $0.path.contains("/packs/") })
    }

    @Test(
        "keeps no object and no manifest for a pack, and no packs that a release has lost",
        arguments: places)
    func apart(_ kind: OriginPlace) throws {
        let fixture = try published(kind)
        _ = try fixture.place.publisher().withdraw(VersionName("r1"))
        let before = try (files(fixture, "manifests"), files(fixture, "objects"))
        try collect(fixture, 10, grace: 0)
        try expect(files(fixture, "manifests") == before.0 - 1)
        try expect(files(fixture, "objects") == before.1 - 8 && files(fixture, "deliveries") == 2)
        // The packs of r2 from r1 stand: a device with r1 has what they need.
        let r1 = try fixture.manifest("r1").contentAddress()
        let delivery = try require(try fixture.reader.delivery())
        expect(delivery.packs.contains { $0.base == r1 })
    }
}
