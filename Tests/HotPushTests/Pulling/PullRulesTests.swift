import CurlTransport
import OriginTestSupport

@testable import HotPush

@Suite("The rules of a pull", .timeLimit(.minutes(60))) struct PullRulesTests {
    // MARK: Order

    @Test func `the index page comes first, then small files before large ones`() throws {
        let fixture = try PullingFixture(offering: "2")
        try fixture.run(parallel: 1)
        let expected = try ["<h1>two</h1>", "run(1)", "body {}", PullFaultTests.large]
            .map { try fixture.path(of: $0) }
        expect(fixture.askedObjects, equals: expected)
    }

    @Test("of a Meteor release the page, its scripts and style sheets come before all else")
    func launchFiles() throws {
        let place = try MeteorPlace()
        var release = ServedMeteor(2)
        release.rootURL = "http://127.0.0.1/"
        try place.serve(release)
        try place.pull(parallel: 1)
        let asked = place.origin.requests.map { $0.path.replacing("/__cordova/", with: "") }
        let launch = Set(
            [""] + release.files.filter { ["js", "css"].contains($0.type) }.map(\.path))
        expect(asked.first, equals: "manifest.json")
        expect(Set(asked.dropFirst().prefix(launch.count)), equals: launch)
    }

    // MARK: Space

    @Test("a full disk is seen before the first byte, with what is needed and what is free")
    func space() throws {
        let fixture = try PullingFixture(offering: "2")
        let versions = try VersionStore.open(
            fixture.device.path, options: StoreOptions(), fileSystem: FullFileSystem())
        let options = PullingFixture.options.with { $0.eventLog = EventLog(versions) }
        let pull = Pull(into: versions, over: try PullingFixture.transport(), options)
        let content = Set(PublishingPlace.second.values).reduce(0) { $0 + $1.utf8.count }
        // A block for each directory of the tree.
        let directories = Set(
            PublishingPlace.second.keys.flatMap { path in
                let parts = path.split(separator: "/").dropLast()
                return parts.indices.map { parts[...$0].joined(separator: "/") }
            })
        let sizes = content + 4096 * directories.count
        expectRefusal(
            .outOfSpace, saying: "\(sizeText(sizes)) are needed", "4.0 KiB are free"
        ) { try pull.run(fixture.origin.url) }
        // It was the store that failed, and not the origin.
        let failed = try require(try EventLog(versions).entries().last)
        expect(failed.event.failure, equals: EventLogFailure(code: "outOfSpace", isOfStore: true))
        expect(failed.sentence.hasPrefix("the store failed"), "\(failed.sentence)")
        expect(fixture.askedObjects, equals: [])
        try expect(fixture.device.reopened().versions().isEmpty)
    }

    // MARK: The network

    @Test func `redirects in a circle end it, and no version is seen`() throws {
        let fixture = try PullingFixture(offering: "2")
        let path = try fixture.path(of: PullFaultTests.large)
        for target in [path, "/elsewhere"] {
            fixture.origin.always(.redirect(to: target), on: path)
            fixture.origin.always(.redirect(to: path), on: "/elsewhere")
            fixture.origin.forgetRequests()
            // Not `.notFound`: its exit status is 1.
            expectRefusal(.network, saying: "circle") { try fixture.run() }
            expect(fixture.origin.requests(for: path).count, equals: 1)
            try expect(fixture.device.reopened().versions().map(\.state), equals: [.incomplete])
            try expect(fixture.device.reopened().lifecycle().pending == nil)
        }
    }

    @Test
    func `a file that drips is given up for another connection, and what has come stays`() throws {
        let fixture = try PullingFixture(offering: "2")
        let path = try fixture.path(of: PullFaultTests.large)
        fixture.origin.play([.drip(milliseconds: 20)], on: path)
        let report = try fixture.run { $0.retries.dripTime = .milliseconds(100) }
        let ranges = fixture.origin.requests(for: path).map { $0["range"] }
        expect(ranges.count == 2 && ranges[0] == nil && ranges[1] != nil)
        expect(report.version, equals: "2")
        try fixture.expectSecond()
    }

    private final class Slow: Transport {
        let byteRateMax: Int64?
        let parallelCount: Int
        init(_ byteRateMax: Int64?, _ parallelCount: Int) {
            self.byteRateMax = byteRateMax
            self.parallelCount = parallelCount
        }
        func run(_ client: some TransferClient) throws(StoreError) {}
    }

    @Test(
        "a rate that somebody asked for is no drip: each of many transfers has time for its share",
        arguments: [(2048, 16), (100, 16), (1, 256), (10_000, 1)])
    func rate(_ byteRate: Int64, _ parallel: Int) {
        let time = DripLimit(RetryPolicy(), over: Slow(byteRate, parallel)).time
        expect(time >= .seconds(60))
        // The share of one transfer, twice over.
        let share = Double(byteRate) / Double(parallel) * Double(time.components.seconds)
        expect(share >= 2 * 8192.0)
        expect(DripLimit(RetryPolicy(), over: Slow(nil, parallel)).time, equals: .seconds(60))
    }

    @Test func `a directory is read no faster than the rate, and as well`() throws {
        let fixture = try PullingFixture()
        try fixture.place.publish("2")
        var options = TransportOptions()
        options.byteRateMax = 2 << 20
        let pull = Pull(
            into: fixture.device.versions, over: try CurlTransport(options),
            PullingFixture.options)
        let began = ContinuousClock.now
        let report = try pull.run(fixture.place.origin)
        // 640,000 bytes at 2 MiB a second take 0.3 s; a machine that is slow takes longer.
        expect(ContinuousClock.now - began > .milliseconds(200))
        expect(report?.version, equals: "2")
        try expect(fixture.tree("2"), equals: PublishingPlace.second)
    }

    // MARK: A kill

    /// Pulls, and is dead for the disk as soon as so much has come: nothing is tidied up.
    private func die(_ fixture: PullingFixture, after count: Int) throws {
        let disk = FaultyFileSystem()
        let versions = try VersionStore.open(
            fixture.device.path, options: StoreOptions(), fileSystem: disk)
        var options = PullingFixture.options
        let isDead = InterruptionFlag()
        options.progress = { progress in
            guard progress.figures.files >= 3, progress.bytes >= count, !isDead.isSet else {
                return
            }
            isDead.set()
            disk.arm(.stop(after: 0))
        }
        let pull = Pull(into: versions, over: try PullingFixture.transport(), options)
        expect(code { try pull.run(fixture.origin.url) } != nil)
        expect(isDead.isSet)
    }

    @Test(
        "killed half-way, at most one buffer of a file is fetched twice, and no whole file",
        arguments: [100_000, 320_000, 600_000])
    func killed(_ count: Int) throws {
        let fixture = try PullingFixture(offering: "2")
        let path = try fixture.path(of: PullFaultTests.large)
        fixture.origin.always(.stall(after: count), on: path)
        try die(fixture, after: count)
        fixture.origin.always(nil, on: path)
        fixture.origin.forgetRequests()
        let report = try fixture.run()
        let asked = fixture.origin.requests.filter { $0.path.hasPrefix("/objects/") }
        expect(asked.map(\.path), equals: [path])
        let offset = try require(asked.first?["range"].flatMap { Int($0.dropFirst(6).dropLast()) })
        // The server sent so many bytes, and all had come.
        expect(count - 64 * 1024 <= offset && offset <= count)
        expect(report.figures.bytes, equals: Int64(PullFaultTests.byteCount - offset))
        try fixture.expectSecond()
    }

    // MARK: An origin that changes

    @Test("an origin that is published to and pruned in mid-download is pulled as it is then")
    func pruned() throws {
        let fixture = try PullingFixture()
        try fixture.place.store.add("3", ["index.html": "<h1>three</h1>", "js/app.js": "run(1)"])
        try fixture.publish("2")
        let hasChanged = InterruptionFlag()
        let (place, origin) = (fixture.place, fixture.origin)
        origin.before(try fixture.path(of: "<h1>two</h1>")) { _ in
            if hasChanged.isSet { return }
            hasChanged.set()
            do {
                try place.publish("3")
                try place.publisher().collect(OriginRetention(releaseCount: 1, graceSeconds: 0))
                try fixture.serve()
            } catch {
                Issue.record("\(error)")
            }
        }
        let report = try fixture.run(parallel: 1)
        expect(hasChanged.isSet)
        expect(report.version, equals: "3")
        let versions = try fixture.device.reopened()
        try expect(versions.lifecycle().pending, equals: "3")
        try expect(
            fixture.tree("3"), equals: ["index.html": "<h1>three</h1>", "js/app.js": "run(1)"])
        for row in try versions.versions() where row.version != "3" {
            expect(row.state, equals: .incomplete)
        }
        try fixture.expectClean()
    }
}
