import OriginTestSupport

@testable import HotPush

/// Devices fetch each thing from the epoch in which it stands, and take what is offered now where that is gone.
@Suite("A pull from an origin with epochs") struct EpochPullTests {
    /// Release 2 in epoch 5, its objects in three epochs; release 1 in epoch 0.
    private func moved(withPacks: Bool = false) throws -> (PullingFixture, EpochOrigin) {
        let fixture = try PullingFixture()
        if !withPacks { try fixture.place.publish("1") }
        try fixture.place.publisher(packs: withPacks ? .before : .never)
            .publish("2", of: fixture.place.versions)
        var origin = try EpochOrigin(fixture.place)
        try origin.move("2", to: 5) { [5, 0, 4, 5][$0] }
        if withPacks { try origin.movePacks(to: 6) }
        origin.leaveEpochZero()
        origin.serve(at: fixture.origin)
        return (fixture, origin)
    }

    private func published(_ origin: EpochOrigin) throws -> PublishedVersion {
        try require(origin.pointer.releases[0].version)
    }

    private func manifestPath(_ origin: EpochOrigin) throws -> String {
        let version = try published(origin)
        return "/" + OriginLayout.path(.manifest, version.manifest, in: version.epoch)
    }

    private func placesPath(_ origin: EpochOrigin) throws -> String {
        let version = try published(origin)
        return "/" + OriginLayout.path(.places, try require(version.places), in: version.epoch)
    }

    private var pointer: String { "/" + OriginLayout.pointer(.stable) }

    @Test func `asks for everything once, where it stands`() throws {
        let (fixture, origin) = try moved()
        let report = try fixture.run()
        expect(report.version, equals: "2")
        try expect(fixture.tree("2"), equals: PublishingPlace.second)
        let wanted =
            try [pointer, manifestPath(origin), placesPath(origin)]
            + origin.places.map { "/" + $0 }
        expect(fixture.origin.requests.map(\.path).sorted(), equals: wanted.sorted())
        expect(report.requests, equals: wanted.count)
        try expect(manifestPath(origin).hasPrefix("/e/5/manifests/"))
        try expect(placesPath(origin).hasPrefix("/e/5/places/"))
        expect(origin.places.filter { $0.hasPrefix("e/5/objects/") }.count, equals: 2)
        expect(origin.places.filter { $0.hasPrefix("objects/") }.count, equals: 1)
        try fixture.expectClean()
    }

    @Test func `needs no places where all objects stand in the release's epoch`() throws {
        let fixture = try PullingFixture()
        try fixture.place.publish("2")
        var origin = try EpochOrigin(fixture.place)
        try origin.move("2", to: 5) { _ in 5 }
        origin.leaveEpochZero()
        origin.serve(at: fixture.origin)
        try fixture.run()
        try expect(fixture.tree("2"), equals: PublishingPlace.second)
        let asked = fixture.origin.requests.map(\.path)
        expect(asked.count == 6 && !asked.contains { $0.contains("places") })
        expect(asked.dropFirst().allSatisfy { $0.hasPrefix("/e/5/") })
    }

    @Test func `works from a directory, too`() throws {
        let (fixture, origin) = try moved()
        let directory = fixture.device.directory.appending("bucket")
        try origin.write(to: directory)
        try expect(fixture.pull().run(directory)?.version, equals: "2")
        try expect(fixture.tree("2"), equals: PublishingPlace.second)
    }

    @Test func `asks again only for what is missing, and continues where it was cut`() throws {
        let (fixture, origin) = try moved()
        let digits = try address(of: PullFaultTests.large).description.dropFirst(2)
        let large = try require(origin.places.first { $0.hasSuffix(digits) })
        fixture.origin.play([.cut(after: 300_000)], on: "/" + large)
        fixture.origin.always(.hangUp(), on: "/" + large)
        expectRefusal(.network) { try fixture.run() }
        fixture.origin.always(nil, on: "/" + large)
        fixture.origin.forgetRequests()
        // What was under way when the pull ended may be missing, too.
        let missing = try fixture.device.reopened().missing(of: "2").compactMap { lost in
            origin.places.first { $0.hasSuffix(lost.address.description.dropFirst(2)) }
        }
        try fixture.run()
        let asked = fixture.origin.requests.map(\.path)
        // The manifest and the places come at the same time.
        let begin: Set = [pointer, try manifestPath(origin), try placesPath(origin)]
        expect(asked.first == pointer && Set(asked.prefix(3)) == begin)
        expect(Set(asked.dropFirst(3)).isSubset(of: missing.map { "/" + $0 }))
        expect(Set(asked).count, equals: asked.count)
        let again = fixture.origin.requests.first { $0.path == "/" + large }
        expect(again?["range"] != nil)
        try expect(fixture.tree("2"), equals: PublishingPlace.second)
    }

    @Test func `says what it would cost without asking for anything else`() throws {
        let (fixture, _) = try moved()
        let pull = try fixture.pull()
        let offer = try pull.release(at: fixture.origin.url)
        try expect(pull.plan(offer).contents.count, equals: 4)
        expect(!fixture.origin.requests.contains { $0.path.contains("objects/") })
    }

    // MARK: Packs

    @Test func `by packs takes three requests, wherever the objects stand`() throws {
        let (fixture, _) = try moved(withPacks: true)
        try expect(fixture.run().fallbacks, equals: [])
        try expect(fixture.tree("2"), equals: PublishingPlace.second)
        let asked = fixture.origin.requests.map(\.path)
        expect(asked.count, equals: 3)
        expect(asked[1].hasPrefix("/e/6/deliveries/") && asked[2].hasPrefix("/e/6/packs/"))
    }

