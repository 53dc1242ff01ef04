import BucketTestSupport
import HotPush
import Origin

@testable import ClientSystems

/// Origins in buckets from which the clients of other systems update.
@Suite struct AnnouncedBucketTests {
    @Test func `the log alone makes every history and configuration again`() throws {
        let world = try AnnouncedBucketWorld(offering: "1")
        try world.enable(.codePush, .expo) { $0.historyCount = 2 }
        for version in ["2", "3", "4", "1", "2", "3"] {
            try world.publish(version, by: world.publisher())
            if version == "4" { try world.prune(keeping: 2) }
        }
        let files = world.store.files
        let copies = world.clientFiles.filter { $0.hasSuffix(".json") && $0.hasPrefix("for/") }
        expect(copies.count, equals: 4)
        for (number, damage) in [nil, Array("{}".utf8), files["channels/stable.json"]?.bytes]
            .enumerated()
        {
            for copy in copies { world.store.set(copy, damage) }
            if number == 1 {
                // A copy of an older entry, too, that somebody has altered.
                let text = String(decoding: try require(files[copies[1]]).bytes, as: UTF8.self)
                world.store.set(
                    copies[1],
                    Array(text.replacing("https", with: "http").replacing("v", with: "w").utf8))
            }
            try world.publish("3", by: world.publisher())
            for copy in copies {
                expect(
                    world.store.files[copy]?.bytes, equals: files[copy]?.bytes, "\(copy) \(number)")
            }
        }
        world.checkEnd()
        expect(world.broken.filter { $0.hasSuffix("the end") }, equals: [])
    }

    @Test func `who is slower gets the next label, and a document of its own`() throws {
        let world = try AnnouncedBucketWorld(offering: "1")
        try world.enable(.codePush, .expo)
        let (announcing, notices) = (world.announcing(), Notices())
        let slow = world.publisher("slow") { request in
            if request.verb == .putIfAbsent, request.key.hasPrefix("log/"),
                world.store.files["log/0000000007.json"] == nil
            {
                _ = try? world.publish("3", by: world.publisher("fast"))
            }
            return .answered
        } options: {
            ($0.announcing, $0.notice) = (announcing, notices.sink)
        }
        try world.publish("2", by: slow)
        let offers = try world.history(.codePush).offers
        expect(offers.map(\.label), equals: ["v1", "v2", "v3"])
        expect(offers.compactMap(\.version?.name.description), equals: ["1", "3", "2"])
        let times = try world.history(.expo).offers.map(\.createdAt)
        expect(times == times.sorted() && Set(times).count == 3)
        // Nothing of the first attempt is reported, and nothing twice.
        expect(announcing.outcomes.map(\.prepared?.offer.label), equals: ["v3", nil])
        expect(Set(notices.all).count == notices.all.count, "\(notices.all)")
        world.checkEnd()
        expect(world.broken, equals: [])
    }

    @Test func `what no release and no history needs goes with a prune, and all else stays`() throws
    {
        let world = try AnnouncedBucketWorld(offering: "1")
        try world.enable(.codePush, .expo) { $0.historyCount = 1 }
        for version in ["2", "3", "4"] { try world.publish(version, by: world.publisher()) }
        for _ in 0..<6 { try world.prune() }
        // A history drops offers with the next one.
        try world.publish("3", by: world.publisher())
        for _ in 0..<6 { try world.prune() }
        let files = world.store.files.keys
        expect(files.filter { $0.contains("facts/") }.count, equals: 1)
        // Version 3 has three files.
        expect(files.filter { $0.contains("deflated/") }.count, equals: 3)
        let documents = Set(try world.history(.expo).offers.flatMap(\.documents).map(\.address))
        expect(files.filter { $0.contains("documents/") }.count, equals: documents.count)
        expect(documents.count, equals: 2)
        // A release of a later epoch has its deflated copies where they stand.
        try world.publish("2", by: world.publisher())
        let pointer = try require(try world.publisher().pointers()[.stable])
        let existing = try require(pointer.releases.first?.facts)
        expect(existing.epoch > 0 && existing.places != nil)
        world.checkEnd()
        expect(world.broken, equals: [])
    }

