import OriginTestSupport

@testable import Origin

@Suite("A publisher that signs in a bucket") struct BucketSigningTests {
    let people: SignedPlace
    let world: BucketWorld

    init() throws {
        people = try SignedPlace()
        world = try BucketWorld()
    }

    private func publisher(
        _ signing: PointerSigning, _ actor: String = "one",
        schedule: @escaping RequestSchedule = { _ in .answered }
    ) -> OriginPublisher {
        world.publisher(actor, schedule: schedule, options: { $0.signing = signing })
    }

    private func pointer(_ channel: String = "stable") throws -> ChannelPointer {
        let file = try require(world.store.files["channels/\(channel).json"])
        return try ChannelPointer(parsing: file.bytes, of: ChannelName(channel))
    }

    private func expectSigned(by file: String, channel: String = "stable") throws {
        let keys = try TrustedKeys([people.key(file)])
        try expect(keys.judge(pointer(channel)).objection == nil)
    }

    private func kinds() throws -> [String] {
        try world.store.files.keys.filter { $0.hasPrefix("log/") }.sorted().map { key in
            let number = try require(OriginLayout.number(ofLogEntry: key))
            let bytes = try require(world.store.files[key]).bytes
            return try LogEntry(parsing: bytes, number: number).kind.name
        }
    }

    /// What a stranger with write access does: the next entry, and its pointer's copy.
    private func intrude(_ change: (inout ChannelPointer) throws -> Void) throws {
        let log = OriginLog(world.bucket("mallory"))
        let state = try require(try log.state(from: 0))
        var pointer = try require(state.pointers[.stable]).renewed(now: world.store.clock.now)
        try change(&pointer)
        pointer.log = state.number + 1
        var entry = try LogEntry(after: state, .resign, now: world.store.clock.now)
        entry.channels[.stable] = state.number + 1
        entry.pointers[.stable] = pointer
        world.store.set(OriginLayout.logEntry(state.number + 1), entry.serialized())
        world.store.set("channels/stable.json", pointer.serialized())
    }

    @Test func `signs anew for each attempt that somebody else was faster than`() throws {
        let alice = try people.signing(people.alice)
        try world.publish("1", by: publisher(alice))
        let overtaken = Atomic<Int>(0)
        let slow = publisher(alice, "slow") { request in
            if request.verb == .putIfAbsent, request.key.hasPrefix("log/"),
                overtaken.load(ordering: .relaxed) < 3
            {
                let number = overtaken.add(1, ordering: .relaxed).newValue
                _ = try? world.publish("\(number + 2)", by: publisher(alice, "fast"))
            }
            return .answered
        }
        try world.publish("2", by: slow)
        try expectSigned(by: people.alice)
        let versions = try pointer().releases.compactMap { $0.version?.name.description }
        expect(versions, equals: ["2", "5", "4", "3", "1"])
        world.expectEnd()
    }

    @Test(
        "does not sign what a stranger has written, and continues from the newest pointer that is its own"
    )
    func strangers() throws {
        let alice = try people.signing(people.alice)
        for version in ["1", "2"] { try world.publish(version, by: publisher(alice)) }
        let before = try pointer()
        let mallory = try people.signing(people.mallory)
        for signing in [nil, mallory] {
            try intrude { pointer in
                pointer.releases[0].isMandatory = true
                if let signing { pointer = try signing.sign(pointer, now: 1) }
            }
        }
        // Without a key that signs anything there is nothing to continue from.
        let bob = try publisher(people.signing(people.bob))
        expectRefusal(.untrusted) { try world.publish("3", by: bob) }
        let entryCount = try kinds().count
        try world.publish("3", by: publisher(alice))
        try expect(kinds().count, equals: entryCount + 1)
        try expectSigned(by: people.alice)
        let after = try pointer()
        expect(after.releases.dropFirst(), equals: before.releases[...])
        expect(after.origin == before.origin && after.sequence > before.sequence)
        world.expectEnd()
    }

    @Test
    func `begins a new log with signed pointers of an old one only if it signs them anew`() throws {
        let alice = try people.signing(people.alice)
        for version in ["1", "2"] { try world.publish(version, by: publisher(alice)) }
        let before = try pointer()
        for key in world.store.files.keys where key.hasPrefix("log/") {
            world.store.set(key, nil)
        }
        func taking(_ signing: PointerSigning) -> OriginPublisher {
            ModelStorage(world.store).publisher { ($0.takesOver, $0.signing) = (true, signing) }
        }
        expectRefusal(.untrusted) { try taking(PointerSigning()).publish("3", of: world.versions) }
        _ = try taking(alice).publish("3", of: world.versions)
        try expectSigned(by: people.alice)
        let after = try pointer()
        expect(after.releases.count == 3 && after.sequence > before.sequence)
        expect(after.origin == before.origin && after.log == 2)
    }

    @Test("continues from a signed directory that was copied whole, signatures and trust with it")
    func copied() throws {
        try people.publish("1", people.signing(people.alice))
        try people.rotate(people.alice, to: people.bob)
        let source = try OriginCopy.directory(people.place.origin)
        _ = try OriginCopy(
            publisher(PointerSigning()), from: source, scratch: people.place.origin
        ).run()
        for name in ["channels/stable.json", "trust/2.json", "origin.json"] {
            let bytes = try Damage.contents("\(people.place.origin)/\(name)")
            expect(world.store.files[name]?.bytes, equals: bytes, "\(name)")
        }
        let bob = try publisher(people.signing(people.bob))
        _ = try bob.publish("2", of: people.place.versions)
        try expectSigned(by: people.bob)
        try expect(pointer().trustVersion, equals: 2)
    }
}
