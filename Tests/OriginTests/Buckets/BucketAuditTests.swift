import OriginTestSupport

@testable import Origin

/// `fsck s3://…`: docs/buckets.md, *Checking and repairing*.
@Suite("A check of a bucket") struct BucketAuditTests {
    @Test(
        "finds nothing wrong with what publishers and pruners leave, and changes nothing",
        arguments: places)
    func clean(_ kind: OriginPlace) throws {
        let audited = try AuditedWorld(in: kind)
        let before = try audited.contents()
        let report = try audited.audit()
        expect(report.findings == [] && report.strays == StrayKeys())
        expect(
            report.entry == audited.entryCount && report.entryCount == audited.entryCount
                && report.channelCount == 2)
        expect(report.needed.count > 6 && report.read.count >= report.needed.count)
        try expect(audited.contents(), equals: before)
    }

    @Test func `reads entries once where tags are no digests, as with encryption by KMS`() throws {
        let audited = try AuditedWorld()
        func readCount(_ tag: String?) throws -> Int {
            let asked = Mutex(0)
            var bucket = LyingStorage(ModelStorage(audited.store))
            bucket.tag = EntityTag(tag ?? "")
            bucket.content = { key in
                guard key.hasPrefix("log/") else { return nil }
                asked.withLock { $0 += 1 }
                return audited.store.files[key]?.bytes
            }
            try expect(audited.audit(bucket).findings, equals: [])
            return asked.withLock { $0 }
        }
        let count = try readCount(nil)
        try expect(
            count >= audited.entryCount
                && readCount(String(repeating: "ab", count: 16)) == count + 1)
    }

    struct Damage: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var kind: OriginFinding.Kind
        /// A key, or the kind of those that the release in beta needs.
        var key: String
        var change: @Sendable ([UInt8], AuditedWorld) throws -> [UInt8]?

        init(
            _ name: String, _ kind: OriginFinding.Kind, _ key: String,
            _ change: @escaping @Sendable ([UInt8], AuditedWorld) throws -> [UInt8]? = { _, _ in nil
            }
        ) {
            (testDescription, self.kind, self.key, self.change) = (name, kind, key, change)
        }

        /// Whether a repair from the store puts it right.
        var isMended: Bool { [.missingFile, .damagedFile, .wrongPointer].contains(kind) }