    @Test
    func `damaged facts keep all deflated copies, and no prune from deleting them in the end`()
        throws
    {
        let world = try AnnouncedBucketWorld(offering: "1")
        try world.enable(.codePush, by: world.publisher())
        let facts = try require(world.store.files.keys.first { $0.contains("facts/") })
        for version in ["2", "3", "4"] { try world.publish(version, by: world.publisher()) }
        let deflatedCopies = { world.store.files.keys.filter { $0.contains("deflated/") }.sorted() }
        let all = deflatedCopies()
        world.store.set(facts, [1])
        // Not the world's publisher: it holds that no file of an origin is ever damaged.
        let pruner = OriginPruner(
            OriginPublisher(ModelStorage(world.store), now: { world.store.clock.now }))
        // As long as it may be read that a release has them.
        for _ in 0..<3 { _ = try pruner.prune(keeping: 1, grace: 3_600) }
        expect(deflatedCopies(), equals: all)
        for _ in 0..<6 {
            world.store.clock.advance(3_600)
            _ = try pruner.prune(keeping: 1, grace: 3_600)
        }
        // Version 4 has three files.
        expect(deflatedCopies().count == 3 && world.store.files[facts] == nil)
        expect(world.store.files.keys.filter { $0.contains("facts/") }.count, equals: 1)
        world.checkEnd()
    }

    @Test func `a pointer says in which epochs facts and deflated copies stand, or is refused`()
        throws
    {
        let digits = String(repeating: "0a", count: 32)
        func pointer(_ fields: String) throws -> ChannelRelease? {
            let text = """
                {"castreeChannel":1,"channel":"stable","createdAt":1,"log":9,"releases":[{"content":"\(digits)",\
                "createdAt":1,\(fields)"manifest":"\(digits)","manifestBytes":9,"sequence":1,"version":"1"}],"sequence":1}

                """
            let pointer = try ChannelPointer(parsing: Array(text.utf8), of: .stable)
            expect(String(decoding: pointer.serialized(), as: UTF8.self), equals: text)
            return pointer.releases.first
        }
        let facts = "\"facts\":\"\(digits)\","
        let plain = try require(pointer(facts)?.facts)
        expect(plain.epoch == 0 && plain.places == nil)
        try expect(pointer(facts + "\"factsEpoch\":8,")?.facts?.epoch, equals: 8)
        let placed = facts + "\"factsEpoch\":3,\"factsPlaces\":\"\(digits)\","
        try expect(pointer(placed)?.facts?.places != nil)
        for fields in [
            "\"factsEpoch\":3,", facts + "\"factsEpoch\":9,", facts + "\"factsEpoch\":-1,",
            facts + "\"factsPlaces\":\"\(digits)\",", facts + "\"factsEpoch\":\"3\",",
        ] {
            #expect(throws: StoreError.self, "\(fields)") { _ = try pointer(fields) }
        }
    }

    /// A release of thousands of files that are signed one by one takes as much of the log as any: what grows with it is a
    /// document.
    @Test func `an entry of the log does not grow with the signed files of a release`() throws {
        struct Signer: ClientSigner {
            // As long as one of RSA with 2,048 bits.
            func sign(_ message: [UInt8]) throws(StoreError) -> [UInt8] {
                [UInt8](repeating: message.first ?? 0, count: 256)
            }
        }
        let sourceStore = try TemporaryStore()
        var files = ["index.ios.bundle": "run()"]
        // Their signatures alone are more than an entry may have.
        for number in 0..<3100 { files["assets/\(number).png"] = "\(number % 5)" }
        try sourceStore.add("1", files)
        let world = try AnnouncedBucketWorld(sourceStore)
        let publisher = world.publisher()
        try world.publish("1", by: publisher)
        let configuration = ClientConfiguration(
            .hotUpdater, baseURL: "https://u.example.org",
            deployments: ["ios/production": .stable])
        let announcing = ClientAnnouncing(
            rules: [HotUpdater.self], signers: [.hotUpdater: Signer()])
        _ = try announcing.enable(configuration, by: publisher, with: world.versions)
        let offer = try require(try world.history(.hotUpdater).offers.last)
        let document = try require(offer.documents.first)
        let path = OriginLayout.clientDocument(document.address, of: "hot-updater")
        let manifest = String(decoding: try require(world.store.files[path]).bytes, as: UTF8.self)
        expect(manifest.split(separator: "\"signature\"").count, equals: files.count + 1)
        expect(manifest.utf8.count > 1 << 20 && offer.manifestDigest == document.address)
        let entries = world.store.files.filter { $0.key.hasPrefix("log/") }
        expect(entries.values.allSatisfy { $0.bytes.count < 8 << 10 })
        expect(world.broken, equals: [])
    }
}
