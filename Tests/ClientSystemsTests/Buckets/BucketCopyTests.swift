import BucketTestSupport
import HotPush
import Origin

@testable import ClientSystems

/// An origin that is copied from one bucket to another: docs/buckets.md, "From one place to another".
@Suite struct BucketCopyTests {
    private let scratch = TemporaryDirectory(inMemory: true)

    private func source() throws -> AnnouncedBucketWorld {
        let world = try AnnouncedBucketWorld.pruned()
        try world.publish("3", to: "beta", by: world.publisher())
        try world.publish("3", by: world.publisher())
        return world
    }

    private func copy(
        _ source: AnnouncedBucketWorld, to world: AnnouncedBucketWorld,
        schedule: @escaping RequestSchedule = { _ in .answered }
    ) throws -> OriginCopy.Report {
        let from = ModelStorage(source.store, actor: "reader")
        return try OriginCopy(
            world.publisher("copier", schedule: schedule), from: from, scratch: scratch.path
        ).run()
    }

    @Test func `whose keys are listed and do not come is not begun`() throws {
        let (source, world) = (try source(), try AnnouncedBucketWorld())
        source.store.set(OriginLayout.trust(1), Array("{}".utf8))
        let from = ModelStorage(
            source.store, actor: "reader",
            schedule: { request in
                request.verb == .get && request.key == OriginLayout.trust(1) ? .stale : .answered
            })
        expectRefusal(.damagedOrigin, saying: OriginLayout.trust(1)) {
            try OriginCopy(world.publisher("copier"), from: from, scratch: scratch.path).run()
        }
        expect(files(world).keys.filter { $0.hasPrefix("log/") }, equals: [])
    }

    /// Everything that an origin consists of, but for what was left by looking what a store can do.
    private func files(_ world: AnnouncedBucketWorld) -> [String: [UInt8]] {
        world.store.files.filter { !$0.key.hasPrefix("probe/") }.mapValues(\.bytes)
    }

    /// The copy has no byte that is another one, is missing nothing, and is published to and pruned like the source.
    private func expectWhole(_ world: AnnouncedBucketWorld, of source: AnnouncedBucketWorld) throws
    {
        let (copied, there) = (files(world), files(source))
        for (path, bytes) in copied {
            // A prune of the source deletes there what was copied before.
            let isKept = path.hasPrefix("log/") || path.hasSuffix("stable.json")
            expect(there[path] == bytes || there[path] == nil && !isKept, "\(path)")
        }
        let lacking = Set(there.keys).subtracting(copied.keys)
        // What no release needs stays behind.
        expect(lacking.allSatisfy { !$0.hasPrefix("log/") && !$0.hasSuffix("stable.json") })
        try expect(world.audit(deep: true).findings, equals: [])
        world.checkEnd()
        expect(world.broken, equals: [])
    }

    @Test func `all that it offers goes along, under the same log, and is published to as before`()
        throws
    {
        let source = try source()
        let world = try AnnouncedBucketWorld()
        let report = try copy(source, to: world)
        expect(report.channelCount == 2 && report.behind.isEmpty && report.foundCount == 0)
        try expectWhole(world, of: source)
        expect(files(world).keys.contains { $0.hasPrefix("e/") })
        let again = try copy(source, to: world)
        expect(again.sent.count == 0 && again.foundCount == report.sent.count)
        // What was published since goes along as well.
        try source.publish("4", by: source.publisher())
        try source.prune()
        _ = try copy(source, to: world)
        try expectWhole(world, of: source)
        try world.publish("1", by: world.publisher())
        try world.prune()
        try expect(world.history(.codePush).offers.map(\.label).last, equals: "v5")
        try expectWhole(world, of: world)
        // It continues alone now, and takes nothing of the other any more.
        let before = files(world)
        expectRefusal(.badOrigin) { try copy(source, to: world) }
        expect(files(world), equals: before)
        expect(Damage.names(scratch.path), equals: [])
    }

