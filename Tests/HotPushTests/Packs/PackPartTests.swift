import OriginTestSupport

@testable import HotPush

/// What has come of a pack when a pull ends early.
///
/// It counts as progress of the version, and is kept as long as it is of use.
@Suite("The part of a pack that has come") struct PackPartTests {
    private let fixture: PackedFixture
    private let pack: TestPack
    private let path: String
    private let large: String
    private let served: [String: [UInt8]]
    private let device: TemporaryStore

    init() throws {
        fixture = try PackedFixture()
        var random = SeededRandom(seed: 3)
        let large = (0..<8000).map { _ in String(random.next(), radix: 36) }.joined()
        let files = ["index.html": "hello", "large": large]
        try fixture.base.place.store.add("3", files)
        try fixture.base.publish("3")
        var contents: [ObjectID: [UInt8]] = [:]
        for text in files.values { contents[try address(of: text)] = Array(text.utf8) }
        // Both objects come out of one frame.
        pack = try TestPack(fixture.manifest("3"), contents: contents)
        path = try fixture.serve([pack])[0]
        served = fixture.origin.state.shared.withLock { $0.contents.mapValues(\.bytes) }
        device = try TemporaryStore()
        self.large = large
    }

    private func pull(stoppedAt end: Int) {
        MemoryTransport.pull(served, into: device, stoppedAt: end, of: path)
    }

    @Test
    func `is as much progress as its share, outlives a collection, and is continued`() throws {
        let (bytes, described) = try pack.made()
        let opening = Int(described.openingByteCount)
        let frame = bytes.count - opening
        // Compressed, but for its digits it is noise.
        expect(frame < large.utf8.count * 9 / 10)
        pull(stoppedAt: opening + frame / 2)
        var versions = try device.reopened()
        let progress = try require(try versions.progress().first)
        expect(progress.version == "3" && progress.missingObjects >= 2)
        let half = Double(frame / 2) / Double(frame) * Double(large.utf8.count)
        expect(progress.stagedBytes, equals: Int64(half))
        // Beside it lie the opening, and what an older castree left of a frame, whose name says nothing.
        let staging = device.path + "/staging"
        let part = try require(Damage.names(staging).first { PartName($0)?.leadsTo != nil })
        expect(PartName(part)?.object, equals: (try address(of: large)))
        let older = String(part.prefix(64))
        try Damage.overwriteOrCreate(staging + "/" + older, with: [1, 2, 3])
        try expect(versions.store.planCollection().staged.count, equals: 2)
        try versions.collect()
        expect(Damage.names(staging), equals: [part])
        let transport = MemoryTransport(served)
        versions = try device.reopened()
        let report = try Pull(into: versions, over: transport, PullingFixture.options)
            .run("http://origin")
        expect(report?.figures.resumedBytes, equals: Int64(frame / 2))
        let ranges = transport.asked.filter { $0.path == path }.map(\.range)
        expect(ranges.last, equals: "bytes=\(opening + frame / 2)-")
        expect(!transport.asked.contains { $0.path.hasPrefix("/objects/") })
        try expect(versions.progress() == [] && Damage.names(staging) == [])
        try expect(versions.check(CheckOptions(isDeep: true)).findings, equals: [])
        // Nothing is missing the object any more.
        try Damage.overwriteOrCreate(staging + "/" + part, with: [1, 2, 3])
        try expect(versions.store.planCollection().staged.count, equals: 1)
        try versions.collect()
        expect(Damage.names(staging), equals: [])
    }

    @Test func `is collected when the version is given up`() throws {
        let (bytes, _) = try pack.made()
        pull(stoppedAt: bytes.count - 1)
        let versions = try device.reopened()
        try versions.retire("3")
        try versions.collect()
        expect(Damage.names(device.path + "/staging"), equals: [])
    }

    @Test func `has a name that says what it leads to, and nothing else is taken for one`() throws {
        let (one, other) = (String(repeating: "ab", count: 32), String(repeating: "0c", count: 32))
        let (name, object) = (try require(ObjectID(one)), try require(ObjectID(other)))
        let parts = [
            PartName(name), PartName(name, byteCount: 1, leadingTo: object),
            PartName(name, byteCount: .max, leadingTo: object),
        ]
        for part in parts { expect(PartName(part.description), equals: part) }
        expect(parts.map(\.object), equals: [name, object, object])
        expect(Set(parts).count, equals: 3)
        expect(PartName(name, byteCount: 0, leadingTo: object), equals: parts[0])
        for text in [
            "", ".", one + ".", "\(one).\(other)", "\(one).\(other).", "\(one).\(other).0",
            "\(one).\(other).-1", "\(one).\(other).+1", "\(one).\(other).01", "\(one).\(other).1.",
            "\(one).\(other).9223372036854775808", "\(one).from", "part-1", "\(one).x.1",
            "\(one.uppercased())", "\(one).\(other.dropLast()).1",
        ] {
            expect(PartName(text) == nil, "\(text)")
        }
    }
}
