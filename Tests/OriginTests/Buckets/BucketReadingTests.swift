import OriginTestSupport

/// `du s3://…` and `channels s3://…`: docs/buckets.md, *Checking and repairing*.
@Suite("Looking at a bucket") struct BucketReadingTests {
    @Test(
        "tells all files and bytes, each once, by who needs them and by what they are",
        arguments: OriginPlace.timed)
    func usage(_ kind: OriginPlace) throws {
        let audited = try AuditedWorld(in: kind)
        let usage = try OriginUsage(of: audited.storage())
        let named = audited.files.filter { OriginKey(path: $0.key) != nil }
        // What stands in epochs; scratch, which goes with the garbage, has none.
        let parts = [usage.offered, usage.inGrace, usage.waiting] + Array(usage.garbage.values)
        let kinds = OriginUsage.Kind.allCases.prefix(5).map { usage[$0] }
        for figures in [parts, kinds] {
            expect(figures.reduce(0) { $0 + $1.count }, equals: named.count)
            expect(
                figures.reduce(0) { $0 + $1.byteCount },
                equals: named.values.reduce(0) { $0 + Int64($1.bytes.count) })
        }
        expect(usage[.places].count > 0 && usage[.log].count == audited.entryCount)
        expect(usage[.pointers].count == 4 && usage[.scratch].count == 0)
        expect(usage.figures.requestCount < 40)
        _ = try audited.world.publisher().withdraw(VersionName("5"))
        try expect(OriginUsage(of: ModelStorage(audited.store)).inGrace.count > 0)
    }

    @Test(arguments: places)
    func `says of each release what only it has`(_ kind: OriginPlace) throws {
        let audited = try AuditedWorld(in: kind)
        let usage = try OriginUsage(of: audited.storage())
        let names = usage.releases.map { "\($0.channel) \($0.version)" }
        expect(names, equals: ["beta 2", "stable 5", "stable 4"])
        for release in usage.releases {
            expect(0...release.byteCount ~= release.uniqueByteCount)
        }
        // Each has a manifest of its own.
        expect(usage.releases.allSatisfy { $0.uniqueByteCount > 0 })
        let all = usage.releases.reduce(0) { $0 + $1.uniqueByteCount }
        expect(all <= usage.offered.byteCount)
    }

    @Test func `shows what any pruner may delete, by epoch`() throws {
        let audited = try AuditedWorld()
        let address = try address(of: "nobody's")
        for epoch in [0, 1] as [Int64] {
            audited.store.set(
                OriginLayout.path(.object, address, in: epoch), Array("nobody's".utf8))
        }
        let usage = try OriginUsage(of: ModelStorage(audited.store))
        expect(
            usage.garbage.keys.sorted(), equals: (0...max(usage.epoch - 2, 0)).prefix(2).map(\.self)
        )
        expect(usage.garbage[0]?.byteCount, equals: 8)
    }

    @Test(arguments: places)
    func `shows the log's pointers, whatever devices see`(_ kind: OriginPlace) throws {
        let audited = try AuditedWorld(in: kind)
        try audited.set("channels/stable.json", nil)
        let all = try OriginChannels(audited.storage()).offered()
        expect(all.reason == nil && all.pointers.map(\.channel.description) == ["beta", "stable"])
        expect(
            all.pointers[1].releases.compactMap { $0.version?.name.description },
            equals: ["5", "4"])
        let one = try OriginChannels(audited.storage()).offered(ChannelName("beta"))
        expect(one.pointers.map(\.channel.description), equals: ["beta"])
        // What packs lead from may be listed there.
        expect(one.others.map(\.channel.description), equals: ["stable"])
    }

    @Test func `shows devices' copies to those who may not read the log`() throws {
        let audited = try AuditedWorld()
        let reader = ModelStorage(audited.store, rights: [.get])
        let seen = try OriginChannels(reader).offered()
        expect(seen.pointers.map(\.channel.description), equals: ["beta", "stable"])
        expect(seen.reason?.contains("may not be read"), equals: true)
        let stranger = ModelStorage(audited.store, rights: [])
        expectRefusal(.accessDenied) { try OriginChannels(stranger).offered() }
        let nobody = ModelStorage(ModelStore())
        expectRefusal(.notFound) { try OriginChannels(nobody).offered() }
    }

    @Test func `counts as garbage what a prune deletes, scratch among it`() throws {
        let world = try BucketWorld(offering: "1")
        world.store.set("probe/\(String(repeating: "a", count: 32))", [1, 2, 3])
        let usage = try OriginUsage(of: ModelStorage(world.store))
        let garbage = usage.garbage.values.reduce(usage[.scratch], +)
        let audit = try OriginAudit(ModelStorage(world.store), .hasty()).run()
        let prune = try OriginPruner(world.publisher()).prune(
            keeping: 1, grace: 3_600, isDryRun: true)
        expect(garbage.count == 2 && audit.garbage == garbage)
        expect(prune.garbage.count == 2 && prune.garbage.byteCount == garbage.byteCount)
    }

    @Test func `tells how many keys it has seen while it lists them`() throws {
        let audited = try AuditedWorld()
        audited.store.dialect.pageCountMax = 5
        var seen: [Int] = []
        _ = try OriginUsage(of: ModelStorage(audited.store)) { seen.append($0) }
        expect(seen.count > 3 && seen == seen.sorted())
        expect(seen.last, equals: audited.files.keys.count { !$0.hasPrefix("log/") })
    }

    @Test func `names the channel that lists what a pack leads from`() throws {
        let world = try BucketWorld()
        try world.publish("1", to: "beta")
        try world.publish("2", by: world.publisher(packs: .before))
        let channels = OriginChannels(ModelStorage(world.store))
        for only in [nil, ChannelName.stable] {
            let offered = try channels.offered(only)
            let pointer = try require(offered.pointers.last)
            let release = try require(pointer.releases.first)
            let delivery = try require(try channels.deliveries(of: [pointer]).values.first)
            let entries = DeliveryEntry.all(
                of: delivery, release, in: pointer, besides: offered.pointers + offered.others)
            let entry = try require(entries.last)
            expect(entry.version == "1" && entry.channel?.description == "beta")
            let sentence = entry.sentence(to: "2") { "\($0) B" }
            expect(sentence.hasPrefix("2 from 1 of channel beta: "))
            let alone = try require(DeliveryEntry.all(of: delivery, release, in: pointer).last)
            expect(
                alone.sentence(to: "2") { "\($0) B" }.contains(
                    "from a content that no channel here lists"))
        }
    }

    @Test(
        "of a directory that is the copy of a bucket: its channels and what they offer can be had")
    func directory() throws {
        let audited = try AuditedWorld()
        let place = try PublishingPlace()
        for (path, file) in audited.files { try place.set(path, file.bytes) }
        let access = OriginAccess(over: DirectoryTransport(place.origin))
        try expect(
            access.pointers(of: place.origin).map(\.channel.description),
            equals: ["beta", "stable"])
        let device = try TemporaryStore()
        var options = PullOptions.hasty
        options.channel = "beta"
        let pull = Pull(
            into: device.versions, over: DirectoryTransport(place.origin), options)
        try expect(pull.run(place.origin)?.version, equals: "2")
    }
}
