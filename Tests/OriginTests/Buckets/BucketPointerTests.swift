import OriginTestSupport

/// Pointers when all commands have ended, which nobody repairs afterwards: I5 of docs/buckets.md.
@Suite struct BucketPointerTests {
    typealias Verb = BucketFaultTests.Verb

    /// Those whose commit changes a pointer.
    static let verbs: [Verb] = [.publish, .back, .beta, .withdraw, .once]

    /// What all cases publish: making it anew would take longer than they do.
    static let sourceStore = Result { try BucketWorld.SourceStore() }

    /// A version that the verb's channel has not offered yet, for those who come after it.
    private func next(after verb: Verb) -> (version: String, channel: String) {
        switch verb {
        case .beta: ("4", "beta")
        case .back: ("4", "stable")
        default: ("5", "stable")
        }
    }

    @Test(arguments: verbs, [1, 3, 100])
    func `a pointer that is written late replaces no newer one where the store knows If-Match`(
        verb: Verb, requests: Int
    ) throws {
        let world = try BucketWorld(Self.sourceStore.get())
        try verb.prepare(world)
        let late = Once(
            where: { $0.isWrite && $0.key.hasPrefix("channels/") }, .ghost(requests: requests))
        try verb.run(world, "one") { late($0) }
        let (version, channel) = next(after: verb)
        try world.publish(version, to: channel, by: world.publisher("two"))
        world.store.applyGhosts()
        world.checkEnd()
        expect(late.wasReached)
        expect(world.broken, equals: [], "\(verb), \(requests)")
    }

    @Test(arguments: verbs, verbs)
    func `commands that meet leave the newest pointers where the store knows no If-Match`(
        verb: Verb, other: Verb
    ) throws {
        let sourceStore = try Self.sourceStore.get()
        var dialect = ModelDialect()
        dialect.tagSpellings = []
        let count = try TestShare(oneIn: 12, of: "pointers \(verb) \(other)").count { index in
            let world = try BucketWorld(sourceStore, dialect)
            try verb.prepare(world)
            let once = Once(at: index + 1) { try? other.run(world, "two") { _ in .answered } }
            try? verb.run(world, "one") { once($0) }
            guard once.wasReached else { return false }
            world.expectEnd("\(other) before request \(index + 1) of \(verb)")
            return world.broken.isEmpty
        }
        expect(count < 500)
    }

    @Test(
        arguments: [["bare"], ["quoted"], []] as [Set<String>],
        [["bare"], ["quoted"], []] as [Set<String>])
    func `pointers are written also when the store has become one that takes tags otherwise`(
        before: Set<String>, after: Set<String>
    ) throws {
        var dialect = ModelDialect()
        dialect.tagSpellings = before
        let world = try BucketWorld(Self.sourceStore.get(), dialect)
        try world.publish("1")
        dialect.tagSpellings = after
        world.store.dialect = dialect
        try expect(world.publish("2", by: world.publisher()).pointerProblem == nil)
        world.expectEnd()
    }

    @Test func `what is too large for a pointer is replaced by what the log says`() throws {
        let world = try BucketWorld(Self.sourceStore.get(), offering: "1")
        world.store.set("channels/stable.json", Array(repeating: 32, count: 300 << 10))
        try expect(world.publish("2", by: world.publisher()).pointerProblem == nil)
        world.expectEnd()
    }

    @Test
    func
        `a pointer that names an entry which is not there keeps everybody from writing, until it is repaired`()
        throws
    {
        let world = try BucketWorld(Self.sourceStore.get(), offering: "1")
        let existing = try require(world.store.files["channels/stable.json"]?.bytes)
        try world.publish("2")
        let text = String(decoding: existing, as: UTF8.self)
        let forged = text.replacing("\"log\":2", with: "\"log\":9999999999")
            .replacing(/"sequence":(\d+)}\n$/) { "\"sequence\":\($0.1)9}\n" }
        expect(forged != text)
        world.store.set("channels/stable.json", Array(forged.utf8))
        let before = world.store.files
        for _ in 0..<2 {
            expectRefusal(.damagedOrigin) { try world.publish("3") }
            expectRefusal(.damagedOrigin) { try world.publisher().withdraw(VersionName("2")) }
            expectRefusal(.damagedOrigin) {
                try OriginPruner(world.publisher()).prune(keeping: 1, grace: 0)
            }
        }
        expect(world.store.files, equals: before)
        _ = try OriginAudit(world.bucket(), repairingFrom: OriginMender([])).run()
        try world.publish("3")
        world.checkEnd()
        expect(world.broken, equals: [])
    }

    @Test func `a pointer that is not what its entry has is replaced`() throws {
        let world = try BucketWorld(Self.sourceStore.get(), offering: "1")
        let existing = try require(world.store.files["channels/stable.json"]?.bytes)
        try world.publish("2", to: "beta")
        let forged = String(decoding: existing, as: UTF8.self).replacing(
            "\"log\":2", with: "\"log\":3")
        world.store.set("channels/stable.json", Array(forged.utf8))
        let commit = try world.publish("1")
        expect(commit.isUnchanged && commit.pointerProblem == nil)
        world.expectEnd()
    }

    @Test func `a hint at an entry that is not there leads nobody over a gap`() throws {
        let world = try BucketWorld(Self.sourceStore.get(), offering: "1")
        let existing = try require(world.store.files["channels/stable.json"]?.bytes)
        let forged = String(decoding: existing, as: UTF8.self)
            .replacing("\"log\":2", with: "\"log\":9999999998")
        let last = try require(world.store.files["log/0000000002.json"]?.bytes)
        let store = ModelStore(copying: world.store)
        store.set("channels/stable.json", Array(forged.utf8))
        store.set("log/9999999999.json", last)
        let publisher = OriginPublisher(ModelStorage(store), pause: { _ in })
        let before = store.files
        expectRefusal(.damagedOrigin) { try publisher.publish("2", of: world.versions) }
        expect(store.files, equals: before)
    }
}
