import OriginTestSupport

@testable import HotPush

/// What goes from a store before a pull fails for want of space, and what never does.
@Suite("Freeing space for a release", .timeLimit(.minutes(60))) struct DiskSpaceTests {
    let fixture: PullingFixture

    init() throws { fixture = try PullingFixture() }

    /// The files of a version: each has 100,000 bytes that no other has.
    private static func files(_ name: String, _ byteCount: Int = 100_000) -> [String: String] {
        let line = name.padding(toLength: 9, withPad: ".", startingAt: 0) + "\n"
        return [
            "index.html": "<p>\(name)</p>",
            "own": String(repeating: line, count: byteCount / 10),
        ]
    }

    /// Adds a version to the device, shows it and confirms it.
    private func live(_ name: String) throws {
        let versions = fixture.device.versions
        try fixture.device.add(name, Self.files(name))
        try versions.makeKnownGood(name)
    }

    /// Adds a version that waits for the next start.
    private func wait(_ name: String) throws {
        try fixture.device.add(name, Self.files(name))
        try fixture.device.versions.activateAtNextBoot(name)
    }

    /// Half a version comes, and no more.
    private func begin(_ name: String, _ options: PullOptions = PullingFixture.options) throws {
        try fixture.place.store.add(name, Self.files(name))
        try fixture.publish(name)
        let path = try fixture.path(of: require(Self.files(name)["own"]))
        fixture.origin.play([.cut(after: 50_000), .status(404)], on: path)
        expectRefusal(.notFound) { try fixture.run(options, parallel: 1) }
    }

    /// Pulls onto a disk on which so much is free.
    private func pull(
        free: Int64, _ set: (inout PullOptions) -> Void = { _ in }
    ) throws -> StoreError.Code? {
        let disk = FullFileSystem(of: fixture.device.path, free: free)
        let pull = Pull(
            into: try fixture.device.opened(on: disk, keeping: 0),
            over: try PullingFixture.transport(), PullingFixture.options.with(set))
        return code { try pull.run(fixture.origin.url) }
    }

    private static let needed: Set<String> = [
        "shipped", "before", "current", "protected", "pinned",
    ]
    /// What nobody needs: 350,000 bytes.
    private static let needless: Set<String> = ["old", "replaced", "taken", "late"]

    @Test(
        "lets go what nobody needs, then what waits, nothing in vain, and never what is current, known good, shipped, protected or shown",
        arguments: [
            // What is free, what goes, and whether the release comes.
            (550_000, ["late"], true), (110_000, needless, true),
            (50_000, needless.union(["waits"]), true), (-10_000, [], false),
        ] as [(Int64, Set<String>, Bool)])
    func enumerated(_ free: Int64, _ gone: Set<String>, _ comes: Bool) throws {
        let versions = fixture.device.versions
        try versions.adopt(AdoptingTests.ship("shipped", in: fixture.device, Self.files("shipped")))
        for name in ["old", "before", "current"] { try live(name) }
        for name in ["protected", "pinned"] {
            try fixture.device.add(name, Self.files(name))
        }
        try versions.protect("protected")
        let pin = try versions.pin("pinned")
        for name in ["replaced", "waits", "taken"] { try wait(name) }
        try expect(versions.takeBack(pending: "taken"))
        try versions.activateAtNextBoot("waits")
        try begin("late")
        let all = Self.needed.union(Self.needless).union(["waits"])
        try expect(Set(versions.versions().map(\.version)), equals: all)

        try fixture.place.store.add("offer", Self.files("offer", 450_000))
        try fixture.publish("offer")
        try expect(pull(free: free) { $0.keptGoodCount = 2 }, equals: comes ? nil : .outOfSpace)

        let left = all.subtracting(gone).union(comes ? ["offer"] : [])
        try expect(Set(versions.versions().map(\.version)), equals: left)
        try expect(versions.lifecycle().pending, equals: comes ? "offer" : "waits")
        try expect(versions.lifecycle().current, equals: "current")
        withExtendedLifetime(pin) {}
        try fixture.expectClean()
    }

    @Test(
        "of what came in part lets go what another release has replaced, whether or not anybody said how much to keep"
    )
    func parts() throws {
        let versions = fixture.device.versions
        try live("current")
        try fixture.device.add("damaged", Self.files("damaged"))
        let own = try ObjectID(of: Array(require(Self.files("damaged")["own"]).utf8))
        Damage.remove("\(fixture.device.path)/objects/\(StoreLayout.objectPath(own))")
        _ = try versions.check()
        try begin("second")
        let fetching = try versions.store.openLock(StoreLayout.pullLock("second"))
        try expect(versions.fileSystem.lock(fetching.raw, exclusive: true))
        try begin("third")
        try fixture.place.store.add("offer", Self.files("offer", 200_000))
        try fixture.publish("offer")
        try expect(pull(free: 170_000), equals: nil)
        try expect(
            Set(versions.versions().map(\.version)),
            equals: ["current", "damaged", "second", "offer"])
        withExtendedLifetime(consume fetching) {}
    }

    @Test(
        "is not needed for what came in part of other releases of the channel, listed or not, whoever decides what is kept",
        arguments: [nil, 1])
    func otherParts(keptGoodCount: Int?) throws {
        try live("current")
        let options = PullingFixture.options.with { $0.keptGoodCount = keptGoodCount }
        for name in ["listed", "first", "second", "third"] {
            try begin(name, options)
            if ["listed", "second"].contains(name) { continue }
            _ = try fixture.place.publisher().withdraw(VersionName(name))
        }
        let versions = try fixture.device.reopened()
        try expect(Set(versions.versions().map(\.version)), equals: ["current", "third"])
        let staged = Damage.names(fixture.device.path + "/staging").filter { ObjectID($0) != nil }
        expect(staged.count, equals: 1)
        try expect(versions.planCollection().staged.isEmpty)
    }

    @Test("lets nothing go for a release that would not fit even then", arguments: [nil, 1])
    func inVain(keptGoodCount: Int?) throws {
        for name in ["old", "current"] { try live(name) }
        try fixture.device.add("by-hand", Self.files("by-hand"))
        try begin("part")
        try fixture.place.store.add("offer", Self.files("offer"))
        try fixture.publish("offer")
        try expect(pull(free: -1 << 40) { $0.keptGoodCount = keptGoodCount }, equals: .outOfSpace)
        try expect(
            Set(fixture.device.reopened().versions().map(\.version)),
            equals: ["old", "current", "by-hand", "part"])
    }

    @Test("is not needed for what came in part of a release of another system that is replaced")
    func replaced() throws {
        for (version, size) in [("1", 100_000), ("2", 100_001), ("3", 100_002)] {
            fixture.offer(version, ["/a": Content(String(repeating: version, count: size))])
            var file = ReleaseFile(path: try TreePath("a"))
            file.byteCount = Int64(size)
            fixture.origin.play([.cut(after: 50_000), .status(404)], on: "/a")
            expectRefusal(.notFound) { try fixture.run(KnownFormat(file), parallel: 1) }
        }
        try expect(fixture.device.reopened().versions().map(\.version), equals: ["3"])
    }

    @Test func `takes nothing of a release whose manifest the disk does not give`() throws {
        let manifest = "\(fixture.device.path)/manifests/1.json"
        let disk = FaultyFileSystem { operation in
            operation.verb == .read && operation.path == manifest
                ? StoreError(systemCall: "pread", errno: EIO, path: manifest) : nil
        }
        var before: [UInt8]?
        for (version, refusal) in [("1", .notFound), ("1", .io), ("2", .notFound)]
            as [(String, StoreError.Code)]
        {
            fixture.offer(version, ["/a": Content(String(repeating: version, count: 100_000))])
            var file = ReleaseFile(path: try TreePath("a"))
            file.byteCount = 100_000
            let options = PullingFixture.options.with { $0.reader = KnownFormat(file) }
            fixture.origin.play([.cut(after: 50_000), .status(404)], on: "/a")
            let versions =
                before == nil
                ? fixture.device.versions : try fixture.device.opened(on: disk, keeping: 0)
            let pull = Pull(into: versions, over: try PullingFixture.transport(), options)
            expect(code { try pull.run(fixture.origin.url) }, equals: refusal)
            let now = try Damage.contents(manifest)
            expect(before == nil || now == before)
            before = now
        }
        try expect(
            fixture.device.reopened().versions().map(\.version).sorted(), equals: ["1", "2"])
    }

    @Test func `says before the first byte that the disk can hold no more files`() throws {
        try fixture.publish("2")
        let full = try fixture.device.opened(on: FullFileSystem { $0.files = 0 }, keeping: 0)
        let pull = Pull(into: full, over: try PullingFixture.transport(), PullingFixture.options)
        expectRefusal(.outOfSpace, saying: "df -i") { try pull.run(fixture.origin.url) }
        expect(fixture.askedObjects, equals: [])
    }

    @Test("decides before it comes whether there is space for a pack beside what comes out of it")
    func besidePack() throws {
        var random = SeededRandom(seed: 7)
        let own = (0..<50_000).map { _ in String(random.next(), radix: 36) }.joined()
        try fixture.place.store.add("offer", ["own": own])
        try fixture.publish("offer")
        let packed = PackedFixture(fixture)
        let path = try packed.serve([
            TestPack(packed.manifest("offer"), contents: [address(of: own): Array(own.utf8)])
        ])[0]
        let byteCount = Int64(own.utf8.count)
        for (free, isByPack) in [(byteCount * 5 / 4, false), (byteCount * 5 / 2, true)] {
            let device = fixture.with(try TemporaryStore())
            let disk = FullFileSystem(of: device.device.path, free: free)
            let pull = Pull(
                into: try device.device.opened(on: disk, keeping: 0),
                over: try PullingFixture.transport(), PullingFixture.options)
            fixture.origin.forgetRequests()
            let report = try require(pull.run(fixture.origin.url))
            expect(report.figures.bytes < byteCount * 3 / 2, "\(report.figures)")
            expect(fixture.origin.requests(for: path).count, equals: 1)
            expect(fixture.askedObjects.isEmpty, equals: isByPack, "\(free)")
            expect(report.fallbacks, equals: [])
            try device.expectClean()
        }
    }

    @Test func `lets nothing go that a first start could show`() throws {
        try wait("waits")
        try fixture.place.store.add("offer", Self.files("offer"))
        try fixture.publish("offer")
        try expect(pull(free: 0) { $0.keptGoodCount = 1 }, equals: .outOfSpace)
        let versions = fixture.device.versions
        try expect(versions.versions().map(\.version), equals: ["waits"])
        try expect(versions.lifecycle().pending, equals: "waits")
    }
}

extension FullFileSystem {
    /// A disk on which only the content of a store takes space.
    ///
    /// - Parameters:
    ///   - store: the path of the store.
    ///   - free: how many bytes are free now; below 0 are as many too much.
    init(of store: String, free: Int64) {
        let capacity = Self.byteCount(of: store) + free
        self.init { $0.available = capacity - Self.byteCount(of: store) }
    }

    private static func byteCount(of store: String) -> Int64 {
        ["objects", "staging"].reduce(0) { sum, name in
            let files = FileManager.default.enumerator(atPath: "\(store)/\(name)")
            var sum = sum
            while files?.nextObject() != nil {
                guard files?.fileAttributes?[.type] as? FileAttributeType == .typeRegular else {
                    continue
                }
                sum += (files?.fileAttributes?[.size] as? NSNumber)?.int64Value ?? 0
            }
            return sum
        }
    }
}
