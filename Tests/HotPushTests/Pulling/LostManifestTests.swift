import OriginTestSupport

@testable import HotPush
@testable import VersionTree

/// A version whose manifest was lost comes back from where it came from, as it was.
@Suite("A manifest that was lost", .timeLimit(.minutes(60))) struct LostManifestTests {
    private func manifest(_ fixture: PullingFixture, _ version: String = "2") throws -> [UInt8] {
        try Damage.contents(path(fixture, version))
    }

    private func path(_ fixture: PullingFixture, _ version: String = "2") -> String {
        "\(fixture.device.path)/manifests/\(version).json"
    }

    @Test(arguments: [true, false])
    func `is there again after the next pull, which fetches no file`(isCurrent: Bool) throws {
        let fixture = try PullingFixture(pulled: "2")
        if isCurrent { try fixture.device.reopened().activate("2") }
        let before = try Manifest(parsing: manifest(fixture))
        Damage.remove(path(fixture))
        let report = try fixture.run()
        expect(report.version == "2" && report.figures.files == 0)
        let now = try Manifest(parsing: manifest(fixture))
        try expect(now.contentAddress(), equals: before.contentAddress())
        expect(now.received == before.received && now.foreign == before.foreign)
        try fixture.expectSecond()
    }

    @Test(arguments: ["missing", "damaged"])
    func `keeps no device from the next release`(how: String) throws {
        let fixture = try PullingFixture(pulled: "1")
        try fixture.device.reopened().activate("1")
        if how == "missing" {
            Damage.remove(path(fixture, "1"))
        } else {
            try Damage.flip(path(fixture, "1"), at: 3)
        }
        try fixture.publish("2")
        try expect(fixture.run().version, equals: "2")
        try expect(fixture.tree("2"), equals: PublishingPlace.second)
        try expect(fixture.tree("1"), equals: PublishingPlace.first)
    }

    @Test(
        "is fetched by a repair, whatever is left of the version",
        arguments: ["tree", "a part of the tree", "nothing"], [true, false])
    func repaired(left: String, isDirectory: Bool) throws {
        let fixture = try PullingFixture(pulled: "2")
        try fixture.device.reopened().activate("2")
        let before = try Manifest(parsing: manifest(fixture))
        Damage.remove(path(fixture))
        if left == "a part of the tree" {
            // Without the index nobody knows any more what the tree is missing.
            for name in ["index.sqlite", "index.sqlite-journal", "stamp"] {
                Damage.remove(fixture.device.path + "/" + name)
            }
            Damage.remove(fixture.device.path + "/versions/2/index.html")
            _ = try fixture.device.reopened().check(repairing: true)
            try expect(fixture.device.reopened().versions().map(\.state), equals: [.incomplete])
        } else if left == "nothing" {
            Damage.remove(fixture.device.path + "/versions/2")
        }
        let repair = try fixture.repair()
        let origin = isDirectory ? fixture.place.origin : fixture.origin.url
        var plan: RepairPlan?
        let report = try repair.versions.repair(
            from: RepairSource(
                objects: { (_) throws(StoreError) in [] },
                manifests: { (lost) throws(StoreError) in try repair.restore(lost, from: origin) }),
            proceeds: {
                plan = $0
                return true
            })
        expect(
            plan?.steps.contains { $0.operation == .fetchManifest && $0.version == "2" },
            equals: true)
        expect(!report.findings.contains { !$0.isRepaired }, "\(report.findings)")
        let now = try Manifest(parsing: manifest(fixture))
        expect(now.received == before.received && now.foreign == before.foreign)
        try fixture.expectSecond()
    }

    @Test func `is not taken from a release of that name that is another`() throws {
        let fixture = try PullingFixture(offering: "2")
        let repair = try fixture.repair()
        let other = LostManifest(version: "2", content: try address(of: "other content"))
        try expect(repair.restore([other], from: fixture.origin.url), equals: [])
        try expect(
            repair.restore([LostManifest(version: "3")], from: fixture.origin.url), equals: [])
        try expect(fixture.device.reopened().versions().isEmpty)
    }

    @Test func `comes with its routes, though the tree gave it back without them`() throws {
        let place = try MeteorPlace()
        try place.ship(ServedMeteor(1))
        try place.live(ServedMeteor(2))
        let name = try require(try place.current)
        let file = "\(place.device.path)/manifests/\(name).json"
        let before = try Manifest(parsing: Damage.contents(file))
        try require(before.entries.contains { !$0.routes.isEmpty })
        Damage.remove(file)
        _ = try place.device.reopened().check(repairing: true)
        let between = try Manifest(parsing: Damage.contents(file))
        expect(!between.entries.contains { !$0.routes.isEmpty })
        try place.pull()
        let now = try Manifest(parsing: Damage.contents(file))
        try expect(now.contentAddress(), equals: before.contentAddress())
        // The page names a host of its own, so what it says of the app is not believed without what was shipped.
        func terms(_ manifest: Manifest) -> [String] {
            manifest.foreign.map(\.key).filter { $0 != "app" }
        }
        expect(terms(now), equals: terms(before))
    }

    @Test func `lets no release in that has what the version never had`() throws {
        let fixture = try PullingFixture(offering: "2")
        let repair = try fixture.repair()
        let some = try Set(PublishingPlace.second.values.map { try address(of: $0) })
        let known = LostManifest(version: "2", named: some.subtracting([try require(some.first)]))
        try expect(repair.restore([known], from: fixture.origin.url), equals: [])
        let all = LostManifest(version: "2", named: some)
        try expect(repair.restore([all], from: fixture.origin.url), equals: ["2"])
    }

    @Test func `comes back though it is banned, also after a wait for another pull`() throws {
        let fixture = try PullingFixture(pulled: "1")
        let versions = try fixture.device.reopened()
        let first = try versions.boot()
        try versions.confirm(first.version, token: first.token)
        try fixture.publish("2")
        try fixture.run()
        try expect(versions.boot().version, equals: "2")
        _ = try versions.rollback(reason: "white page")
        Damage.remove(path(fixture))
        let offered = try DirectoryOrigin(fixture.place.origin).pointer(.stable)?.releases.first
        let name = StoreLayout.fetchLock(try require(offered?.version).manifest)
        let disk = FaultyFileSystem()
        let held = try versions.store.openLock(name)
        let raw = held.raw
        try require(versions.fileSystem.lock(raw, exclusive: true))
        // It has looked whether the other pull has died, and tried once: now it waits.
        disk.on(.after, .lock, path: "/.fetch-", occurrence: 2) { POSIXFileSystem().unlock(raw) }
        let repair = OriginRepair(
            into: try VersionStore.open(
                fixture.device.path, options: StoreOptions(isDurable: false), fileSystem: disk),
            over: try PullingFixture.transport(), PullingFixture.options)
        try expect(
            repair.restore([LostManifest(version: "2")], from: fixture.origin.url), equals: ["2"])
        withExtendedLifetime(held) {}
    }
}