        /// - Returns: the key at which it is found.
        func inflict(on audited: AuditedWorld) throws -> String {
            let key = key.contains(".") ? key : try audited.key(of: key)
            try audited.set(key, change(audited.contents()[key] ?? [], audited))
            return key
        }
    }

    private static let lostObject = Damage("lost object", .missingFile, "objects")
    private static let changedManifest = Damage("changed manifest", .damagedFile, "manifests") {
        bytes, _ in
        var bytes = bytes
        bytes[bytes.count / 2] ^= 1
        return bytes
    }
    private static let third = OriginLayout.logEntry(3)

    static let damages =
        ["objects", "manifests", "places"].flatMap { kind in
            [
                Damage("lost \(kind)", .missingFile, kind),
                Damage("cut \(kind)", .damagedFile, kind) { bytes, _ in Array(bytes.dropLast()) },
                Damage("changed \(kind)", .damagedFile, kind, changedManifest.change),
            ]
        } + [
            Damage("old pointer", .wrongPointer, "channels/stable.json") { _, audited in
                let log = try OriginLog(audited.storage())
                return try log.pastEntry(2).pointers[.stable]?.serialized()
            },
            Damage("lost pointer", .wrongPointer, "channels/beta.json"),
            Damage("junk pointer", .wrongPointer, "channels/beta.json") { _, _ in Array("{}".utf8)
            },
            Damage("pointer beyond", .wrongPointer, "channels/stable.json") { bytes, _ in
                let text = String(decoding: bytes, as: UTF8.self)
                return Array(text.replacing(/"log":[0-9]+,/, with: "\"log\":9999999999,").utf8)
            },
            Damage("lost list", .wrongPointer, "channels.json"),
            Damage("junk list", .wrongPointer, "channels.json") { _, _ in Array("{".utf8) },
            Damage("lost marker", .missingFile, "origin.json"),
            Damage("foreign pointer", .foreignPointer, "channels/gamma.json") { _, _ in
                ChannelPointer.empty(try ChannelName("gamma"), now: 1).serialized()
            },
            Damage("lost entry", .missingEntry, third),
            Damage("junk entry", .damagedEntry, third) { bytes, _ in Array(bytes.dropLast(9)) },
            Damage("large entry", .damagedEntry, third) { _, _ in
                [UInt8](repeating: 32, count: 2 << 20)
            },
            Damage("copied entry", .damagedEntry, third) { bytes, audited in
                let log = try OriginLog(audited.storage())
                let (author, other) = try (log.entry(2)?.author, log.entry(3)?.author)
                let text = String(decoding: bytes, as: UTF8.self)
                return try Array(text.replacing(require(other), with: require(author)).utf8)
            },
        ]

    @Test(
        "finds each damage by itself, and a repair puts right what it can",
        arguments: damages, places)
    func damage(_ damage: Damage, _ kind: OriginPlace) throws {
        let audited = try AuditedWorld(in: kind)
        let sound = try audited.contents()
        let key = try damage.inflict(on: audited)
        let hurt = try audited.contents()
        let found = try audited.audit()
        expect(found.findings.map(\.kind), equals: [damage.kind])
        expect(found.findings.first?.path, equals: key)
        expect(found.findings.allSatisfy { !$0.isRepaired })
        try expect(audited.contents(), equals: hurt)

        let repaired = try audited.audit(repairingFrom: [audited.world.versions])
        expect(repaired.findings.map(\.kind), equals: [damage.kind])
        expect(repaired.findings.allSatisfy { $0.isRepaired == damage.isMended })
        guard damage.isMended else { return }
        try expect(audited.audit().findings, equals: [])
        try expect(audited.contents(), equals: sound)
    }

    @Test
    func `of sizes alone reads no objects, and asks for what a listing does not show`() throws {
        let audited = try AuditedWorld()
        let object = try audited.key(of: "objects")
        let bucket = ModelStorage(
            audited.store, schedule: { $0.verb == .list ? .unlisted(object) : .answered })
        let read = Notices()
        let watched = ModelStorage(
            audited.store,
            afterEach: { request in read.add("\(request.verb) \(request.key)") }
        )
        try expect(audited.audit(bucket) { $0.check.isDeep = false }.findings, equals: [])
        try expect(audited.audit(watched) { $0.check.isDeep = false }.findings, equals: [])
        expect(!read.all.contains { $0.hasPrefix("get") && $0.contains("objects/") })
    }

    @Test("reads the share of the files that it is told to, and says before how much that is")
    func sample() throws {
        let audited = try AuditedWorld()
        let told = Mutex<(Int, Int64)>((0, 0))
        let all = try audited.audit {
            $0.willRead = { count, bytes in told.withLock { $0 = (count, bytes) } }
        }
        expect(told.withLock { $0.0 } > 3 && told.withLock { $0.1 } <= all.read.byteCount)
        let some = try audited.audit { $0.check.sample = .init(share: 0.3, seed: 1) }
        expect(some.read.count < all.read.count)
        expect(some.needed, equals: all.needed)
    }

    @Test(arguments: OriginPlace.timed)
    func `counts what is not castree's, and leaves it alone`(_ kind: OriginPlace) throws {
        let audited = try AuditedWorld(in: kind)
        // Numbers beyond those that castree writes are not its either.
        let strays = [
            "channels/README", "e/01/objects/ab/cd", "e/\(Int64.max)/objects/ab/cd",
            "log/10000000000.json", "log/17.json", "log/\(Int64.max).json", "notes.txt",
            "trust/\(Int64.max).json",
        ]
        for key in strays { try audited.set(key, [1]) }
        let report = try audited.audit(repairingFrom: [audited.world.versions])
        expect(report.findings == [] && report.strays.keys == strays)
        expect(report.strays.figures.count == 8 && report.strays.figures.byteCount == 8)
        try expect(audited.contents()["notes.txt"] != nil)
        try expect(OriginUsage(of: audited.storage()).strays, equals: report.strays)
        // However many there are, some are named.
        for number in 1...150 { try audited.set("old/\(number)", [1, 2]) }
        let many = try audited.audit().strays
        expect(many.figures.count == 158 && many.figures.byteCount == 308)
        expect(many.keys.count == StrayKeys.countMax && many.keys == many.keys.sorted())
    }

    @Test func `counts a release once, with whatever packs it is and was offered`() throws {
        let world = try BucketWorld(offering: "1")
        _ = try world.publisher().pack("1", of: world.versions)
        try world.publish("1", to: "beta")
        // The entries that are kept offer it with and without packs.
        let log = OriginLog(ModelStorage(world.store))
        try expect(log.liveReleases(keptFrom: 1, upTo: world.state()).count, equals: 2)
        try expect(OriginAudit(ModelStorage(world.store)).run().releaseCount, equals: 1)
    }

    @Test(arguments: places)
    func `says what a gap of any size is missing`(_ kind: OriginPlace) throws {
        let audited = try AuditedWorld(in: kind)
        let count = audited.entryCount
        try audited.set("log/9999999998.json", audited.bytes(OriginLayout.logEntry(Int64(count))))
        let report = try audited.audit()
        expect(
            report.findings.contains {
                $0.kind == .missingEntry && $0.message.contains("\(count + 1) to 9999999997")
            })
        expect(report.entry, equals: Int64(count))
    }

    @Test(arguments: places)
    func `leaves what no store here has, and says so`(_ kind: OriginPlace) throws {
        let audited = try AuditedWorld(in: kind)
        let key = try Self.lostObject.inflict(on: audited)
        let empty = try TemporaryStore()
        let report = try audited.audit(repairingFrom: [empty.versions])
        expect(report.findings.map(\.path), equals: [key])
        expect(report.findings.allSatisfy { !$0.isRepaired })
    }

    enum Beside: CaseIterable, Sendable {
        case pruning, publishing

        func run(_ world: BucketWorld) throws {
            let publisher = world.publisher("other")
            switch self {
            case .pruning:
                // All that it finds unneeded goes at once.
                _ = try publisher.withdraw(VersionName("5"))
                for _ in 0..<2 { _ = try OriginPruner(publisher).prune(keeping: 1, grace: 0) }
            case .publishing:
                for (version, channel) in [("1", "new"), ("3", "stable"), ("4", "beta")] {
                    try world.publish(version, to: channel, by: publisher)
                }
            }
        }
    }

    @Test(arguments: Beside.allCases)
    func `beside others who meet it between any two requests finds nothing wrong`(
        _ beside: Beside
    ) throws {
        let sourceStore = try BucketWorld.SourceStore()
        let count = try TestShare(oneIn: 4, of: "audit beside \(beside)").count { number in
            let audited = try AuditedWorld(sourceStore)
            let world = audited.world
            let once = Once(at: number + 1) { try? beside.run(world) }
            let bucket = ModelStorage(audited.store, actor: "check", schedule: { once($0) })
            let findings = try audited.audit(bucket).findings
            expect(findings, equals: [], "before request \(number + 1)")
            return once.wasReached && findings.isEmpty
        }
        expect(count < 200)
    }

    @Test(arguments: places)
    func `waits for what a publisher is about to write`(_ kind: OriginPlace) throws {
        let audited = try AuditedWorld(in: kind)
        let sound = try audited.contents()
        let old = try OriginLog(audited.storage()).pastEntry(2).pointers[.stable]?.serialized()
        let copies = sound.keys.filter { $0.hasPrefix("channels") }.sorted()
        expect(copies.count, equals: 3)
        for (key, before) in copies.map({ ($0, nil) }) + [("channels/stable.json", old)] {
            try audited.set(key, before)
            let pauseCount = Mutex(0)
            let report = try audited.audit {
                $0.pause = { _ in
                    let count = pauseCount.withLock { (count) -> Int in
                        count += 1
                        return count
                    }
                    if count == 3 { try? audited.set(key, sound[key]) }
                }
            }
            expect(report.findings, equals: [], "\(key)")
        }
    }

    @Test("repairs from another origin: a directory that is a copy of it, or one without epochs")
    func fromOrigin() throws {
        for isCopy in [true, false] {
            let audited = try AuditedWorld()
            let place = try PublishingPlace()
            for (path, file) in audited.files where isCopy { try place.set(path, file.bytes) }
            for version in ["2", "4", "5"] where !isCopy {
                try place.publisher().publish(version, of: audited.world.versions)
            }
            for damage in [Self.lostObject, Self.changedManifest] {
                _ = try damage.inflict(on: audited)
            }
            let report = try OriginAudit(
                ModelStorage(audited.store), repairingFrom: place.mender(into: place.versions)
            ).run()
            expect(report.findings.count == 2 && report.findings.allSatisfy(\.isRepaired))
            try expect(audited.audit().findings, equals: [])
        }
    }

    @Test func `knows packs and deliveries of what was copied there`() throws {
        let place = try PublishingPlace(offering: "1")
        _ = try place.publisher(packs: .before).publish("2", of: place.versions)
        let store = ModelStore()
        for (path, bytes) in try place.published() { store.set(path, bytes) }
        // Packs that stand in the copy alone.
        _ = try ModelStorage(store).publisher { $0.takesOver = true }.publish(
            "1", of: place.versions, as: ReleaseOffer(channel: ChannelName("beta")))
        let options = OriginAuditOptions.hasty(isDeep: true)
        try expect(OriginAudit(ModelStorage(store), options).run().findings, equals: [])
        try expect(OriginUsage(of: ModelStorage(store))[.packs].count >= 1)
        let packs = store.files.keys.filter { $0.hasPrefix("packs/") }.sorted()
        let delivery = try require(store.files.keys.first { $0.hasPrefix("deliveries/") })
        let pack = try require(packs.first)
        let bytes = try require(store.files[pack]).bytes
        store.set(pack, bytes.reversed())
        let found = try OriginAudit(ModelStorage(store), options).run().findings
        expect(found.map(\.kind) == [.damagedFile] && found.first?.path == pack)
        // A copy of the origin has what no store keeps.
        let aside = try TemporaryStore()
        store.set(delivery, nil)
        let repaired = try OriginAudit(
            ModelStorage(store), options, repairingFrom: place.mender(into: aside.versions)
        ).run()
        expect(repaired.findings.count == 2 && repaired.findings.allSatisfy(\.isRepaired))
        try expect(OriginAudit(ModelStorage(store), options).run().findings, equals: [])
    }

    @Test func `of a place without an origin says so`() throws {
        expectRefusal(.noOrigin) { try OriginAudit(ModelStorage(ModelStore())).run() }
    }
}
