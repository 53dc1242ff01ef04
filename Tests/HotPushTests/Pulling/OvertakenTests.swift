import OriginTestSupport

@testable import HotPush

/// A publisher offers the next release and prunes the one that a device has just been told of.
@Suite("A pull that a prune overtakes") struct OvertakenTests {
    enum Gone: String, CaseIterable, Sendable { case manifest, objects, delivery, pack }

    /// Publishes the next release, deletes all that only the one before it needs, and serves the rest.
    private static func overtake(_ fixture: PullingFixture) throws {
        try fixture.place.publish("1")
        fixture.place.clock.advance(10)
        try fixture.place.publisher().collect(OriginRetention(releaseCount: 1, graceSeconds: 0))
        fixture.place.clock.advance(10)
        try fixture.place.publisher().collect(OriginRetention(releaseCount: 1, graceSeconds: 0))
        try fixture.serve()
    }

    /// - Returns: the path at which the prune comes, just before the answer.
    private func path(_ gone: Gone, _ fixture: PullingFixture) throws -> String {
        let pointer = try require(try DirectoryOrigin(fixture.place.origin).pointer(.stable))
        let version = try require(pointer.releases[0].version)
        switch gone {
        case .manifest: return "/" + OriginLayout.path(.manifest, version.manifest)
        case .objects: return try fixture.path(of: "<h1>two</h1>")
        case .delivery:
            return "/"
                + OriginLayout.path(.delivery, try require(pointer.releases[0].delivery).address)
        case .pack:
            let reader = PackReader(
                file: { try fixture.place.bytes($0) }, store: fixture.place.versions.store)
            let delivery = try require(try reader.delivery())
            return "/" + OriginLayout.path(.pack, try require(delivery.packs.first).address)
        }
    }

    @Test(arguments: Gone.allCases)
    func `asks once more and takes what is offered now`(gone: Gone) throws {
        let fixture = try PullingFixture()
        let packs = [.delivery, .pack].contains(gone)
        try fixture.place.publisher(packs: packs ? .before : .never).publish(
            "2", of: fixture.place.versions)
        try fixture.serve()
        let isFirst = Atomic<Bool>(true)
        fixture.origin.before(try path(gone, fixture)) { _ in
            guard isFirst.exchange(false, ordering: .relaxed) else { return }
            do { try Self.overtake(fixture) } catch { Issue.record("\(error)") }
        }
        // As the program does it.
        let pull = try fixture.pull()
        var reply = try pull.inquire(fixture.origin.url)
        let report = try require(try pull.carryOut(&reply, of: fixture.origin.url))
        expect(!isFirst.load(ordering: .relaxed))
        expect(report.version, equals: "1")
        try expect(fixture.tree("1"), equals: PublishingPlace.first)
        expect(fixture.origin.requests(for: "/" + OriginLayout.pointer(.stable)).count, equals: 2)
        try fixture.expectClean()
    }

    @Test(
        "fails as before where the pointer still offers what is gone",
        arguments: [Gone.manifest, .objects], [403, 404, 410])
    func lost(gone: Gone, status: Int) throws {
        let fixture = try PullingFixture(offering: "2")
        fixture.origin.always(.status(status), on: try path(gone, fixture))
        let pull = try fixture.pull()
        expectRefusal(.notFound) {
            var reply = try pull.inquire(fixture.origin.url)
            _ = try pull.carryOut(&reply, of: fixture.origin.url)
        }
        expect(fixture.origin.requests(for: "/" + OriginLayout.pointer(.stable)).count, equals: 2)
    }

    /// Options with which what was offered is looked at again, however soon.
    private static let looking = PullingFixture.options.with { $0.offerLifetime = .zero }

    /// Publishes 2, and changes what is offered just before the answer to a request that fails once before.
    private func changing(
        _ asked: Gone, _ fixture: PullingFixture,
        _ change: @escaping @Sendable (PublishingPlace) throws -> Void
    ) throws {
        let packs = [.delivery, .pack].contains(asked)
        try fixture.place.publisher(packs: packs ? .before : .never).publish(
            "2", of: fixture.place.versions)
        try fixture.serve()
        let path = try path(asked, fixture)
        fixture.origin.play([.status(503)], on: path)
        let isFirst = Atomic<Bool>(true)
        fixture.origin.before(path) { _ in
            guard isFirst.exchange(false, ordering: .relaxed) else { return }
            do {
                fixture.place.clock.advance(10)
                try change(fixture.place)
                try fixture.serve()
            } catch { Issue.record("\(error)") }
        }
    }

    @Test(arguments: Gone.allCases, [false, true])
    func `takes nothing that is withdrawn while any part of it is fetched`(
        asked: Gone, isInApp: Bool
    ) async throws {
        let fixture = try PullingFixture()
        try changing(asked, fixture) { _ = try $0.publisher().withdraw(VersionName("2")) }
        if isInApp {
            let outcome = try? await fixture.process(pulling: Self.looking).update()
            if case .ready = outcome { Issue.record("it is ready") }
        } else {
            try expect(fixture.pull(Self.looking).run(fixture.origin.url) == nil)
        }
        let lifecycle = try fixture.device.reopened().lifecycle()
        expect(lifecycle.pending == nil && lifecycle.current == nil)
    }

    @Test(arguments: Gone.allCases)
    func `takes what replaces it while it is fetched`(asked: Gone) throws {
        let fixture = try PullingFixture()
        try changing(asked, fixture) { try $0.publish("1") }
        try expect(fixture.run(Self.looking).version, equals: "1")
        try expect(fixture.device.reopened().lifecycle().pending, equals: "1")
    }

    @Test
    func `takes what was offered where the origin says nothing more, or something older`() throws {
        for isOlder in [false, true] {
            let fixture = try PullingFixture()
            let pointer = "/" + OriginLayout.pointer(.stable)
            try fixture.publish("1")
            let before = try require(fixture.place.published()[String(pointer.dropFirst())])
            try changing(.objects, fixture) { _ in }
            fixture.origin.before(try fixture.path(of: "<h1>two</h1>")) { _ in
                if isOlder {
                    fixture.origin.put(Content(before, type: "application/json"), at: pointer)
                } else {
                    fixture.origin.always(.status(503), on: pointer)
                }
            }
            try expect(fixture.run(Self.looking).version, equals: "2", "\(isOlder)")
        }
    }

    @Test func `ends where releases are overtaken for ever`() throws {
        let fixture = try PullingFixture(offering: "2")
        let place = fixture.place
        let pointer = "/" + OriginLayout.pointer(.stable)
        // Whichever release the pointer offers, its manifest is gone by the time it is asked for.
        fixture.origin.before(pointer) { _ in
            do {
                place.clock.advance(10)
                let next = fixture.origin.requests(for: pointer).count % 2 == 0 ? "1" : "2"
                try place.publish(next)
                try fixture.serve()
                for path in try place.published().keys where path.hasPrefix("manifests/") {
                    fixture.origin.put(nil, at: "/" + path)
                }
            } catch { Issue.record("\(error)") }
        }
        expectRefusal(.notFound) { try fixture.pull().run(fixture.origin.url) }
        expect(fixture.origin.requests(for: pointer).count <= 5)
    }
}
