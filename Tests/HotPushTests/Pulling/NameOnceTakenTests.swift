import OriginTestSupport

@testable import HotPush

/// Somebody could write to an origin once, and published other content under a name that its publisher uses next.
@Suite("A name that other content of the channel has taken", .timeLimit(.minutes(60)))
struct NameOnceTakenTests {
    private let fixture: PullingFixture
    private let thief: PublishingPlace

    init() throws {
        fixture = try PullingFixture(offering: "1")
        thief = try PublishingPlace()
        try fixture.run { $0.destination = .current }
        let versions = fixture.device.versions
        try versions.confirm("1", token: versions.boot().token)
    }

    /// How the other content stands here when the right one is offered.
    enum State: String, CaseIterable, Sendable {
        case kept, waits, current, good, protected, pinned, banned, part, damaged, otherCase
    }

    private static let evil = [
        "index.html": "evil", "large": String(repeating: "evil", count: 50_000),
    ]

    /// Lets the device pull what the thief offers under the name, or one that differs in case only.
    private func steal(_ state: State) throws -> VersionPin? {
        let name = state == .otherCase ? "V2" : "v2"
        let versions = fixture.device.versions
        try thief.store.add(name, Self.evil)
        thief.clock.advance(10)
        try thief.publish(name)
        try fixture.serve(thief)
        if state == .part {
            let path = try fixture.path(of: require(Self.evil["large"]))
            fixture.origin.play([.cut(after: 50_000), .status(404)], on: path)
            expectRefusal(.notFound) { try fixture.run(parallel: 1) }
            return nil
        }
        try fixture.run { if state == .kept { $0.destination = .kept } }
        switch state {
        case .kept, .waits, .part, .otherCase: break
        case .current: _ = try versions.boot()
        case .good: try versions.confirm(name, token: versions.boot().token)
        case .protected: try versions.protect(name)
        case .pinned: return try versions.pin(name)
        case .banned:
            _ = try versions.boot()
            _ = try versions.rollback(reason: "bad")
        case .damaged:
            let object = try ObjectID(of: Array(require(Self.evil["large"]).utf8))
            Damage.remove("\(fixture.device.path)/objects/\(StoreLayout.objectPath(object))")
            _ = try versions.check()
        }
        return nil
    }

    private func offer() throws {
        try fixture.place.store.add("v2", PublishingPlace.second)
        fixture.place.clock.advance(20)
        try fixture.publish("v2")
    }

    @Test(arguments: State.allCases)
    func `keeps no release away, however it stands here`(_ state: State) throws {
        let pin = try steal(state)
        try offer()
        let name = try fixture.run().version
        expect(name, equals: state == .part ? "v2" : "v2+pulled.1")
        try expect(fixture.tree(name), equals: PublishingPlace.second)
        let versions = try fixture.device.reopened()
        let boot = try versions.boot()
        expect(boot.version, equals: name)
        try versions.confirm(name, token: boot.token)
        // From now on it is here, under whatever name.
        try expect(fixture.run().isUnchanged)
        withExtendedLifetime(pin) {}
        if state != .damaged { try fixture.expectClean() }
    }

    @Test func `keeps no release away from an app, nor one that was fetched in part`() async throws
    {
        _ = try steal(.current)
        try offer()
        let path = try fixture.path(of: require(PublishingPlace.second["large"]))
        fixture.origin.play([.cut(after: 300_000), .status(404)], on: path)
        expectRefusal(.notFound) { try fixture.run(parallel: 1) }
        fixture.origin.forgetRequests()
        _ = try await fixture.process { $0.policy = .nextStart }.update()
        try expect(fixture.device.reopened().lifecycle().pending, equals: "v2+pulled.1")
        expect(fixture.origin.requests(for: path).map { $0["range"] != nil }, equals: [true])
        try fixture.expectClean()
    }

    @Test func `is free again for each content that comes, one beside the other`() throws {
        _ = try steal(.good)
        for (number, text) in ["first", "second"].enumerated() {
            let other = try PublishingPlace()
            other.clock.advance(Int64(20 + 10 * number))
            try other.store.add("v2", ["index.html": text])
            try other.publish("v2")
            try fixture.serve(other)
            try expect(fixture.run().version, equals: "v2+pulled.\(number + 1)")
        }
    }

    @Test func `leads back to what the channel has, if the app was shipped with other content`()
        throws
    {
        let fixture = try PullingFixture(offering: "1")
        try fixture.device.versions.adopt(AdoptingTests.ship("1", in: fixture.device, Self.evil))
        try fixture.publish("2")
        try expect(fixture.run { $0.destination = .current }.version, equals: "2")
        _ = try fixture.place.publisher().withdraw(VersionName("2"))
        try fixture.serve()
        try expect(fixture.run().version, equals: "1+pulled.1")
        let versions = try fixture.device.reopened()
        try expect(versions.boot().version, equals: "1+pulled.1")
        try expect(versions.lifecycle().embedded, equals: "1")
        try expect(fixture.run().isUnchanged)
    }

    @Test func `stays that of what came from elsewhere, beside which the channel's comes`() throws {
        for isAdded in [true, false] {
            let fixture = try PullingFixture()
            if isAdded {
                try fixture.device.add("v2", Self.evil)
            } else {
                try thief.store.add("v2", Self.evil)
                try thief.publish("v2", to: "beta")
                try fixture.serve(thief)
                try fixture.run { $0.channel = "beta" }
            }
            try fixture.place.store.add("v2", PublishingPlace.second)
            try fixture.publish("v2")
            try expect(fixture.run().version, equals: "v2+pulled.1")
            try expect(fixture.run().isUnchanged)
            try expect(fixture.run { $0.version = "mine" }.version, equals: "mine")
        }
    }
}
