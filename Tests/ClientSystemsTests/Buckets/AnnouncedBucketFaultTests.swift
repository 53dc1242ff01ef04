import BucketTestSupport
import HotPush
import Origin

@testable import ClientSystems

/// Publishers of a bucket that announce to the clients of other systems are disturbed, killed, or meet each other, at
/// every request: what docs/origin-format.md says of `for/` in buckets holds.
@Suite struct AnnouncedBucketFaultTests {
    enum Verb: String, CaseIterable, Sendable {
        case enable, publish, again, withdraw, prune, disable

        func run(
            _ world: AnnouncedBucketWorld, _ actor: String, _ schedule: @escaping RequestSchedule
        ) throws {
            let publisher = world.publisher(actor, schedule: schedule)
            switch self {
            case .enable:
                try world.enable(.expo, by: publisher) { $0.baseURL = "https://new.example.org" }
            case .publish: try world.publish("4", by: publisher)
            case .again: try world.publish("2", by: publisher)
            case .withdraw: _ = try publisher.withdraw(VersionName("3"))
            case .prune: try world.prune(publisher)
            case .disable: _ = try world.announcing().disable(.codePush, by: publisher)
            }
        }
    }

    /// Two systems are enabled, releases are offered, and prunes have raised the epoch.
    private static let prepared = Result {
        let world = try AnnouncedBucketWorld(offering: "1")
        try world.enable(.codePush, by: world.publisher())
        try world.publish("2", by: world.publisher())
        try world.prune()
        try world.enable(.expo, by: world.publisher())
        try world.publish("3", by: world.publisher())
        world.checkEnd()
        expect(world.broken, equals: [])
        return world
    }

    private func enumerate(
        _ enumeration: String, oneIn step: Int, _ body: (AnnouncedBucketWorld, Int) throws -> Bool
    ) throws {
        let prepared = try Self.prepared.get()
        let count = try TestShare(oneIn: step, of: enumeration).count {
            try body(AnnouncedBucketWorld(copying: prepared), $0 + 1)
        }
        expect(count < 500)
    }

    static let fates: [RequestFate] = [
        .lostAnswer, .dropped, .ghost(requests: 2), .stale, .end(isApplied: true),
        .end(isApplied: false),
    ]

    private func commit(_ world: AnnouncedBucketWorld) throws {
        world.store.applyGhosts()
        // Each command brings in order what lags behind.
        try world.publish("4", by: world.publisher())
        _ = try OriginPruner(world.publisher()).prune(keeping: 9, grace: 3_600)
        world.check(after: "all")
        world.checkEnd()
    }

    @Test(arguments: Verb.allCases, fates)
    func `one fault at any request leaves clients a whole old or a whole new answer`(
        verb: Verb, fate: RequestFate
    ) throws {
        try enumerate("told \(verb) \(fate)", oneIn: 150) { world, number in
            let once = Once(at: number, fate)
            // How it ends is its own affair; what is promised holds.
            try? verb.run(world, "one") { once($0) }
            guard once.wasReached else { return false }
            do {
                try verb.run(world, "two") { _ in .answered }
            } catch let error as StoreError {
                // It was done already.
                expect(error.code == .notOffered && verb == .withdraw, "\(error)")
            }
            try commit(world)
            expect(world.broken, equals: [], "\(verb) \(fate) at request \(number)")
            return world.broken.isEmpty
        }
    }

    @Test(arguments: Verb.allCases, Verb.allCases)
    func `a command that meets another one between any two requests breaks nothing`(
        verb: Verb, other: Verb
    ) throws {
        try enumerate("told \(verb) \(other)", oneIn: 150) { world, number in
            let once = Once(at: number) { try? other.run(world, "two") { _ in .answered } }
            try? verb.run(world, "one") { once($0) }
            guard once.wasReached else { return false }
            try commit(world)
            expect(world.broken, equals: [], "\(other) before request \(number) of \(verb)")
            return world.broken.isEmpty
        }
    }
}
