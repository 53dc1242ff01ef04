import OriginTestSupport

/// Publishers and pruners of a bucket that are disturbed, killed, or meet each other, at every request: I1 to I5 of
/// docs/buckets.md.
@Suite struct BucketFaultTests {
    /// What one command does to an origin that already has releases and a prune behind it.
    enum Verb: String, CaseIterable, Sendable {
        case first, publish, packed, back, beta, withdraw, later, prune, once, patient

        /// For so many seconds a device finds what a pointer names.
        var grace: Int64 { self == .prune ? 0 : 3_600 }

        func run(_ world: BucketWorld, _ actor: String, _ schedule: @escaping RequestSchedule)
            throws
        {
            let publisher = world.publisher(
                actor, packs: self == .packed ? .before : .never, schedule: schedule)
            switch self {
            case .first, .publish, .packed: try world.publish("4", by: publisher)
            case .back: try world.publish("5", by: publisher)
            case .beta: try world.publish("2", to: "beta", by: publisher)
            case .withdraw: _ = try publisher.withdraw(VersionName("3"))
            case .later: _ = try publisher.pack("3", of: world.versions)
            case .prune: _ = try OriginPruner(publisher).prune(keeping: 1, grace: 0)
            case .once: _ = try OriginPruner(publisher).prune(keeping: 1, grace: grace)
            case .patient:
                for _ in 0..<4 {
                    _ = try OriginPruner(publisher).prune(keeping: 1, grace: grace)
                    world.store.clock.advance(1_300)
                }
            }
        }

        func prepare(_ world: BucketWorld) throws {
            guard self != .first else { return }
            try world.publish("1")
            try world.publish("2", by: world.publisher(packs: .before))
            _ = try OriginPruner(world.publisher()).prune(keeping: 1, grace: 0)
            try world.publish("3")
        }
    }

    static let fates: [RequestFate] = [
        .lostAnswer, .dropped, .ghost(requests: 1), .ghost(requests: 3), .ghost(requests: 100),
        .stale, .turned,
        .end(isApplied: true), .end(isApplied: false),
    ]

    /// Calls `body` with a world and each number of a request in this run's share, until one is not reached.
    private func enumerate(
        _ enumeration: String, oneIn step: Int, upon verb: Verb,
        _ body: (BucketWorld, Int) throws -> Bool
    ) throws {
        let prepared = try BucketWorld()
        try verb.prepare(prepared)
        let count = try TestShare(oneIn: step, of: enumeration).count {
            try body(BucketWorld(copying: prepared), $0 + 1)
        }
        expect(count < 500)
    }

    @Test(arguments: Verb.allCases, fates)
    func `one fault at any request breaks no promise, and the command can be said again`(
        verb: Verb, fate: RequestFate
    ) throws {
        try enumerate("\(verb) \(fate)", oneIn: 120, upon: verb) { world, number in
            world.hold(grace: verb.grace)
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
            world.store.applyGhosts()
            world.check(after: "the ghosts")
            // Each command brings the pointers in order.
            try world.publish("1", to: "last")
            _ = try OriginPruner(world.publisher()).prune(keeping: 9, grace: 3_600)
            world.expectEnd("\(verb) \(fate) at request \(number)")
            return world.broken.isEmpty
        }
    }

    @Test(arguments: Verb.allCases, Verb.allCases)
    func `a command that meets another one between any two requests breaks no promise`(
        verb: Verb, other: Verb
    ) throws {
        guard (verb == .first) == (other == .first) else { return }
        try enumerate("\(verb) \(other)", oneIn: 160, upon: verb) { world, number in
            world.hold(grace: min(verb.grace, other.grace))
            let once = Once(at: number) { try? other.run(world, "two") { _ in .answered } }
            try? verb.run(world, "one") { once($0) }
            guard once.wasReached else { return false }
            _ = try OriginPruner(world.publisher()).prune(keeping: 9, grace: 3_600)
            world.expectEnd("\(other) before request \(number) of \(verb)")
            return world.broken.isEmpty
        }
    }

    @Test(arguments: Verb.allCases)
    func `prunes that come true late take nothing that is used again`(verb: Verb) throws {
        try enumerate("late \(verb)", oneIn: 90, upon: verb) { world, number in
            let wasReached = Atomic<Bool>(false)
            try? Verb.prune.run(world, "one") { request in
                guard request.verb == .delete, request.number <= number else { return .answered }
                wasReached.store(true, ordering: .relaxed)
                return .ghost(requests: number)
            }
            // What had gone is published again while the deletions are under way.
            for version in ["1", "2", "5"] { try world.publish(version) }
            try? verb.run(world, "two") { _ in .answered }
            world.store.applyGhosts()
            world.check(after: "the ghosts")
            expect(world.broken, equals: [], "\(verb), \(number)")
            return world.broken.isEmpty && number < 60
        }
    }
}
