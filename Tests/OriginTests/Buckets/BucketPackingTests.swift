import OriginTestSupport

@testable import Origin

@Suite struct BucketPackingTests {
    /// The packs of the first release of a channel, each read and held against its address.
    private func read(
        _ world: BucketWorld, _ channel: ChannelName = .stable
    ) throws -> [Delivery.Pack] {
        let pointers = try world.publisher("reader").pointers()
        let release = try require(pointers[channel]?.releases.first)
        let version = try require(release.version)
        let published = try require(release.delivery)
        let reader = PackReader(file: { world.store.files[$0]?.bytes }, store: world.versions.store)
        let delivery = try reader.delivery(of: version, published)
        for pack in delivery.packs {
            var base: Manifest?
            for name in ["1", "2", "3", "4", "5"] {
                guard let manifest = try? world.versions.registeredManifest(of: name),
                    try manifest.contentAddress() == pack.base
                else { continue }
                base = manifest
            }
            expect((base == nil), equals: (pack.base == nil))
            _ = try reader.read(pack, from: base, in: published.epoch)
        }
        return delivery.packs
    }

    @Test func `a release gets a pack of everything, and one from what was offered before`() throws
    {
        let world = try BucketWorld()
        let first = try world.publish("1", by: world.publisher(packs: .before))
        expect(first.packing?.packs.count, equals: 1)
        let plain = try BucketWorld(offering: "1", "2")
        let requests = world.store.requestCount
        let second = try world.publish("2", by: world.publisher(packs: .before))
        expect(second.packing?.packs.count, equals: 2)
        // Two packs and the delivery, and not one request more than without.
        let without = try plain.publish("3").figures.requestCount
        expect(world.store.requestCount - requests <= without + 3)
        let packs = try read(world)
        expect(packs.count == 2 && packs.filter { $0.base == nil }.count == 1)
        world.expectEnd()
    }

    @Test func `the same again makes nothing, sends nothing and compresses nothing`() throws {
        let world = try BucketWorld(offering: "1", "2", packs: .before)
        let before = world.store.files
        let again = try world.publish("2", by: world.publisher(packs: .before))
        expect(again.isUnchanged && again.packing == nil)
        expect(world.store.files, equals: before)
        // The store has noted what the delivery was made from; one that has not reads it.
        expect(again.figures.requestCount, equals: 4)
        let kept = "\(world.versions.store.path)/packing"
        let aside = "\(world.versions.store.path)/aside"
        try FileManager.default.moveItem(atPath: kept, toPath: aside)
        let elsewhere = try world.publish("2", by: world.publisher(packs: .before))
        expect(elsewhere.isUnchanged && elsewhere.figures.requestCount == 5)
        try FileManager.default.moveItem(atPath: aside, toPath: kept)
        // In another channel the packs are used as they stand, and what is missing is made.
        let beta = try world.publish("2", to: "beta", by: world.publisher(packs: .before))
        expect(beta.objects.count == 0 && beta.packing == nil)
        try expect(read(world, ChannelName("beta")).count, equals: 2)
        // What the store has kept serves again when the bucket has lost everything.
        for key in world.store.files.keys { world.store.set(key, nil) }
        try world.publish("1")
        let anew = try world.publisher(packs: .before).publish("2", of: world.versions)
        expect(anew.packing?.madeFrameCount, equals: 0)
        expect((anew.packing?.reusedFrameCount ?? 0) > 0)
    }

    @Test func `packs made later come to the release where it stands, once`() throws {
        let world = try BucketWorld(offering: "1", "2", "3")
        let before = try require(try world.publisher().pointers()[.stable])
        let commit = try world.publisher().pack("2", of: world.versions)
        expect(commit.pointer.sequence, equals: before.sequence + 1)
        expect(commit.pointer.releases.map(\.sequence), equals: before.releases.map(\.sequence))
        expect(commit.pointer.releases.map { $0.delivery != nil }, equals: [false, true, false])
        let files = world.store.files
        let again = try world.publisher().pack("2", of: world.versions)
        expect(again.isUnchanged && again.packing == nil)
        expect(world.store.files, equals: files)
        expectRefusal(.notOffered) { try world.publisher().pack("4", of: world.versions) }
        world.expectEnd()
    }

    @Test func `a release that is withdrawn while it is packed gets no packs`() throws {
        let world = try BucketWorld(offering: "1", "2")
        let once = Once(where: { $0.key.hasPrefix("deliveries/") && $0.verb == .put }) {
            _ = try? world.publisher("two").withdraw(VersionName("2"))
        }
        let commit = try world.publisher(schedule: { once($0) }).pack("2", of: world.versions)
        expect(once.wasReached)
        expect(commit.packing?.isWithdrawn, equals: true)
        try expect(world.offered(), equals: ["1"])
        world.expectEnd()
    }

    @Test(arguments: [true, false])
    func `packs that a prune has deleted before the commit are sent again`(
        isPublishing: Bool
    ) throws {
        let world = try BucketWorld(offering: "1", "2")
        let once = Once(where: { $0.verb == .putIfAbsent && $0.key.hasPrefix("log/") }) {
            for _ in 0..<2 {
                _ = try? OriginPruner(world.publisher("two")).prune(keeping: 9, grace: 0)
            }
        }
        let writer = world.publisher(packs: .before, schedule: { once($0) })
        let commit =
            isPublishing
            ? try writer.publish("3", of: world.versions)
            : try writer.pack("2", of: world.versions)
        expect(once.wasReached && commit.epoch >= 2)
        expect(commit.pointer.releases.first?.delivery?.epoch, equals: commit.epoch)
        try expect(read(world).count == 2 || isPublishing)
        expect(world.broken, equals: [])
    }

