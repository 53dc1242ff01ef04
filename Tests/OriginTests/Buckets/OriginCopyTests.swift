import OriginTestSupport

/// A directory's origin copied whole into a bucket or another directory, with a log and without: docs/buckets.md.
@Suite struct OriginCopyTests {
    /// An origin in a directory that offers two versions, with packs.
    private func directory(hasLog: Bool = false) throws -> PackingFixture {
        let fixture = try PackingFixture(scale: 10, publishing: "r1", "r2")
        if !hasLog { try fixture.place.forgetLog() }
        return fixture
    }

    private func copy(
        _ fixture: PackingFixture, to world: BucketWorld,
        schedule: @escaping RequestSchedule = { _ in .answered }
    ) throws -> OriginCopy.Report {
        let source = try OriginCopy.directory(fixture.place.origin)
        return try OriginCopy(
            world.publisher(schedule: schedule), from: source, scratch: fixture.place.origin
        ).run()
    }

    /// All of an origin that a copy takes along.
    private func files(_ all: [String: [UInt8]]) -> [String: [UInt8]] {
        all.filter { !$0.key.hasPrefix("probe/") && $0.key != "origin.json" }
    }

    @Test(arguments: places, places)
    func `all of it is copied, byte by byte, and published to as before`(
        from: OriginPlace, to: OriginPlace
    ) throws {
        for hasLog in from == .directory ? [true, false] : [true] {
            let place = try PackingFixture(scale: 10, in: from, publishing: "r1", "r2").place
            if !hasLog { try place.forgetLog() }
            let before = try place.published()
            let target = place.at(to, "copy")
            let report = try place.copy(to: target)
            expect(report.channelCount == 1 && report.behind.isEmpty && report.foundCount == 0)
            let copied = files(try target.published()).filter {
                hasLog || !$0.key.hasPrefix("log/")
            }
            expect(copied.keys.sorted(), equals: files(before).keys.sorted())
            for (path, bytes) in copied where path != "channels/stable.json" || hasLog {
                expect(before[path], equals: bytes, "\(path)")
            }
            try expect(place.published(), equals: before)
            try expect(target.offered(), equals: ["r2", "r1"])
            let commit = try target.publisher(packs: .before).publish("r1", of: target.versions)
            expect(commit.objects.count, equals: 0)
        }
    }

    @Test(arguments: OriginPlace.timed, [true, false])
    func `a copy that was killed anywhere continues, and is an origin like any other`(
        kind: OriginPlace, hasLog: Bool
    ) throws {
        let place = try directory(hasLog: hasLog).place
        let whole = try place.copy(to: place.at(kind, "whole"))
        let count = try TestShare(oneIn: 9).count { point in
            let target = place.at(kind, "copy-\(point)")
            let steps = EndingSteps(after: point, isApplied: point % 2 == 0)
            _ = try? place.copy(to: target, ending: steps)
            // Nobody sees anything of it before it is whole.
            if try target.pointer() != nil {
                try expect(target.bytes("log/0000000001.json") != nil)
                try expect(target.read()?.version, equals: "r2", "\(point)")
            }
            let again = try place.copy(to: target)
            expect(again.sent.count + again.foundCount <= whole.sent.count || kind == .directory)
            let audit = try OriginAudit(target.storage(), .hasty(isDeep: true))
            try expect(audit.run().findings, equals: [], "\(point)")
            try expect(target.offered(), equals: ["r2", "r1"])
            try expect(target.publish("1").objects.count > 0)
            try target.restore([:])
            return steps.wereReached
        }
        expect(count > 3)
    }

