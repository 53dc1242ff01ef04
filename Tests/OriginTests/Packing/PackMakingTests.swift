import OriginTestSupport
import Zstandard

@testable import Origin

@Suite("Making packs") struct PackMakingTests {
    let fixture: PackingFixture

    init() throws { fixture = try PackingFixture(3) }

    /// Removes the packs, and keeps what they were made from.
    private func losePacks() { Damage.remove(fixture.place.origin + "/packs") }

    private func publishAll(_ change: (inout PublisherOptions) -> Void = { _ in }) throws
        -> PackReport
    {
        try fixture.publish("r1", change)
        return try require(try fixture.publish("r2", change).packing)
    }

    @Test func `compresses nothing a second time`() throws {
        let first = try publishAll()
        expect(first.madeFrameCount > 0)
        let packs = try fixture.place.published().filter { $0.key.hasPrefix("packs/") }
        losePacks()
        let again = try require(try fixture.publish("r2").packing)
        expect(again.madeFrameCount, equals: 0)
        expect(again.packs, equals: first.packs)
        let found = try fixture.place.published().filter { $0.key.hasPrefix("packs/") }
        // That of r1 is gone.
        expect(found.count == 2 && packs.count == 3)
        expect(found.allSatisfy { packs[$0.key] == $0.value })
    }

    @Test func `makes again what is damaged among that which it kept, or missing`() throws {
        let first = try publishAll()
        let directory = fixture.place.origin + "/.publish/frames/"
        let names = fixture.kept("frames")
        for (position, name) in names.enumerated() {
            switch position % 3 {
            case 0: try Damage.flip(directory + name, at: 0)
            case 1: try Damage.truncate(directory + name, to: 3)
            default: Damage.remove(directory + name)
            }
        }
        try Damage.overwrite(fixture.place.origin + "/.publish/packed.json", with: [1, 2])
        losePacks()
        let again = try require(try fixture.publish("r2").packing)
        expect(again.packs, equals: first.packs)
        expect(again.madeFrameCount > 0 && again.reusedFrameCount < names.count)
        try fixture.readAll(["r1"])
    }

    @Test func `keeps of frames what the deliveries on offer need, and nothing else`() throws {
        _ = try publishAll()
        // What older castrees kept besides.
        let sketches = fixture.place.origin + "/.publish/sketches"
        try Damage.makeDirectory(sketches + "/of an object")
        try fixture.publish("r3") { $0.packs.keptReleaseCount = 1 }
        expect(!FileManager.default.fileExists(atPath: sketches))
        let count = fixture.kept("frames").count
        for version in ["r1", "r2"] {
            _ = try fixture.place.publisher().withdraw(VersionName(version))
        }
        try fixture.place.publisher().collect(OriginRetention(graceSeconds: 0))
        expect(fixture.kept("frames").count, equals: count)
        _ = try fixture.place.publisher().withdraw(VersionName("r3"))
        try fixture.place.publisher().collect(OriginRetention(graceSeconds: 0))
        expect(fixture.kept("frames").isEmpty)
        expect(Damage.names(fixture.place.origin + "/packs").allSatisfy { $0.count == 2 })
    }

    @Test func `compresses as much as it is told to`() throws {
        let text = (0..<4000).map { "line \($0 % 97) of \($0 % 13)" }.joined(separator: "\n")
        try fixture.place.store.add("text", ["a.js": text])
        let sizes = try [1, 19].map { level in
            let other = PackingFixture(fixture, origin: "level-\(level)")
            let report = try other.publish("text") { $0.packs.level = level }.packing
            return try require(report?.byteCount)
        }
        expect(sizes[1] < sizes[0])
    }

    @Test(
        "stores what cannot be compressed, and makes large objects without a prefix, piece by piece"
    )
    func codecs() throws {
        var random = SeededRandom(seed: 1)
        let directory = fixture.place.store.directory
        for (version, ending) in [("a", "old"), ("b", "new")] {
            let root = directory.appending("source-\(version)")
            try writeTree(
                root, ["large.js": PackingFixture.text(9, 300_000) + ending, "small": ending])
            try Data(random.bytes(600_000)).write(to: URL(filePath: root + "/noise.png"))
            try Data(random.bytes(700_000)).write(to: URL(filePath: root + "/large.png"))
            _ = try fixture.place.versions.add(directory: root, version: version)
        }
        let limit: (inout PublisherOptions) -> Void = { $0.packs.prefixedByteCountMax = 150_000 }
        try fixture.publish("a", limit)
        try fixture.publish("b", limit)
        let packs = try fixture.readAll(["a"])
        let (described, whole) = try require(packs[""])
        expect(described.codecs, equals: [0, 1])
        // Two of noise; the others share a frame.
        expect(whole.table.frames.filter { $0.codec == .stored }.count, equals: 2)
        // Not worth a pack of its own: the large object has no prefix.
        expect(packs["a"] == nil)
    }

