import CurlTransport
import OriginTestSupport

@Suite("Beside a pull") struct PullTogetherTests {
    private static let kept = PullingFixture.options.with { $0.destination = .kept }

    private static func slowTransport() throws -> CurlTransport {
        try PullingFixture.transport(stallTimeout: .seconds(300))
    }

    @Test
    func `another release of the same name is refused, and nothing of it is mixed in`() throws {
        let fixture = try PullingFixture()
        try fixture.place.publish("1", to: "beta")
        try fixture.publish("2")
        let answer = Mutex<StoreError.Code?>(nil)
        let (path, url) = (fixture.device.path, fixture.origin.url)
        fixture.origin.before(try fixture.path(of: "<h1>two</h1>")) { _ in
            let found = code {
                let options = Self.kept.with { ($0.version, $0.channel) = ("app", "beta") }
                let versions = try VersionStore.open(path, options: StoreOptions(isDurable: false))
                _ = try Pull(into: versions, over: Self.slowTransport(), options).run(url)
            }
            answer.withLock { $0 = found }
        }
        let pull = Pull(
            into: try fixture.device.reopened(), over: try Self.slowTransport(),
            Self.kept.with { $0.version = "app" })
        try expect(pull.run(url)?.version, equals: "app")
        expect(answer.withLock { $0 }, equals: .versionExists)
        try expect(fixture.tree("app"), equals: PublishingPlace.second)
        try expect(fixture.device.reopened().versions().map(\.version), equals: ["app"])
        try fixture.expectClean()
    }

    @Test(
        "the same release comes to another pull without being fetched again, also when the first one ends early",
        arguments: [false, true])
    func oneFetches(_ endsEarly: Bool) throws {
        let fixture = try PullingFixture(offering: "2")
        let last = try fixture.path(of: "<h1>two</h1>")
        let other = PullBeside(fixture.device.path, fixture.origin.url)
        let isOver = Atomic<Bool>(false)
        let hasEnded = DispatchSemaphore(value: 0)
        fixture.origin.before(last) { _ in
            other.begin()
            // What it waits for never comes.
            if endsEarly, !isOver.exchange(true, ordering: .relaxed) { hasEnded.wait() }
        }
        let pull = Pull(
            into: try fixture.device.reopened(), over: try Self.slowTransport(),
            Self.kept.with { $0.isInterrupted = { isOver.load(ordering: .relaxed) } })
        let failure = code { _ = try pull.run(fixture.origin.url) }
        hasEnded.signal()
        expect(failure, equals: (endsEarly ? .interrupted : nil))
        expect(other.end() == nil)
        try expect(fixture.tree("2"), equals: PublishingPlace.second)
        let asked = fixture.askedObjects
        expect(Set(asked).count, equals: PublishingPlace.second.count)
        if !endsEarly { expect(asked.count, equals: Set(asked).count) }
        try expect(
            !FileManager.default.contentsOfDirectory(atPath: fixture.device.path + "/leases")
                .contains { $0.hasPrefix(".fetch-") })
        try fixture.expectClean()
    }

    @Test
    func `the same release comes also to a pull that has waited long enough for another`() throws {
        let fixture = try PullingFixture(offering: "2")
        let answer = Mutex<StoreError.Code?>(nil)
        let (path, url) = (fixture.device.path, fixture.origin.url)
        let isFirst = Atomic<Bool>(true)
        fixture.origin.before(try fixture.path(of: "<h1>two</h1>")) { _ in
            guard isFirst.exchange(false, ordering: .relaxed) else { return }
            let found = code {
                let versions = try VersionStore.open(
                    path, options: StoreOptions(isDurable: false, waitLimit: .zero))
                _ = try Pull(into: versions, over: Self.slowTransport(), Self.kept).run(url)
            }
            answer.withLock { $0 = found }
        }
        let pull = Pull(
            into: try fixture.device.reopened(), over: try Self.slowTransport(), Self.kept)
        try expect(pull.run(url)?.version, equals: "2")
        expect(answer.withLock { $0 } == nil)
        try fixture.expectSecond()
    }

    @Test
    func `what is collected between plan and registration is fetched in the same pull`() throws {
        let fixture = try PullingFixture(offering: "1")
        try fixture.run(Self.kept)
        try fixture.publish("2")
        let pull = try fixture.pull(Self.kept)
        let found = try pull.release(at: fixture.origin.url)
        let plan = try pull.plan(found)
        expect(plan.reusedObjects, equals: 2)
        let other = try fixture.device.reopened()
        try other.retire("1")
        try expect(other.store.collect().objectCount > 0)
        let report = try pull.fetch(plan, of: found)
        expect(report.figures.files, equals: PublishingPlace.second.count)
        expect(report.reusedObjects == 0 && report.figures.reusedBytes == 0)
        try pull.show("2")
        try fixture.expectSecond()
    }
}