    @Test func `packs that stand two epochs behind are kept, in a newer epoch`() throws {
        let world = try BucketWorld(offering: "1", packs: .before)
        let old = try read(world)
        for version in ["2", "3"] {
            try world.publish(version, to: "other", by: world.publisher())
            _ = try world.publisher().withdraw(VersionName(version), from: ChannelName("other"))
            _ = try OriginPruner(world.publisher()).prune(keeping: 1, grace: 0)
        }
        let commit = try world.publisher(options: { $0.packs.baseVersions = ["5"] })
            .pack("1", of: world.versions)
        expect(commit.epoch >= 2)
        let delivery = try require(commit.pointer.releases.first?.delivery)
        expect(delivery.epoch >= commit.epoch - 1)
        let new = try read(world)
        expect(new.count == 2 && Set(new.map(\.address)).isSuperset(of: old.map(\.address)))
        expect(commit.packing?.keptPackCount, equals: 1)
        world.expectEnd()
    }

    @Test func `contents that the store is missing are fetched only if that is asked for`() throws {
        let world = try BucketWorld(offering: "1")
        let sourceStore = try BucketWorld.SourceStore(only: ["2"])
        let notices = Notices()
        let publisher = world.publisher(packs: .before, options: { $0.notice = notices.sink })
        let without = try publisher.publish("2", of: sourceStore.temporary.versions)
        expect(without.packing?.packs.map(\.version), equals: [nil])
        expect(without.fetched.byteCount, equals: 0)
        expect(notices.all.contains { $0.contains("--fetch-bases") })
        _ = try world.publisher().withdraw(VersionName("2"))
        let with = try world.publisher(packs: .before, options: { $0.packs.fetchesBases = true })
            .publish("2", of: sourceStore.temporary.versions)
        expect(with.packing?.packs.map(\.version), equals: [nil, "1"])
        expect(with.fetched.count == 1 && with.fetched.byteCount > 1_500)
        try expect(read(world).count, equals: 2)
        expect(world.broken, equals: [])
    }

    @Test func `what is missing or cut is found by looking, and sent again`() throws {
        let world = try BucketWorld(offering: "1", packs: .before)
        let object = try require(world.store.files.keys.first { $0.hasPrefix("objects/") })
        let pack = try require(world.store.files.keys.first { $0.hasPrefix("packs/") })
        let whole = try require(world.store.files[pack])
        world.store.set(object, nil)
        world.store.set(pack, Array(whole.bytes.dropLast()))
        try expect(world.publisher(packs: .before).publish("1", of: world.versions).isUnchanged)
        let verifying = world.publisher(packs: .before, options: { $0.verifiesObjects = true })
        let commit = try verifying.publish("1", of: world.versions)
        expect(commit.objects.count, equals: 1)
        expect(commit.packing?.packs.count, equals: 1)
        try expect(read(world).count, equals: 1)
        let again = try verifying.publish("1", of: world.versions)
        expect(again.isUnchanged && again.objects.count == 0)
    }

    @Test func `objects go again where their places would be too large`() throws {
        let world = try BucketWorld(offering: "1", "2", "3", "4")
        _ = try OriginPruner(world.publisher()).prune(keeping: 1, grace: 0)
        let state = try world.state()
        expect(state.entry.epoch > 0)
        let layout = ReleaseUpload(
            try world.publisher().publication(
                Publisher.describe("5", of: world.versions, ReleaseOffer()), of: world.versions,
                in: .stable, OriginLog(world.bucket())))
        // One object is on offer, in an older epoch.
        let free = try layout.plan(in: state)
        expect(free.lacking.count == 2 && Set(free.epochs) == [0, state.entry.epoch])
        layout.placesByteCountMax = Int64(Places(free.epochs).serialized().count - 1)
        let bounded = try layout.plan(in: state)
        expect(Set(bounded.epochs), equals: [state.entry.epoch])
        expect(bounded.lacking.count, equals: 3)
    }

    @Test func `an upload that has fallen two epochs behind continues under the newest`() throws {
        let world = try BucketWorld(offering: "1", "2")
        let sent = Mutex<[String]>([])
        let publisher = world.publisher(schedule: { request in
            guard request.verb == .put, request.key.contains("objects/") else { return .answered }
            let count = sent.withLock { sent -> Int in
                sent.append(request.key)
                return sent.count
            }
            if count == 1 {
                // Others prune while the first object is under way.
                for version in ["5", "3"] {
                    _ = try? world.publish(version, to: "other", by: world.publisher("two"))
                    _ = try? world.publisher("two").withdraw(
                        VersionName(version), from: ChannelName("other"))
                    _ = try? OriginPruner(world.publisher("two")).prune(keeping: 9, grace: 0)
                }
                world.store.clock.advance(700)
            }
            return .answered
        })
        let commit = try world.publish("4", by: publisher)
        expect(commit.epoch >= 2)
        // The first one went twice; no other was sent in vain.
        let keys = sent.withLock { $0 }
        expect(keys.filter { !$0.hasPrefix("e/\(commit.epoch)/") }.count, equals: 1)
        world.expectEnd()
    }
}
