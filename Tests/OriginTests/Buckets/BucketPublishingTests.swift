import OriginTestSupport

/// Publishing to a bucket and pruning it, with nothing in the way: docs/buckets.md.
@Suite struct BucketPublishingTests {
    @Test func `what a channel has itself is found, however many others are newer`() throws {
        let world = try BucketWorld(offering: "1")
        _ = try OriginPruner(world.publisher()).prune(keeping: 1, grace: 0)
        // Four newer releases, which have nothing of it, are as many as are looked at.
        let others = try TemporaryStore()
        for number in 1...4 {
            world.store.clock.advance(10)
            try others.add("x\(number)", ["x": "other \(number)"])
            _ = try world.publisher().publish(
                "x\(number)", of: others.versions,
                as: ReleaseOffer(channel: try ChannelName("other-\(number)")))
        }
        for _ in 0..<2 { _ = try OriginPruner(world.publisher()).prune(keeping: 1, grace: 0) }
        world.store.clock.advance(10)
        try expect(world.publish("2", by: world.publisher()).objects.count, equals: 1)
        expect(world.broken, equals: [])
    }

    @Test func `a prune without a grace leaves what is offered, and deletes the rest`() throws {
        let world = try BucketWorld(offering: "1", "2", "3", "4")
        let report = try OriginPruner(world.publisher()).prune(keeping: 1, grace: 0)
        expect(report.trimmedCount, equals: 3)
        try expect(world.offered(), equals: ["4"])
        expect(world.store.files.keys.filter { $0.hasPrefix("objects/") }.count, equals: 3)
        expect(world.store.files.keys.filter { $0.hasPrefix("manifests/") }.count, equals: 1)
        // What had gone comes back under the new epoch, and what is there is used.
        let commit = try world.publish("5")
        expect(commit.objects.count == 2 && commit.epoch > 0)
        expect(world.store.files.keys.contains { $0.hasPrefix("e/\(commit.epoch)/places/") })
        // Again, and nothing is to be done.
        let before = world.store.files.filter { !$0.key.hasPrefix("log/") }
        _ = try OriginPruner(world.publisher()).prune(keeping: 2, grace: 0)
        expect(world.store.files.filter { !$0.key.hasPrefix("log/") }, equals: before)
        world.expectEnd()
    }

    @Test func `with a grace a prune deletes only what a prune that long ago found unneeded`()
        throws
    {
        let world = try BucketWorld(offering: "1", "2", "3", "4")
        let before = Set(world.store.files.keys.filter { !$0.hasPrefix("probe/") })
        for _ in 0..<3 {
            _ = try OriginPruner(world.publisher()).prune(keeping: 1, grace: 3_600)
            expect(before.isSubset(of: world.store.files.keys))
        }
        world.store.clock.advance(3_700)
        var deleted = 0
        for _ in 0..<3 {
            deleted += try OriginPruner(world.publisher()).prune(keeping: 1, grace: 3_600).garbage
                .count
            world.store.clock.advance(3_700)
        }
        expect(deleted > 0)
        expect(world.store.files.keys.filter { $0.hasPrefix("objects/") }.count, equals: 3)
        // Nothing is left to do: no entry.
        let count = world.store.files.count
        _ = try OriginPruner(world.publisher()).prune(keeping: 1, grace: 3_600)
        expect(world.store.files.count, equals: count)
        expect(world.broken, equals: [])
    }

    @Test func `a copied origin that is missing packs is not taken over`() throws {
        let place = try PackingFixture(scale: 10, publishing: "r1").place
        try place.forgetLog()
        for dropped in ["packs/", "deliveries/"] {
            let world = try BucketWorld()
            for (path, bytes) in try place.published() where !path.hasPrefix(dropped) {
                world.store.set(path, bytes)
            }
            expectRefusal(saying: "they are not all there") {
                try ModelStorage(world.store).publisher { $0.takesOver = true }
                    .publish("1", of: world.versions)
            }
        }
    }

    @Test func `a store that overwrites is refused`() throws {
        var dialect = ModelDialect()
        dialect.knowsIfNoneMatch = false
        let store = ModelStore(dialect)
        let world = try BucketWorld()
        expectRefusal(.unsuitableStore) {
            try OriginPublisher(ModelStorage(store), pause: { _ in }).publish(
                "1", of: world.versions)
        }
    }
}
