import OriginTestSupport

@testable import HotPush

@Suite("A pull by packs") struct PackPullTests {
    @Test func `installs a version with three requests`() throws {
        let fixture = try PackedFixture()
        let paths = try fixture.serve([fixture.whole("1")])
        let report = try fixture.run()
        expect(fixture.asked.count, equals: 3)
        expect(fixture.asked.first, equals: "/channels/stable.json")
        expect(fixture.asked.last, equals: paths[0])
        expect(fixture.origin.requests.last?["range"] == nil)
        expect(report.requests, equals: 3)
        expect(report.figures.files, equals: Set(PublishingPlace.first.values).count)
        try expect(fixture.base.tree("1"), equals: PublishingPlace.first)
        try expect(fixture.fallbacks(), equals: [])
        try fixture.base.expectClean()
    }

    @Test("updates from the version that is here with three requests, and leaves nothing behind")
    func update() throws {
        let fixture = try PackedFixture()
        try fixture.base.run()
        try fixture.base.publish("2")
        let paths = try fixture.serve([fixture.whole("2"), fixture.update()])
        fixture.origin.forgetRequests()
        let report = try fixture.run()
        expect(fixture.asked.count, equals: 3)
        expect(fixture.asked.last, equals: paths[1])
        expect(report.figures.files, equals: 2)
        try expect(fixture.base.tree("2"), equals: PublishingPlace.second)
        expect(Damage.names(fixture.base.device.path + "/staging"), equals: [])
        try expect(fixture.fallbacks(), equals: [])
        try fixture.base.expectClean()
    }

    @Test func `takes deltas from the version that is here`() throws {
        let fixture = try PackedFixture()
        try fixture.base.run()
        try fixture.base.publish("2")
        var pack = try fixture.update()
        pack.useDeltas()
        let paths = try fixture.serve([pack])
        fixture.origin.forgetRequests()
        let report = try fixture.run()
        expect(fixture.asked.count, equals: 3)
        expect(fixture.asked.last, equals: paths[0])
        expect(report.fallbacks, equals: [])
        try expect(fixture.base.tree("2"), equals: PublishingPlace.second)
        try fixture.base.expectClean()
    }

    @Test("takes a delta of more than fits on the heap, from a base that does not fit either")
    func largeDelta() throws {
        let place = try PublishingPlace()
        var random = SeededRandom(seed: 5)
        let old = (0..<400_000).map { _ in String(random.next(), radix: 36) }.joined()
        var bytes = Array(("before" + old + "after").utf8)
        for place in stride(from: 1000, to: bytes.count, by: 5000) { bytes[place] = 45 }
        let new = String(decoding: bytes, as: UTF8.self)
        try place.store.add("3", ["app.js": old])
        try place.store.add("4", ["app.js": new])
        let device = try TemporaryStore()
        for version in ["3", "4"] {
            try place.publisher(packs: .before) { $0.packs.level = 10 }
                .publish(version, of: place.versions)
            let report = try Pull(
                into: try device.reopened(), over: DirectoryTransport(place.origin),
                PullingFixture.options
            ).run(place.origin)
            expect(report?.fallbacks, equals: [])
        }
        let reader = PackReader(file: { try place.bytes($0) }, store: nil)
        try expect(require(reader.delivery()).packs.contains { $0.codecs == [2, 3] })
        try expect(readTree(device.path + "/versions/4"), equals: ["app.js": new])
    }

    @Test func `fetches objects one by one when it is told to`() throws {
        let fixture = try PackedFixture()
        try fixture.serve([fixture.whole("1")])
        try fixture.run { $0.takesPacks = false }
        expect(!fixture.asked.contains { $0.hasPrefix("/packs/") || $0.hasPrefix("/deliveries/") })
        try expect(fixture.base.tree("1"), equals: PublishingPlace.first)
    }

    @Test func `takes by ranges what a store with another version is missing`() throws {
        let fixture = try PackedFixture()
        var random = SeededRandom(seed: 7)
        func noise() -> String { (0..<2500).map { _ in String(random.next(), radix: 36) }.joined() }
        var old: [String: String] = [:]
        for name in ["a", "b", "c", "d", "e", "f"] { old[name] = noise() }
        var new = old
        (new["b"], new["e"]) = (noise(), noise())
        try fixture.base.place.store.add("old", old)
        try fixture.base.place.store.add("new", new)
        try fixture.base.publish("old")
        try fixture.base.run()
        try fixture.base.publish("new")
        var contents: [ObjectID: [UInt8]] = [:]
        for text in new.values { contents[try address(of: text)] = Array(text.utf8) }
        let pack = try TestPack(fixture.manifest("new"), contents: contents, perFrame: 1)
        let path = try fixture.serve([pack])[0]
        fixture.origin.forgetRequests()
        try fixture.run()
        let packs = fixture.origin.requests(for: path)
        // The opening, and a range for each of the two, or one if they are neighbours.
        expect(2...3 ~= packs.count)
        expect(packs.allSatisfy { $0["range"] != nil })
        expect(!fixture.asked.contains { $0.hasPrefix("/objects/") })
        try expect(fixture.base.tree("new"), equals: new)
        try fixture.base.expectClean()
    }

