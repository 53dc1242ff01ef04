import BucketTestSupport
import HotPush
import Origin

@testable import ClientSystems

/// Checking, repairing and moving origins in buckets from which the clients of other systems update.
@Suite struct AnnouncedBucketCheckTests {
    private func told() throws -> AnnouncedBucketWorld {
        let world = try AnnouncedBucketWorld.pruned()
        try world.publish("3", by: world.publisher())
        return world
    }

    @Test func `a check waits for what a publisher is about to announce to clients`() throws {
        let world = try told()
        let store = world.store
        let copies = store.files.keys.filter {
            $0.hasPrefix("for/") && !$0.contains("/documents/")
        }
        expect(copies.count >= 3)
        for key in copies.sorted() {
            let sound = store.files[key]?.bytes
            store.set(key, nil)
            var options = OriginAuditOptions()
            options.pause = { _ in store.set(key, sound) }
            try expect(
                OriginAudit(ModelStorage(store), options).run().findings, equals: [], "\(key)")
        }
    }

    @Test func `a check needs what is announced to clients, and a repair writes it again`() throws {
        let world = try told()
        let sound = world.store.files
        let clean = try world.audit(deep: true)
        expect(clean.findings == [] && clean.strays.figures.count == 0)
        let kinds: [(part: String, finding: OriginFinding.Kind, isMended: Bool)] = [
            ("deflated/", .missingFile, true), ("for/codepush/stable.json", .wrongPointer, true),
            ("for/expo/config.json", .wrongPointer, true), ("documents/", .missingFile, false),
            ("facts/", .missingFile, false),
        ]
        let pointer = try require(try world.publisher().pointers()[.stable])
        for (part, kind, isMended) in kinds {
            let lost = sound.keys.filter { $0.contains(part) }.sorted().filter { key in
                // What only the grace keeps is another matter.
                part != "facts/"
                    || pointer.releases.contains { key.contains("\($0.facts?.address ?? .zero)") }
            }
            let key = try require(lost.last)
            world.store.set(key, nil)
            try expect(
                world.audit().findings.contains { $0.path == key && $0.kind == kind }, "\(key)")
            let repaired = try world.audit(repairing: true)
            // Publishing makes these again, where the repair cannot.
            expect(
                repaired.findings.contains { $0.path == key && $0.isForClients },
                equals: kind == .missingFile, "\(key)")
            expect(
                repaired.findings.contains { $0.path == key && $0.isRepaired == isMended }, "\(key)"
            )
            expect(!isMended || world.store.files[key]?.bytes == sound[key]?.bytes, "\(key)")
            world.store.set(key, sound[key]?.bytes)
        }
        let deflatedCopy = try require(sound.keys.first { $0.contains("deflated/") })
        world.store.set(deflatedCopy, sound[deflatedCopy]?.bytes.reversed())
        try expect(world.audit(deep: true).findings.map(\.kind), equals: [.damagedFile])
        world.store.set(deflatedCopy, sound[deflatedCopy]?.bytes)
        world.store.set("for/capgo/stable.json", Array("{}".utf8))
        try expect(world.audit().findings.map(\.kind), equals: [.foreignPointer])
        let usage = try OriginUsage(of: ModelStorage(world.store))
        expect([.deflated, .facts, .documents].allSatisfy { usage[$0].count > 0 })
    }

    @Test func `rows that do not follow from those before are found`() throws {
        let world = try told()
        let key = try require(world.store.files.keys.filter { $0.hasPrefix("log/") }.max())
        let text = String(decoding: try require(world.store.files[key]).bytes, as: UTF8.self)
        for (old, new) in [
            ("\"before\":", "\"before\":1"), ("\"labelCount\":", "\"labelCount\":1"),
            ("\"rows\":", "\"raws\":"), ("\"castreeLog\":2", "\"castreeLog\":3"),
        ] {
            world.store.set(key, Array(text.replacing(old, with: new).utf8))
            do {
                try expect(world.audit().findings.map(\.kind).contains(.damagedEntry), "\(new)")
            } catch let error as StoreError {
                expect(error.code == .unsupportedFormat && new.contains("castreeLog"))
            }
        }
    }

    /// A directory from which the clients of two systems update, as an older castree left it: without a log.
    private func directory(offerCount: Int = 0) throws -> AnnouncingPlace {
        let place = try AnnouncingPlace()
        try place.publish("1")
        try place.enable(.codePush, .expo)
        try place.publish("2")
        try place.unlog()
        guard offerCount > 0 else { return place }
        var history = try place.history(.codePush)
        let first = try require(history.offers.first)
        for number in 0..<offerCount {
            var offer = first
            offer.createdAt = Int64(number)
            offer.label = "v\(number + 10)"
            history.offers.insert(offer, at: number)
        }
        history.labelCount = Int64(offerCount) + 10
        try Damage.overwriteOrCreate(
            place.origin + "/for/codepush/stable.json", with: history.serialized())
        return place
    }

    private func copy(
        _ place: AnnouncingPlace, to world: AnnouncedBucketWorld,
        schedule: @escaping RequestSchedule = { _ in .answered }
    ) throws {
        let source = try OriginCopy.directory(place.origin)
        _ = try OriginCopy(
            world.publisher(schedule: schedule), from: source, scratch: place.origin
        ).run()
    }

    @Test(arguments: [0, 1_200])
    func `a directory that is copied whole takes its labels and documents along`(
        offerCount: Int
    ) throws {
        let place = try directory(offerCount: offerCount)
        let world = try AnnouncedBucketWorld(place.store)
        let end = RequestFate.end(isApplied: true)
        for stop in offerCount == 0 ? [20, 30, 31, 32, 33, 34] : [31, 33] {
            try? copy(place, to: world) { $0.number == stop ? end : .answered }
        }
        try copy(place, to: world)
        for system in [ClientSystem.codePush, .expo] {
            try expect(world.history(system), equals: place.history(system))
        }
        try expect(world.audit(deep: true).findings, equals: [])
        expect(world.store.files["log/0000000002.json"] != nil || offerCount == 0)
        let name = String(
            decoding: try require(world.store.files["origin.json"]).bytes, as: UTF8.self)
        expect(name.contains("\"castreeOrigin\":2"))
        try world.publish("3", by: world.publisher())
        let label = offerCount == 0 ? "v3" : "v\(offerCount + 11)"
        try expect(world.history(.codePush).offers.last?.label, equals: label)
        world.checkEnd()
        expect(world.broken, equals: [])
    }
}