    @Test("leads from a content where little is common, if devices would download much more for it")
    func usefulBesidesRanges() throws {
        let place = fixture.place
        func add(_ version: String, _ seed: UInt64) throws {
            let text = PackingFixture.text(seed, 8000)
            var files = ["page.js": String(repeating: text, count: 8)]
            // In one frame with it in the pack of everything.
            for number in 0..<8 {
                files["z\(number).js"] = PackingFixture.text(UInt64(900 + number), 60_000)
            }
            try place.store.add(version, files)
        }
        try add("a", 1)
        try add("b", 2)
        try add("c", 3)
        try fixture.publish("a")
        // Also where the pack of everything was made before.
        try fixture.publish("c") { $0.packs.contentCount = 0 }
        for version in ["b", "c"] {
            try fixture.publish(version) { $0.packs.baseVersions = ["a"] }
            let packs = try fixture.readAll(["a", "b", "c"])
            let (whole, from) = (try require(packs[""]?.0), try require(packs["a"]?.0))
            expect(from.byteCount < 10_000 && whole.byteCount > 300_000)
        }
    }

    @Test func `leads from a version of the store that was never published`() throws {
        try fixture.publish("r2") { $0.packs.baseVersions = ["r1"] }
        expect(Set(try fixture.readAll(["r1"]).keys), equals: ["", "r1"])
        expectRefusal(.noVersion) {
            try fixture.publish("r3") { $0.packs.baseVersions = ["nowhere"] }
        }
    }

    @Test func `leads from no more contents than it is told to, and from each once`() throws {
        try fixture.place.store.add("r1-again", PackingFixture.files(1))
        for version in ["r1", "r1-again", "r2"] { try fixture.publish(version) }
        let plan = try fixture.publisher().plan("r3", of: fixture.place.versions)
        expect(plan.packing?.packs.map(\.version), equals: [nil, "r2", "r1-again"])
        try fixture.publish("r3") { $0.packs.contentCount = 1 }
        expect(Set(try fixture.readAll(["r2"]).keys), equals: ["", "r2"])
    }

    @Test
    func `leaves out a content whose objects are gone from store and origin, and says so`() throws {
        try fixture.publish("r1")
        try fixture.place.versions.retire("r1")
        _ = try fixture.place.versions.collect()
        let lost = PackingFixture.files(1).filter { $0.key.contains("app.") }
        for text in lost.values { Damage.remove(try fixture.place.objectPath(text)) }
        let notices = Notices()
        let report = try fixture.publish("r2") { $0.notice = notices.sink }.packing
        expect(report?.packs.count, equals: 1)
        expect(
            notices.all.filter { $0.contains("no pack is made from version r1") }.count,
            equals: 1)
    }

    @Test(
        "takes the store's manifest where the origin's is lost or damaged, and says which",
        arguments: [true, false], [true, false])
    func lostManifest(isDamaged: Bool, isInStore: Bool) throws {
        try fixture.publish("r1")
        let address = try require(try fixture.pointer().releases.first?.version).manifest
        let path = "\(fixture.place.origin)/manifests/\(address).json"
        if isDamaged { try Damage.flip(path, at: 9) } else { Damage.remove(path) }
        if !isInStore { try fixture.place.versions.retire("r1") }
        let notices = Notices()
        let report = try fixture.publish("r2") { $0.notice = notices.sink }.packing
        expect(report?.packs.map(\.version), equals: isInStore ? [nil, "r1"] : [nil])
        let said = notices.all.filter { $0.contains("version r1") }
        // The store's own is as good.
        expect(said.count, equals: isInStore ? 0 : 1)
        if let first = said.first {
            expect(first.hasPrefix("no pack is made from version r1: "))
            expect(first.contains("castree fsck --repair"))
        }
        if isInStore { _ = try fixture.readAll(["r1", "r2"]) }
    }

    @Test func `reads the bases of a version that the store has given up from the origin`() throws {
        try fixture.publish("r1")
        let old = try fixture.manifest("r1")
        try fixture.place.versions.retire("r1")
        _ = try fixture.place.versions.collect()
        try expect(fixture.publish("r2").packing?.packs.map(\.version), equals: [nil, "r1"])
        let update = try require(try fixture.reader.delivery()?.packs.last)
        _ = try fixture.reader.read(update, from: old)
    }

    @Test("gives no pack a name that does not give every object when it is decoded from the disk")
    func proof() throws {
        let disk = FaultyFileSystem()
        let path = Mutex("")
        disk.on(.before, .open, path: "/pack-0", occurrence: 2) {
            let name = Damage.names(fixture.place.origin + "/.publish").first {
                $0.hasPrefix("work-") && $0.hasSuffix("/pack-0")
            }
            path.withLock { $0 = name ?? "" }
            try? Damage.flip(fixture.place.origin + "/.publish/" + (name ?? ""), at: 90_000)
        }
        let failure = code {
            try fixture.publisher(.before, on: disk).publish("r1", of: fixture.place.versions)
        }
        expect(failure == .badPack || failure == .badFrame)
        expect(path.withLock { !$0.isEmpty })
        expect(!FileManager.default.fileExists(atPath: fixture.place.origin + "/packs"))
        try fixture.publish("r1")
        try fixture.readAll([])
    }

    @Test func `stops soon when it is interrupted, and continues with what it has`() throws {
        let count = Mutex(0)
        expectRefusal(.interrupted) {
            try fixture.publish("r1") { options in
                options.isInterrupted = {
                    count.withLock { count in
                        count += 1
                        return count > 12
                    }
                }
            }
        }
        expect(!Damage.names(fixture.place.origin + "/.publish").contains { $0.hasPrefix("work-") })
        try fixture.publish("r1")
        try fixture.readAll([])
    }
}
