import OriginTestSupport

@testable import Origin

@Suite("A publisher continues") struct GoingOnTests {
    let people: SignedPlace
    let world: BucketWorld

    init() throws {
        people = try SignedPlace()
        world = try BucketWorld()
    }

    private func inBucket(
        _ signing: PointerSigning, schedule: @escaping RequestSchedule = { _ in .answered }
    ) -> OriginPublisher {
        world.publisher(schedule: schedule, options: { $0.signing = signing })
    }

    @Test(
        "above all that devices have seen when its origin was put back from a backup",
        arguments: OriginPlace.timed)
    func backup(_ kind: OriginPlace) throws {
        let people = try SignedPlace(kind)
        let place = people.place
        try people.publish("1", PointerSigning())
        let backup = try people.pointer()
        for version in ["2", "1", "2"] {
            place.clock.advance(1)
            try people.publish(version, PointerSigning())
        }
        let seen = try people.pointer().sequence
        try people.put(backup)
        place.clock.advance(1)
        try people.publish("2", PointerSigning())
        try expect(people.pointer().sequence > seen)
        // Where nothing else is to be published, what it offers is adopted.
        try people.put(backup)
        try people.publish("1", PointerSigning())
        try expect(people.pointer().sequence < seen)
        try people.publish("1", people.signing { $0.adopts = true })
        try expect(people.pointer().sequence > seen)
    }

    @Test(
        "with no other content under a name that was withdrawn, in whichever channel",
        arguments: places)
    func withdrawnNames(_ kind: OriginPlace) throws {
        let people = try SignedPlace(kind)
        try people.publish("1", PointerSigning())
        try people.publish("2", PointerSigning(), to: "beta")
        _ = try people.publisher(PointerSigning()).withdraw(
            VersionName("2"), from: ChannelName("beta"))
        var others = try people.pointer("beta").withdrawn
        expect(others.map(\.name.description), equals: ["2"])
        try expect(
            ChannelPointer(parsing: people.bytes("beta"), of: ChannelName("beta")).withdrawn,
            equals: others)
        // The same content may come back; other content may not, also under a name that file systems take for the same.
        let content = others[0].content
        others[0].content = try ObjectID(of: [1])
        var pointer = try people.pointer("beta")
        pointer.withdrawn = others
        try people.put(pointer, "beta")
        expectRefusal(.versionExists, saying: "withdrawn") {
            try people.publish("2", PointerSigning())
        }
        // Once it is offered again it is no withdrawn one.
        others[0].content = content
        pointer.withdrawn = others
        try people.put(pointer, "beta")
        try people.publish("2", PointerSigning(), to: "beta")
        try expect(people.pointer("beta").withdrawn, equals: [])
    }

    @Test(
        "under names that a stranger says were withdrawn, once it has adopted the channel that says so",
        arguments: places, [false, true])
    func barredNames(_ kind: OriginPlace, _ isSigned: Bool) throws {
        let people = try SignedPlace(kind)
        let signing = try isSigned ? people.signing(people.alice) : PointerSigning()
        var adopting = signing
        adopting.adopts = true
        try people.place.store.add("3", ["3.txt": "3"])
        for channel in ["stable", "beta"] {
            try people.publish("1", signing, to: channel)
            var pointer = try people.pointer(channel)
            pointer.withdrawn = try ["2", "3"].map {
                WithdrawnVersion(name: try VersionName($0), content: try ObjectID(of: [1]))
            }
            if isSigned { pointer = try signing.sign(pointer, now: pointer.createdAt) }
            try people.put(pointer, channel)
            expectRefusal(.versionExists, saying: "--adopt") { try people.publish("2", signing) }
            try people.publish("2", adopting, to: channel)
            try expect(people.pointer(channel).withdrawn, equals: [])
            try people.publish("3", signing, to: channel)
        }
        // What is withdrawn from then on bars its name, whoever adopts anything else.
        _ = try people.publisher(signing).withdraw(VersionName("3"))
        try people.publish("2", adopting)
        try expect(people.pointer().withdrawn.map(\.name.description), equals: ["3"])
    }