    @Test func `a copy that was cut short is told from a log that has lost its beginning`() throws {
        let place = try directory(hasLog: true).place
        let target = place.withOrigin("target")
        try place.copy(to: target)
        // The first entry is written last, and then the pointers.
        for name in ["log/0000000001.json", "channels", "channels.json"] {
            Damage.remove("\(target.origin)/\(name)")
        }
        let found = try OriginAudit(OriginCopy.directory(target.origin)).run().findings
        expect(found.map(\.kind), equals: [.missingEntry])
        expect(found[0].message.contains("publish --all-of"))
        expectRefusal(saying: "publish --all-of") { try target.publish("1") }
        let other = try PublishingPlace()
        for version in ["1", "2", "1", "2"] { try other.publish(version) }
        let occupied = expectRefusal(saying: "repeat that one") { try other.copy(to: target) }
        expect(occupied?.message.contains("publish to it"), equals: false)
        try place.copy(to: target)
        try target.publish("1")
    }

    @Test func `places whose long paths begin alike are two`() throws {
        let name = (0..<6).map { _ in String(repeating: "d", count: 200) }.joined(separator: "/")
        let (one, other) = ("\(name)/one", "\(name)/one-more")
        let place = try PublishingPlace().withOrigin(one)
        try Damage.makeDirectory(place.store.directory.appending(name))
        try place.publish("1")
        try expect(place.copy(to: place.withOrigin(other)).channelCount, equals: 1)
    }

    @Test func `nothing is copied into itself`() throws {
        let fixture = try directory(hasLog: true)
        let before = try fixture.place.published()
        let source = try OriginCopy.directory(fixture.place.origin)
        let engine = try fixture.publisher().engine()
        expectRefusal(.badOrigin) {
            try OriginCopy(engine, from: source, scratch: fixture.place.origin).run()
        }
        try expect(fixture.place.published(), equals: before)
    }

    @Test func `an origin whose clients of other systems need what is not there is not copied`()
        throws
    {
        let fixture = try directory()
        let path = fixture.place.origin + "/channels/stable.json"
        let text = String(decoding: try Damage.contents(path), as: UTF8.self)
        let facts = "\"facts\":\"\(String(repeating: "ab", count: 32))\",\"manifest\":"
        let told = text.replacing("\"manifest\":", with: facts, maxReplacements: 1)
        try Damage.overwriteOrCreate(path, with: Array(told.utf8))
        let world = try BucketWorld()
        expectRefusal(.damagedOrigin, saying: String(repeating: "ab", count: 32)) {
            try copy(fixture, to: world)
        }
        expect(world.store.files.keys.filter { !$0.hasPrefix("probe/") }, equals: [])
    }

    @Test func `publishers of the directory wait while it is copied`() throws {
        let fixture = try directory()
        let refusals = Mutex<[StoreError.Code?]>([])
        let world = try BucketWorld()
        _ = try copy(fixture, to: world) { request in
            if request.verb == .put, refusals.withLock({ $0.isEmpty }) {
                let other = fixture.publisher { $0.waitLimit = .zero }
                let found = [
                    code { try other.publish("r1", of: fixture.place.versions) },
                    code { try other.withdraw(VersionName("r2")) }, code { try other.collect() },
                ]
                refusals.withLock { $0 = found }
            }
            return .answered
        }
        expect(refusals.withLock { $0 }, equals: [.busy, .busy, .busy])
        try expect(world.offered(), equals: ["r2", "r1"])
    }

    @Test func `pointers that do not fit into one entry are refused before a file is sent`() throws
    {
        let fixture = try directory()
        let path = "\(fixture.place.origin)/channels"
        var pointer = try ChannelPointer(
            parsing: Damage.contents("\(path)/stable.json"), of: .stable)
        pointer.foreign = [
            .init(key: "notes", value: .string(String(repeating: "x", count: 240_000)))
        ]
        for name in ["a", "b", "c", "d", "e"] {
            pointer.channel = try ChannelName(name)
            try Data(pointer.serialized()).write(to: URL(filePath: "\(path)/\(name).json"))
        }
        let world = try BucketWorld()
        expectRefusal(.tooLarge) { try copy(fixture, to: world) }
        expect(world.store.files.keys.filter { !$0.hasPrefix("probe/") }, equals: [])
    }
}
