import BucketTestSupport
import Buckets
import HotPush
import StorageTestSupport
import Synchronization
import Testing

/// Prunes that meet, and what comes to them wrong.
@Suite struct BucketPruningTests {
    /// An origin of which a prune trims releases, and deletes their files at once.
    private func world(_ shelf: BucketWorld.Shelf) throws -> BucketWorld {
        let world = try BucketWorld(shelf)
        try BucketFaultTests.Verb.prune.prepare(world)
        for version in ["4", "5"] { try world.publish(version, by: world.publisher()) }
        return world
    }

    @Test func `a prune that another one overtakes goes on from what that one has left`() throws {
        let shelf = try BucketWorld.Shelf()
        let count = try TestShare(oneIn: 4).count { index in
            let world = try world(shelf)
            let wasReached = Atomic<Bool>(false)
            let pruner = world.publisher("one") { request in
                if request.number == index + 1, !wasReached.exchange(true, ordering: .relaxed) {
                    try? BucketFaultTests.Verb.prune.run(world, "two") { _ in .answered }
                }
                return .answered
            }
            #expect(throws: Never.self, "overtaken before request \(index + 1)") {
                _ = try BucketPruner(pruner).prune(keeping: 1, grace: 0)
            }
            #expect(world.broken == [])
            return wasReached.load(ordering: .relaxed)
        }
        #expect(count < 500)
    }

    @Test func `a prune that publishers overtake lists once, and reads each manifest once`() throws
    {
        let world = try world(BucketWorld.Shelf())
        let overtaken = Atomic<Int>(0)
        let asked = Mutex<[String: Int]>([:])
        let pruner = world.publisher("one") { request in
            if [.get, .list].contains(request.verb), !request.key.hasPrefix("channels/"),
                !request.key.hasPrefix("log/")
            {
                asked.withLock { $0["\(request.verb) \(request.key)", default: 0] += 1 }
            }
            if request.verb == .putIfAbsent, request.key.hasPrefix("log/"),
                overtaken.load(ordering: .relaxed) < 4
            {
                let number = overtaken.add(1, ordering: .relaxed).newValue
                try? world.publish(
                    "\(number)", to: "c\(number)", by: world.publisher("publisher"))
            }
            return .answered
        }
        _ = try BucketPruner(pruner).prune(keeping: 1, grace: 3_600)
        let count = overtaken.load(ordering: .relaxed)
        #expect(count == 4)
        // Before the log, and behind it.
        #expect(asked.withLock { $0.filter { $0.value > ($0.key == "list " ? 2 : 1) } } == [:])
        #expect(world.broken == [])
    }

    @Test func `a first publish that others overtake goes on from what they have left`() throws {
        let shelf = try BucketWorld.Shelf()
        let count = try TestShare(oneIn: 3).count { index in
            let world = try BucketWorld(shelf)
            let wasReached = Atomic<Bool>(false)
            let publisher = world.publisher("one") { request in
                if request.number == index + 1, !wasReached.exchange(true, ordering: .relaxed) {
                    // Their pointer names a manifest that does not stand where a directory has it.
                    for version in ["1", "2", "3"] {
                        _ = try? world.publish(version, by: world.publisher("two"))
                        try? BucketFaultTests.Verb.prune.run(world, "two") { _ in .answered }
                    }
                }
                return .answered
            }
            #expect(throws: Never.self, "overtaken before request \(index + 1)") {
                try world.publish("4", by: publisher)
            }
            #expect(world.broken == [])
            return wasReached.load(ordering: .relaxed)
        }
        #expect(count < 500)
    }

    @Test func `a prune asks again for a manifest that comes with other bytes than its name says`()
        throws
    {
        let world = try world(BucketWorld.Shelf())
        let isTurned = Atomic<Bool>(false)
        let pruner = world.publisher("one") { request in
            guard request.verb == .get, request.key.contains("manifests/"),
                !isTurned.exchange(true, ordering: .relaxed)
            else { return .answered }
            return .turned
        }
        let report = try BucketPruner(pruner).prune(keeping: 1, grace: 0)
        #expect(report.garbage.count > 0)
        let wasTurned = isTurned.load(ordering: .relaxed)
        #expect(wasTurned)
        #expect(world.broken == [])
    }
}
