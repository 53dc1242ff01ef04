import OriginTestSupport

@testable import HotPush

/// The manager over a real origin on a real server, and real downloads.
@Suite("An update from an origin", .timeLimit(.minutes(60))) struct PullSourceTests {
    let fixture: PullingFixture

    init() throws { fixture = try PullingFixture() }

    private var lifecycle: Lifecycle { get throws { try fixture.device.reopened().lifecycle() } }

    /// Publishes a version and brings it to the device, until it is known good.
    private func live(_ version: String) async throws {
        try fixture.publish(version)
        try await fixture.bringLive(version)
    }

    @Test
    func `goes from a check to a confirmed version, and fetches what its plan says`() async throws {
        try await live("1")
        try expect(fixture.tree("1"), equals: PublishingPlace.first)
        try fixture.publish("2")
        let manager = try fixture.process { $0.policy = .nextNavigation }
        _ = try await manager.start()
        let check = try await manager.check()
        expect(check.decision == .download && check.release?.version.description == "2")
        let cost = try require(try await manager.plan())
        fixture.origin.forgetRequests()
        try await manager.update().expectReady("2")
        let objects = fixture.origin.requests.filter { $0.path.hasPrefix("/objects/") }
        expect(objects.count == cost.files && cost.files == 2)
        let large = try require(PublishingPlace.second["large"])
        expect(cost.bytes, equals: Int64(large.utf8.count + "<h1>two</h1>".utf8.count))
        let boot = try require(try await manager.navigationBegins())
        try await manager.confirm(boot.version, token: boot.token)
        try expect(lifecycle.knownGood.first, equals: "2")
        try expect(fixture.tree("2"), equals: PublishingPlace.second)
        let ended = try EventLog(fixture.device.versions).entries().compactMap { entry in
            entry.event.downloadOutcome == .finished && entry.event.downloadedVersion == "2"
                ? entry.event : nil
        }
        expect(ended.map { $0.number("bytes") } == [cost.bytes])
        expect(ended.map { $0.number("files") } == [2])
        try fixture.expectClean()
    }

    @Test func `asks once when nothing is new`() async throws {
        try await live("1")
        fixture.origin.forgetRequests()
        try await expect(
            fixture.process().update(), equals: .upToDate("version 1 is current already"))
        expect(fixture.origin.requests.map(\.path), equals: ["/channels/stable.json"])
    }

    @Test func `stops soon when it is cancelled, and continues from what has come`() async throws {
        try fixture.publish("2")
        let large = try require(PublishingPlace.second["large"])
        let path = try fixture.path(of: large)
        // A part, and then nothing for as long as the test lasts: only the cancellation ends it.
        fixture.origin.play([.stall(after: 100_000)], on: path)
        let manager = try fixture.process(stallTimeout: .seconds(600))
        let events = EventReader(manager)
        let update = Task { try await manager.update() }
        _ = await events.next {
            if case .progress(_, let progress) = $0 {
                progress.figures.bytes > 10_000
            } else {
                false
            }
        }
        update.cancel()
        let outcome = await update.result
        #expect { try outcome.get() } throws: { .interrupted ~= $0 }
        try expect(lifecycle.pending == nil && lifecycle.current == nil)
        fixture.origin.forgetRequests()
        let boot = try await fixture.process().update().expectStarted()
        expect(boot.version, equals: "2")
        expect(fixture.origin.requests(for: path).map { $0["range"] != nil }, equals: [true])
        try fixture.expectSecond()
    }

    @Test
    func `that fails leaves the app with what it has, and the next one continues`() async throws {
        try await live("1")
        try fixture.publish("2")
        let large = try require(PublishingPlace.second["large"])
        let path = try fixture.path(of: large)
        fixture.origin.play([.cut(after: 300_000), .status(404)], on: path)
        let manager = try fixture.process()
        _ = try await manager.start()
        await #expect { try await manager.update() } throws: { .notFound ~= $0 }
        try expect(lifecycle.current == "1" && lifecycle.pending == nil)
        fixture.origin.forgetRequests()
        try await manager.update().expectReady()
        expect(fixture.origin.requests(for: path).map { $0["range"] }, equals: ["bytes=300000-"])
        let figures = try EventLog(fixture.device.versions).entries().map(\.event).filter {
            $0.downloadOutcome != nil && $0.downloadedVersion == "2"
        }.compactMap { $0.number("resumedBytes") }
        // A small file that came beside the cut one may have been in progress, too.
        let small = PublishingPlace.second.values.map(\.utf8.count).filter { $0 < 100 }.reduce(0, +)
        expect(figures.count == 2 && figures.first == 0)
        let kept: Int64 = 300_000
        let most: Int64 = kept + Int64(small)
        let resumed: Int64 = figures.last ?? 0
        expect(resumed >= kept && resumed <= most)
    }

    @Test("goes back to an older version when the publisher takes one back, without a download")
    func withdrawn() async throws {
        try await live("1")
        try await live("2")
        _ = try fixture.place.publisher().withdraw(VersionName("2"))
        try fixture.serve()
        fixture.origin.forgetRequests()
        try await fixture.process().update().expectReady("1")
        expect(fixture.origin.requests.map(\.path), equals: ["/channels/stable.json"])
        try await expect(fixture.process().start()?.version, equals: "1")
    }

    @Test
    func `for a part of the devices leaves the others with the release before it`() async throws {
        try await live("1")
        try offerSecond(perMille: 817)
        // The place of this device is 817.
        let set: (inout UpdateOptions) -> Void = {
            $0.device = "device-1"
            $0.app.compatibility = "xyz"
        }
        let stays = UpdateOutcome.upToDate("version 1 is current already")
        try await expect(fixture.process(set).update(), equals: stays)
        try offerSecond(perMille: 818)
        try await expect(fixture.process { $0.device = "device-1" }.update(), equals: stays)
        try await fixture.process(set).update().expectReady("2")
    }

    private func offerSecond(perMille: Int) throws {
        try fixture.place.publisher().publish(
            "2", of: fixture.place.versions,
            as: ReleaseOffer(
                rollout: Rollout(perMille: perMille, salt: "v1"),
                requirements: [Requirement(kind: Requirement.compatibility, value: "xyz")]))
        try fixture.serve()
    }
}