    @Test(arguments: [false, true])
    func `asks for the rest, wherever an answer is cut`(isUpdate: Bool) throws {
        let sample = try PackedFixture()
        let count: Int
        if isUpdate {
            try sample.base.publish("2")
            count = try sample.update().made().bytes.count
        } else {
            count = try sample.whole("1").made().bytes.count
        }
        let fixture = try PackedFixture()
        if isUpdate { try fixture.base.publish("2") }
        let step = max(1, count / 40)
        for end in stride(from: 0, to: count, by: step) {
            let device = try TemporaryStore()
            let attempt = fixture.with(device)
            if isUpdate { try device.add("1", PublishingPlace.first) }
            let pack = isUpdate ? try fixture.update() : try fixture.whole("1")
            let paths = try attempt.serve([pack])
            fixture.origin.forgetRequests()
            fixture.origin.play([.cut(after: end)], on: paths[0])
            try attempt.run()
            let asked = fixture.origin.requests(for: paths[0])
            expect(asked.count, equals: 2, "cut after \(end) of \(count)")
            expect(
                asked.last?["range"], equals: (end == 0 ? nil : "bytes=\(end)-"),
                "cut after \(end) of \(count)")
            try expect(
                attempt.base.tree(isUpdate ? "2" : "1"),
                equals: (isUpdate ? PublishingPlace.second : PublishingPlace.first))
            expect(!attempt.asked.contains { $0.hasPrefix("/objects/") })
        }
    }

    @Test(
        "continues at the very byte where it was stopped, in another process",
        arguments: [false, true])
    func stopped(isUpdate: Bool) throws {
        let fixture = try PackedFixture()
        if isUpdate { try fixture.base.publish("2") }
        // The empty file is in no frame of its own: it alone would need no request.
        let pack = isUpdate ? try fixture.update() : try fixture.whole("1", perFrame: 3)
        let path = try fixture.serve([pack])[0]
        let contents = fixture.origin.state.shared.withLock { $0.contents.mapValues(\.bytes) }
        let count = try pack.made().bytes.count
        for end in TestShare(oneIn: 29).of(Array(0..<count)) {
            let device = try TemporaryStore()
            if isUpdate { try device.add("1", PublishingPlace.first) }
            MemoryTransport.pull(contents, into: device, stoppedAt: end, of: path)
            let second = MemoryTransport(contents)
            let versions = try device.reopened()
            let report = try Pull(into: versions, over: second, PullingFixture.options)
                .run("http://origin")
            expect(report?.version, equals: (isUpdate ? "2" : "1"))
            let asked = second.asked.filter { $0.path == path }
            expect(asked.count, equals: 1, "stopped at \(end) of \(count)")
            expect(
                asked.first?.range, equals: (end == 0 ? nil : "bytes=\(end)-"),
                "stopped at \(end) of \(count)")
            expect(!second.asked.contains { $0.path.hasPrefix("/objects/") })
            try expect(versions.check(CheckOptions(isDeep: true)).findings, equals: [])
            expect(Damage.names(device.path + "/staging"), equals: [])
        }
    }

    @Test func `shows the ways and what they cost before it takes one`() throws {
        let fixture = try PackedFixture()
        try fixture.base.run()
        try fixture.base.publish("2")
        try fixture.serve([fixture.whole("2"), fixture.update()])
        let pull = try fixture.base.pull()
        let found = try pull.release(at: fixture.origin.url)
        let ways = try require(found.choice?.ways)
        expect(ways.map(\.name) == ["from", "whole", "objects"] || ways[0].name == "from")
        expect(ways.count, equals: 3)
        expect(ways[0].requestCount, equals: 1)
        for way in ways {
            expect(way.cost, equals: way.byteCount + way.requestCount * 8192)
        }
    }

    @Test func `takes a pack from what the app was shipped with`() throws {
        let fixture = try PackedFixture()
        // The same content under another name, without a publisher's manifest.
        try fixture.base.device.add("shipped", PublishingPlace.first)
        try fixture.base.publish("2")
        let paths = try fixture.serve([fixture.update()])
        try fixture.run()
        expect(fixture.asked.last, equals: paths[0])
        expect(fixture.asked.count, equals: 3)
        try expect(fixture.base.tree("2"), equals: PublishingPlace.second)
    }

    @Test("asks for a pointer with its tag, and a 304 is all that comes when nothing is new")
    func notModified() throws {
        let fixture = try PackedFixture()
        try fixture.serve([fixture.whole("1")])
        try fixture.run()
        fixture.origin.forgetRequests()
        try expect(fixture.run().isUnchanged)
        expect(fixture.asked, equals: ["/channels/stable.json"])
        expect(fixture.origin.requests[0]["if-none-match"] != nil)
        // Whatever became of what was kept, the answer is the whole pointer.
        let kept = Damage.names(fixture.base.device.path + "/pointers")
        expect(kept.count, equals: 1)
        for name in kept {
            let path = fixture.base.device.path + "/pointers/" + name
            var bytes = try Damage.contents(path)
            bytes[bytes.count / 2] ^= 1
            try Data(bytes).write(to: URL(fileURLWithPath: path))
        }
        fixture.origin.forgetRequests()
        try fixture.run()
        expect(fixture.origin.requests[0]["if-none-match"] == nil)
    }
}