    @Test func `a copy that was killed anywhere continues, and ends the same`() throws {
        let source = try source()
        let whole = try copy(source, to: AnnouncedBucketWorld())
        let share = TestShare(oneIn: 9)
        for number in 1...whole.figures.requestCount where share.takes(number) {
            let world = try AnnouncedBucketWorld()
            _ = try? copy(source, to: world) {
                $0.number == number ? .end(isApplied: number % 2 == 0) : .answered
            }
            // Until it is whole, it offers nothing: no pointer stands before the log does.
            let there = world.store.files
            expect(there["channels/stable.json"] == nil || there["log/0000000001.json"] != nil)
            _ = try copy(source, to: world)
            try expectWhole(world, of: source)
        }
    }

    @Test func `what is published and pruned meanwhile is not missed, and not missing`() throws {
        let quiet = try source()
        let whole = try copy(quiet, to: AnnouncedBucketWorld())
        let share = TestShare(oneIn: 9)
        for number in 1...whole.figures.requestCount where share.takes(number) {
            let source = AnnouncedBucketWorld(copying: quiet)
            let world = try AnnouncedBucketWorld()
            _ = try copy(source, to: world) { request in
                guard request.number == number else { return .answered }
                _ = try? source.publish("4", by: source.publisher("busy"))
                for _ in 0..<3 { try? source.prune(source.publisher("busy")) }
                return .answered
            }
            // Whole as it is; what came too late for it is the next one's.
            try expect(world.audit(deep: true).findings, equals: [])
            _ = try copy(source, to: world)
            try expectWhole(world, of: source)
            expect(source.broken, equals: [])
        }
    }

    @Test func `entries that a copy of another origin has left are never joined to its log`() throws
    {
        func entries(_ world: AnnouncedBucketWorld) -> [String] {
            world.store.files.keys.filter { $0.hasPrefix("log/") }.sorted()
        }
        let (source, first) = (try source(), "log/0000000001.json")
        let world = try AnnouncedBucketWorld()
        _ = try? copy(source, to: world) {
            $0.verb == .putIfAbsent && $0.key == first ? .end(isApplied: false) : .answered
        }
        expect(entries(world), equals: entries(source).filter { $0 != first })
        // Several are written at once: any of them may be missing.
        world.store.set("log/0000000002.json", nil)
        let before = files(world)
        let other = try AnnouncedBucketWorld(offering: "1")
        // With a shorter log, with one as long, and with a longer one.
        for _ in 0..<3 {
            expectRefusal(.badOrigin) { try copy(other, to: world) }
            expect(files(world), equals: before)
            let count = entries(other).count
            while entries(other).count < max(count + 1, entries(source).count) {
                for version in ["2", "1"] { try other.publish(version, by: other.publisher()) }
            }
        }
        _ = try copy(source, to: world)
        try expectWhole(world, of: source)
    }

    @Test
    func `a bucket with an origin of its own is refused, and so is one that is damaged`() throws {
        let source = try source()
        let other = try AnnouncedBucketWorld(offering: "1")
        let before = other.store.files
        expectRefusal(.badOrigin) { try copy(source, to: other) }
        expect(other.store.files, equals: before)
        let pointers = try AnnouncedBucketWorld()
        pointers.store.set("channels/stable.json", Array("{}".utf8))
        expectRefusal(.badOrigin) { try copy(source, to: pointers) }
        expectRefusal(.noOrigin) { try copy(AnnouncedBucketWorld(), to: AnnouncedBucketWorld()) }
        let sound = source.store.files
        for part in ["objects/", "manifests/", "deflated/", "documents/"] {
            let key = try require(
                sound.keys.filter { $0.hasPrefix("e/") && $0.contains(part) }.max()
                    ?? sound.keys.filter { $0.contains(part) }.max())
            for damage: [UInt8]? in [nil, sound[key].map { Array($0.bytes.reversed()) }] {
                source.store.set(key, damage)
                let world = try AnnouncedBucketWorld()
                expectRefusal(.damagedOrigin, "\(key)") { try copy(source, to: world) }
                expect(
                    files(world).keys.filter { damage == nil || $0.hasPrefix("log/") }, equals: [])
            }
            source.store.set(key, sound[key]?.bytes)
        }
    }
}