    @Test(
        "when another publisher was faster between its look at the pointer and at its key's memory")
    func faster() throws {
        let alice = try people.signing(people.alice)
        try people.publish("1", alice)
        try world.publish("1", by: inBucket(alice))
        for (verb, other) in [("publish", "2"), ("withdraw", "4")] {
            // Once the log was read, somebody else who signs by the same key continues.
            let once = Once(at: 3) { _ = try? world.publish(other, by: inBucket(alice)) }
            let slow = inBucket(alice) { once($0) }
            if verb == "publish" {
                try world.publish("3", by: slow)
            } else {
                _ = try slow.withdraw(VersionName("1"))
            }
        }
        world.expectEnd()
    }

    @Test func `after a killed publish and a prune, whichever request was the last`() throws {
        let alice = try people.signing(people.alice)
        try world.publish("1", by: inBucket(alice))
        let noted = try Damage.contents(people.memoryFile(people.alice))
        let count = try TestShare(oneIn: 3).count { index in
            let world = BucketWorld(copying: self.world)
            try Data(noted).write(to: URL(filePath: people.memoryFile(people.alice)))
            let wasReached = Atomic<Bool>(false)
            let dying = world.publisher("dying") { request in
                guard request.number >= index + 1 else { return .answered }
                wasReached.store(true, ordering: .relaxed)
                return .end(isApplied: false)
            } options: {
                $0.signing = alice
            }
            _ = refusal { try world.publish("2", by: dying) }
            for grace in [Int64(86_400), 0] {
                let plain = world.publisher("cron")
                _ = try OriginPruner(plain).prune(keeping: 5, grace: grace)
            }
            let next = world.publisher("next", options: { $0.signing = alice })
            try world.publish("3", by: next)
            _ = try next.withdraw(VersionName("1"))
            world.expectEnd("\(index)")
            return wasReached.load(ordering: .relaxed)
        }
        expect(count > 2)
    }

    enum Verb: CaseIterable, Sendable {
        case withdraw, withdrawToEmbedded, rotate, resign, publish, pack

        func run(_ publisher: Publisher, _ people: SignedPlace) throws {
            let versions = people.place.versions
            switch self {
            case .withdraw: _ = try publisher.withdraw(VersionName("2"))
            case .withdrawToEmbedded:
                _ = try publisher.withdraw(VersionName("2"), toEmbedded: true)
            case .rotate:
                try publisher.rotate(TrustRotation(adding: [try people.key(people.bob)]))
            case .resign: try publisher.resign()
            case .publish: try publisher.publish("1", of: versions)
            case .pack: try publisher.pack("2", of: versions)
            }
        }
    }

    @Test(
        "after a kill at any step: the same command finishes what it was to do, and ends well",
        arguments: OriginPlace.timed, Verb.allCases)
    func repeated(_ kind: OriginPlace, _ verb: Verb) throws {
        let people = try SignedPlace(kind, signed: "1", "2")
        let whole = try people.place.files()
        let noted = try Damage.contents(people.memoryFile(people.alice))
        let signing =
            verb == .rotate
            ? try people.signing(people.alice, people.bob) : try people.signing(people.alice)
        let first = try people.state().number
        _ = try TestShare(oneIn: 5).count { point in
            try people.place.restore(whole)
            try Data(noted).write(to: URL(filePath: people.memoryFile(people.alice)))
            try people.forget(people.bob)
            let steps = EndingSteps(after: point)
            _ = refusal { try verb.run(people.publisher(signing, ending: steps), people) }
            let wasLogged = try people.state().number > first
            let error = refusal { try verb.run(people.publisher(signing), people) }
            // What the log has is done: to do it once more is another command.
            let isDone = wasLogged && error?.code == (verb == .rotate ? .badKey : .notOffered)
            expect(error == nil || isDone, "\(point): \(error?.message ?? "")")
            let pointer = try people.pointer()
            let offered = pointer.releases.first
            switch verb {
            case .withdraw: expect(offered?.version?.name.description == "1", "\(point)")
            case .withdrawToEmbedded: expect(offered?.target == .embedded, "\(point)")
            case .rotate: expect(pointer.trustVersion == 2, "\(point)")
            case .publish: expect(offered?.version?.name.description == "1", "\(point)")
            case .resign, .pack: expect(offered?.version?.name.description == "2", "\(point)")
            }
            return steps.wereReached
        }
    }
}
