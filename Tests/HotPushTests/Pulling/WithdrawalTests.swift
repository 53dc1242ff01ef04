import OriginTestSupport

@testable import HotPush

/// What origin-format.md says: a pending version that its channel does not list any more is pending no more.
@Suite("What a channel takes back", .timeLimit(.minutes(60))) struct WithdrawalTests {
    /// Why what is offered instead does not come.
    enum Problem: String, CaseIterable, Sendable {
        case noManifest, noObjects, wrongBytes, brokenOff, noDelivery, noPack, tooLarge, banned,
            notForThis, nothing
    }

    enum Asker: CaseIterable, Sendable { case pull, ask, check, update }

    private static let third = [
        "index.html": "<h1>three</h1>", "a/b": "b", "c": String(repeating: "third", count: 20_000),
    ]

    /// A device that shows version 1, and on which 2 waits.
    private func waiting() throws -> PullingFixture {
        let fixture = try PullingFixture(offering: "1")
        try fixture.run { $0.destination = .current }
        let versions = fixture.device.versions
        try versions.confirm("1", token: versions.boot().token)
        try fixture.publish("2")
        try fixture.run()
        try expect(fixture.device.reopened().lifecycle().pending, equals: "2")
        try fixture.place.store.add("3", Self.third)
        return fixture
    }

    /// Offers version 3, which does not come, whether or not 2 is still listed.
    private func offerThird(
        _ fixture: PullingFixture, _ problem: Problem, withdrawing: Bool = true
    ) throws {
        let packs = [.noDelivery, .noPack].contains(problem)
        if withdrawing { _ = try fixture.place.publisher().withdraw(VersionName("2")) }
        if problem == .nothing {
            if withdrawing { _ = try fixture.place.publisher().withdraw(VersionName("1")) }
            return try fixture.serve()
        }
        var offer = ReleaseOffer()
        if problem == .notForThis {
            offer.requirements = [Requirement(kind: Requirement.compatibility, value: "other")]
        }
        if problem == .banned {
            let versions = fixture.device.versions
            try fixture.device.add("3", Self.third)
            try versions.activate("3")
            _ = try versions.rollback(reason: "bad")
            try versions.activateAtNextBoot("2")
        }
        try fixture.place.publisher(packs: packs ? .before : .never).publish(
            "3", of: fixture.place.versions, as: offer)
        try fixture.serve()
        let release = try require(fixture.place.pointer()?.releases.first)
        switch problem {
        case .noManifest:
            let manifest = try require(release.version).manifest
            fixture.origin.always(.status(404), on: "/" + OriginLayout.path(.manifest, manifest))
        case .noObjects, .wrongBytes, .brokenOff, .noDelivery, .noPack:
            let fault: Fault =
                switch problem {
                case .wrongBytes: .wrongBytes
                case .brokenOff: .hangUp()
                default: .status(404)
                }
            for text in Self.third.values {
                fixture.origin.always(fault, on: try fixture.path(of: text))
            }
            for (path, _) in try fixture.place.published() {
                let isGone =
                    path.hasPrefix("packs/")
                    || problem == .noDelivery && path.hasPrefix("deliveries/")
                if isGone { fixture.origin.always(.status(404), on: "/" + path) }
            }
        case .tooLarge, .banned, .notForThis, .nothing: break
        }
    }

    @Test(arguments: [true, false])
    func `a version that fails is left for one that was not withdrawn`(atOnce: Bool) throws {
        let fixture = try PullingFixture(offering: "1")
        let versions = fixture.device.versions
        for name in ["1", "2"] {
            if name != "1" { try fixture.publish(name) }
            try fixture.run { $0.destination = .current }
            try versions.confirm(name, token: versions.boot().token)
        }
        _ = try fixture.place.publisher().withdraw(VersionName("2"))
        if !atOnce {
            try fixture.serve()
            try fixture.run { $0.destination = .current }
            try expect(versions.boot().version, equals: "1")
        }
        try fixture.place.store.add("3", Self.third)
        try fixture.publish("3")
        try fixture.run { $0.destination = .current }
        try expect(versions.lifecycle().knownGood, equals: atOnce ? ["1", "2"] : ["1"])
        try expect(versions.boot().version, equals: "3")
        try expect(versions.boot().version, equals: "1")
    }

    @Test(arguments: ["only that", "all", "only that, and forced"])
    func `a withdrawn version is left, though the newest other one is banned here`(
        _ banned: String
    ) throws {
        let fixture = try PullingFixture(offering: "1")
        let versions = fixture.device.versions
        try fixture.place.store.add("3", Self.third)
        for name in ["1", "2", "3"] {
            if name != "1" { try fixture.publish(name) }
            try fixture.run { $0.destination = .current }
            try versions.confirm(name, token: versions.boot().token)
            if name == "2" { _ = try versions.rollback(reason: "bad") }
        }
        if banned == "all" {
            try versions.activate("1")
            _ = try versions.rollback(reason: "bad")
        }
        _ = try fixture.place.publisher().withdraw(VersionName("3"))
        try fixture.serve()
        switch banned {
        case "all":
            expectRefusal(.bannedVersion) { try fixture.run { $0.destination = .current } }
            try expect(versions.lifecycle().current, equals: "3")
        case "only that":
            try expect(fixture.run { $0.destination = .current }.version, equals: "1")
            try expect(versions.lifecycle().current, equals: "1")
            // 1 is not withdrawn: what is banned is not passed over any more.
            expectRefusal(.bannedVersion) { try fixture.run { $0.destination = .current } }
        default:
            let forced = try fixture.run { ($0.destination, $0.isForced) = (.current, true) }
            expect(forced.version, equals: "2")
        }
    }

    private func options(_ problem: Problem) -> PullOptions {
        PullingFixture.options.with {
            $0.retries.failureCountMax = 1
            if problem == .tooLarge { $0.entryCountMax = 2 }
        }
    }

    /// Asks the origin; that it fails is not what these tests are about.
    private func ask(
        _ fixture: PullingFixture, _ asker: Asker, _ options: PullOptions
    ) async throws {
        let manager = try fixture.process(pulling: options) { $0.policy = .nextStart }
        switch asker {
        case .pull: _ = try? fixture.pull(options).run(fixture.origin.url)
        case .ask: _ = try? fixture.pull(options).ask(fixture.origin.url)
        case .check: _ = try? await manager.check()
        case .update: _ = try? await manager.update()
        }
    }

    @Test(arguments: Problem.allCases, Asker.allCases)
    func `waits no longer, whatever becomes of what is offered instead`(
        _ problem: Problem, _ asker: Asker
    ) async throws {
        let fixture = try waiting()
        try offerThird(fixture, problem)
        try await ask(fixture, asker, options(problem))
        let lifecycle = try fixture.device.reopened().lifecycle()
        expect(lifecycle.pending == nil && lifecycle.current == "1")
        try expect(fixture.device.reopened().boot().version, equals: "1")
    }

    @Test(arguments: Problem.allCases)
    func `waits on while it is listed, and the release in its place does not come`(
        _ problem: Problem
    ) async throws {
        let fixture = try waiting()
        try offerThird(fixture, problem, withdrawing: false)
        for asker in Asker.allCases { try await ask(fixture, asker, options(problem)) }
        try expect(fixture.device.reopened().lifecycle().pending, equals: "2")
    }

    @Test func `waits on where only a certain release is asked for, or nothing is to change`()
        throws
    {
        let fixture = try waiting()
        try offerThird(fixture, .noObjects)
        for change in [{ $0.release = "3" }, { $0.isDryRun = true }, { $0.destination = .kept }]
            as [(inout PullOptions) -> Void]
        {
            let told = Mutex<[Withdrawal]>([])
            let options = options(.noObjects).with(change)
            let tells = options.release == nil
            let telling = options.with {
                $0.withdrawn = { one in told.withLock { $0.append(one) } }
            }
            _ = try? fixture.pull(telling).ask(fixture.origin.url)
            try expect(fixture.device.reopened().lifecycle().pending, equals: "2")
            // Who must not obey it tells who does.
            let first = told.withLock { $0.first }
            expect(first != nil, equals: tells)
            if let first { expect(first.version, equals: "2") }
        }
    }

    @Test func `is pending no longer, unless something takes its place`() async throws {
        for asker in [Asker.check, .update] {
            for problem in [Problem.nothing, .noObjects] {
                let fixture = try waiting()
                _ = try fixture.device.versions.noteForced("2", isMandatory: true)
                try offerThird(fixture, problem)
                try await ask(fixture, asker, options(problem))
                let pendingForced = try fixture.device.reopened().pendingForcedVersion
                expect(pendingForced, equals: problem == .nothing ? nil : "3", "\(asker)")
            }
        }
    }
}