    @Test(
        "comes object by object where packs are gone, without asking the pointer again",
        arguments: [403, 404], ["deliveries", "packs"])
    func withoutPacks(status: Int, gone: String) throws {
        let (fixture, origin) = try moved(withPacks: true)
        for path in origin.files.keys where path.hasPrefix("e/6/\(gone)/") {
            fixture.origin.always(.status(status), on: "/" + path)
        }
        try fixture.run()
        try expect(fixture.tree("2"), equals: PublishingPlace.second)
        let asked = fixture.origin.requests.map(\.path)
        expect(asked.filter { $0 == pointer }.count, equals: 1)
        try expect(asked.contains(placesPath(origin)))
        expect(Set(origin.places.map { "/" + $0 }).isSubset(of: asked))
    }

    // MARK: What is gone

    enum Gone: CaseIterable, Sendable { case manifest, places, object }

    private func path(_ gone: Gone, _ origin: EpochOrigin) throws -> String {
        switch gone {
        case .manifest: try manifestPath(origin)
        case .places: try placesPath(origin)
        case .object: "/" + origin.places[2]
        }
    }

    @Test(
        "asks the pointer once more, past all caches, and takes what it says now",
        arguments: Gone.allCases, [403, 404])
    func gone(gone: Gone, status: Int) throws {
        let (fixture, origin) = try moved()
        let path = try path(gone, origin)
        fixture.origin.always(.status(status), on: path)
        // The same release in another epoch, as a prune beside a publisher leaves it.
        try fixture.place.publish("2")
        var next = try EpochOrigin(fixture.place)
        try next.move("2", to: 7) { [6, 7, 7, 6][$0] }
        next.leaveEpochZero()
        let later = next
        let isFirst = Atomic<Bool>(true)
        fixture.origin.before(path) { [origin = fixture.origin] _ in
            guard isFirst.exchange(false, ordering: .relaxed) else { return }
            later.serve(at: origin)
        }
        try expect(fixture.run().version, equals: "2")
        try expect(fixture.tree("2"), equals: PublishingPlace.second)
        let asked = fixture.origin.requests(for: pointer)
        expect(asked.map { $0["cache-control"] }, equals: ["max-age=0", "no-cache"])
        try fixture.expectClean()
    }

    @Test(
        "is left to the next check where the pointer still says the same",
        arguments: Gone.allCases, [403, 404])
    func stillGone(gone: Gone, status: Int) throws {
        let (fixture, origin) = try moved()
        let path = try path(gone, origin)
        fixture.origin.always(.status(status), on: path)
        expectRefusal(.notFound) { try fixture.run() }
        expect(fixture.origin.requests(for: pointer).count, equals: 2)
        expect(fixture.origin.requests(for: path).count, equals: 1)
        fixture.origin.always(nil, on: path)
        try fixture.run()
        try expect(fixture.tree("2"), equals: PublishingPlace.second)
    }

    @Test(arguments: [nil, "castree"])
    func `of a private origin says that it is private`(format: String?) throws {
        let (fixture, _) = try moved()
        fixture.origin.always(.status(403))
        expectRefusal(.notFound, saying: "403", "it is private") {
            try fixture.run { $0.format = format }
        }
        expectRefusal(.notFound, saying: "it is private") {
            try OriginAccess(over: try PullingFixture.transport())
                .pointers(of: fixture.origin.url)
        }
    }

    // MARK: Refusing

    @Test(arguments: [0, 1])
    func `is refused where its places are of other objects or of later epochs`(_ how: Int) throws {
        let fixture = try PullingFixture()
        try fixture.place.publish("2")
        var origin = try EpochOrigin(fixture.place)
        try origin.move("2", to: 5) {
            $0 == 0 ? 4 : 5
        } places: { places in
            how == 0
                ? Places([4, 5, 5] as [Int64]).serialized()
                : Places([4, 6, 5, 5] as [Int64]).serialized()
        }
        origin.serve(at: fixture.origin)
        expectRefusal(.damagedOrigin) { try fixture.run() }
        expect(!fixture.origin.requests.contains { $0.path.contains("objects/") })
        try expect(fixture.device.reopened().versions().isEmpty)
    }

    @Test("takes no places of more than 4 MiB, and none with other bytes than their name says")
    func foreignPlaces() throws {
        let (fixture, origin) = try moved()
        let path = try placesPath(origin)
        fixture.put([UInt8](repeating: 32, count: Int(Places.byteCountMax) + 1), at: path)
        expectRefusal(.tooLarge) { try fixture.run() }
        fixture.put(Array("{}".utf8), at: path)
        expectRefusal(.mismatch) { try fixture.run() }
    }

    @Test
    func `passes over a release that asks for more than this castree knows, and says so`() throws {
        let (fixture, origin) = try moved()
        var pointer = origin.pointer
        // As a castree that knows no epochs sees what this one writes.
        pointer.releases[0].requirements = [Requirement(kind: "epochs", value: "2")]
        var version = try published(origin)
        (version.epoch, version.places) = (0, nil)
        pointer.releases[0].target = .version(version)
        fixture.put(pointer.serialized(), at: self.pointer)
        for (path, bytes) in try fixture.place.published() where !path.hasPrefix("channels") {
            fixture.origin.put(Content(bytes), at: "/" + path)
        }
        try expect(fixture.run().version, equals: "1")
        // And says so, where nothing else is offered.
        pointer.releases.removeLast()
        pointer.sequence += 1
        fixture.put(pointer.serialized(), at: self.pointer)
        let reply = try fixture.pull().inquire(fixture.origin.url)
        expect(reply.reasons.count, equals: 1)
        expect(reply.reasons.first?.contains("epochs 2"), equals: true)
    }
}
