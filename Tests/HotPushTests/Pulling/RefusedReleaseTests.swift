import OriginTestSupport

@testable import HotPush

/// What a release leaves behind that promised, under the content address of the right one, what nobody has.
@Suite("A release that was refused", .timeLimit(.minutes(60))) struct RefusedReleaseTests {
    private let fixture: PullingFixture

    init() throws {
        fixture = try PullingFixture()
        try fixture.publish("1")
        try fixture.run { $0.destination = .current }
        try fixture.publish("2")
    }

    /// What the content address of a version does not cover.
    enum Lie: String, CaseIterable, Sendable {
        case larger, smaller, label, field, time, name

        func told(in manifest: String) -> String {
            switch self {
            case .larger: manifest.replacing("\"bytes\":640000", with: "\"bytes\":640001")
            case .smaller: manifest.replacing("\"bytes\":640000", with: "\"bytes\":639999")
            case .label:
                manifest.replacing(
                    "\"path\":\"large\"",
                    with:
                        "\"labels\":{\"sha1\":\"\(String(repeating: "0", count: 40))\"},\"path\":\"large\""
                )
            case .field:
                manifest.replacing(
                    "\"path\":\"large\"", with: "\"path\":\"large\",\"type\":\"x/y\"")
            case .time: manifest.replacing("\"createdAt\":1", with: "\"createdAt\":2")
            case .name: Self.larger.told(in: renamed(manifest))
            }
        }

        /// The text with another version's name, if it lies about that.
        func renamed(_ text: String) -> String {
            self == .name ? text.replacing("\"version\":\"2\"", with: "\"version\":\"9\"") : text
        }

        /// Whether the right bytes prove it.
        var isProvable: Bool { self != .field && self != .time }
    }

    private var large: String {
        get throws { try require(PublishingPlace.second["large"]) }
    }

    /// Serves the second release as its publisher made it, but for a lie in its manifest.
    private func serve(_ lie: Lie) throws {
        let files = try fixture.place.published()
        let pointer = try require(files[OriginLayout.pointer(.stable)])
        let published = try require(
            ChannelPointer(parsing: pointer, of: .stable).releases.first?.version)
        let right = try require(files[OriginLayout.path(.manifest, published.manifest)])
        let wrong = Array(lie.told(in: String(decoding: right, as: UTF8.self)).utf8)
        try require(wrong != right)
        let address = try ObjectID(of: wrong)
        let text = lie.renamed(String(decoding: pointer, as: UTF8.self))
            .replacing(published.manifest.description, with: address.description)
            .replacing("\"manifestBytes\":\(right.count)", with: "\"manifestBytes\":\(wrong.count)")
        for (path, bytes) in [
            (OriginLayout.path(.manifest, address), wrong),
            (OriginLayout.pointer(.stable), Array(text.utf8)),
        ] {
            fixture.put(bytes, at: "/" + path)
        }
    }

    /// Serves the right release again, and everything that it names.
    private func serveRight() throws {
        fixture.origin.always(nil, on: try fixture.path(of: large))
        try fixture.serve()
    }

    private func expectRight(_ lie: Lie) throws {
        let pointer = try require(try fixture.place.published()[OriginLayout.pointer(.stable)])
        let published = try ChannelPointer(parsing: pointer, of: .stable).releases.first?.version
        let versions = try fixture.device.reopened()
        try expect(
            versions.manifest(of: "2").received?.address, equals: published?.manifest, "\(lie)")
        try versions.materialize("2")
        try expect(fixture.tree("2"), equals: PublishingPlace.second)
        try fixture.expectClean()
    }

    @Test(
        "keeps no device from the right one, whatever it lied about", arguments: Lie.allCases,
        [true, false])
    func next(lie: Lie, comes: Bool) throws {
        // What nobody can disprove is a release like another.
        if comes, !lie.isProvable { return }
        try serve(lie)
        if !comes { fixture.origin.always(.status(404), on: try fixture.path(of: large)) }
        expect(code { try fixture.run() } != nil)
        try serveRight()
        try expect(fixture.run().version, equals: "2")
        try expectRight(lie)
        let names = try fixture.device.reopened().versions().map(\.version)
        expect(Set(names), equals: ["1", "2"])
    }

    @Test("takes nothing from the part of the right one that is here", arguments: Lie.allCases)
    func between(lie: Lie) throws {
        fixture.origin.always(.status(404), on: try fixture.path(of: large))
        expect(code { try fixture.run() } != nil)
        try serve(lie)
        expect(code { try fixture.run() } != nil)
        try serveRight()
        try expect(fixture.run().version, equals: "2")
        try expectRight(lie)
    }

    @Test(
        "is told by a check and mended, though what it lied about has come with something else",
        arguments: [Lie.larger, .smaller], ["pull", "repair"])
    func stuck(lie: Lie, way: String) throws {
        try serve(lie)
        fixture.origin.always(.status(404), on: try fixture.path(of: large))
        expect(code { try fixture.run() } != nil)
        // What else it has may have come before the refusal, and may not.
        var files = PublishingPlace.second
        files["other"] = "another"
        try fixture.device.add("other", files)
        try serveRight()
        let versions = try fixture.device.reopened()
        try expect(versions.check().findings.map(\.kind), equals: [.falseManifest])
        try expect(versions.evidentFindings().map(\.kind), equals: [.falseManifest])
        // Without an origin nobody knows what is right.
        try expect(versions.check(repairing: true).findings.map(\.isRepaired), equals: [false])
        if way == "pull" {
            try expect(fixture.run().version, equals: "2")
        } else {
            var plan: RepairPlan?
            let repair = try fixture.repair()
            let location = try OriginReference(parsing: fixture.origin.url).location
            let source = try repair.source(fixture.origin.url, at: location)
            let report = try repair.versions.repair(from: source) {
                plan = $0
                return true
            }
            expect(plan?.steps.map(\.operation), equals: [.fetchManifest])
            expect(report.findings.allSatisfy(\.isRepaired), "\(report.findings)")
        }
        try expectRight(lie)
    }

    @Test("was none where a version is whole: its manifest stays")
    func whole() throws {
        try fixture.run()
        let before = try fixture.device.reopened().manifest(of: "2").received
        for lie in Lie.allCases {
            try serve(lie)
            _ = code { try fixture.run() }
            try expect(fixture.device.reopened().manifest(of: "2").received == before, "\(lie)")
        }
        try serveRight()
        try expect(fixture.run().isUnchanged)
        try fixture.expectClean()
    }
}
