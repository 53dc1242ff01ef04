import OriginTestSupport
import Zstandard

@testable import HotPush

/// The bounds of docs/origin-format.md, each broken by a file: the pack is refused, nothing wrong becomes an object,
/// and the version comes all the same, object by object.
@Suite("A hostile pack") struct HostilePackTests {
    struct Attack: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// Whether the pack leads from the first release.
        var isUpdate = false
        let change: @Sendable (inout TestPack) throws -> Void

        init(
            _ name: String, isUpdate: Bool = false,
            _ change: @escaping @Sendable (inout TestPack) throws -> Void
        ) {
            testDescription = name
            self.isUpdate = isUpdate
            self.change = change
        }
    }

    static func number(_ value: Int64) -> [UInt8] {
        var (bytes, rest): ([UInt8], UInt64) = ([], UInt64(value))
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    static let attacks: [Attack] =
        [
            Attack("does not begin as one") { $0.changingBytes = { $0[0] ^= 1 } },
            Attack("has a newer format") { $0.changingBytes = { $0[8] = 2 } },
            Attack("has a table of no bytes") {
                $0.changingBytes = { $0.replaceSubrange(12..<16, with: [0, 0, 0, 0]) }
            },
            Attack("has a table of more than 4 MiB") {
                $0.changingBytes = { $0.replaceSubrange(12..<16, with: [1, 0, 0x40, 0]) }
            },
            Attack("has a table that is longer than the pack") {
                $0.changingBytes = { $0.replaceSubrange(12..<16, with: [0, 0, 0x10, 0]) }
            },
            Attack("says another size than the delivery") { $0.changingBytes = { $0[16] ^= 1 } },
            Attack("has bytes after its frames") { $0.changingBytes = { $0 += [0] } },
            Attack("is missing its last byte") { $0.changingBytes = { $0.removeLast() } },
            Attack("has a table that is no frame") { $0.tableBytes = Array("no frame".utf8) },
            Attack("has a table behind a skippable frame") { pack in
                let text = try TestPack.encode(PackTable().serialized)
                pack.tableBytes = [0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0] + text
            },
            Attack("has a table of two frames") { pack in
                let text = try TestPack.encode(PackTable().serialized)
                pack.tableBytes = text + text
            },
            Attack("has a table that unpacks to more than 64 MiB") { pack in
                pack.tableBytes = try TestPack.encode(
                    [UInt8](repeating: 0, count: 64 << 20 + 1), windowLog: 23)
            },
            Attack("has an empty table") { $0.changingNumbers = { $0 = [] } },
            Attack("has a table that continues") { $0.changingNumbers = { $0 += [0] } },
            Attack("promises more frames than its table can hold") {
                $0.changingNumbers = { $0[0] = 0x7F }
            },
            Attack("promises more objects than its table can hold") {
                $0.changingNumbers = { $0[$0.count - 2] = 0x7F }
            },
            Attack("has a number without an end") {
                $0.changingNumbers = { $0 = [UInt8](repeating: 0xFF, count: 40) }
            },
            Attack("promises a million frames") {
                $0.changingNumbers = { $0 = number(1_000_001) + $0.dropFirst() }
            },
            Attack("has no frame") { $0.changingNumbers = { $0 = [0] } },
            Attack("has a frame of an unknown codec") { $0.changingNumbers = { $0[1] = 4 } },
            Attack("has a manifest that is a delta") {
                $0.changingTable = { $0.frames[0].codec = .delta }
            },
            Attack("has a manifest of another size") {
                $0.frames[0].content.append(32)
            },
            Attack("has another manifest") { pack in
                pack.frames[0].content = pack.frames[0].content.map { $0 == 49 ? 50 : $0 }
            },
            Attack("has a manifest with a prefix and leads from nothing") { pack in
                pack.frames[0].codec = .prefixed
            },
            Attack("names an object twice") {
                $0.changingTable = { $0.frames[1].objects[1] = $0.frames[1].objects[0] }
            },
            Attack("names an object that the manifest has not") {
                $0.changingTable = { $0.frames[1].objects[0] = 999 }
            },
            Attack("names an object for the bytes of another") {
                $0.changingTable = { $0.frames[1].objects.swapAt(0, 1) }
            },
            Attack("leaves out an object of a frame") {
                $0.changingTable = { $0.frames[1].objects.removeLast() }
            },
            Attack("has a frame without objects") {
                $0.frames.append(.init(codec: .stored, content: []))
            },
            Attack("has a frame larger than its content allows") { pack in
                pack.frames[1].bytes = [UInt8](repeating: 0, count: 400)
            },
            Attack("has a stored frame of another size") { pack in
                pack.frames[1].codec = .stored
                pack.frames[1].bytes = [1]
            },
            Attack("has a frame with other content") { pack in
                pack.frames[1].bytes = try TestPack.encode(pack.frames[1].content.map { $0 ^ 1 })
            },
            Attack("has a frame that unpacks to more") { pack in
                pack.frames[1].bytes = try TestPack.encode(pack.frames[1].content + [0])
            },
            Attack("has a frame that unpacks to less") { pack in
                pack.frames[1].bytes = try TestPack.encode(Array(pack.frames[1].content.dropLast()))
            },
            Attack("has a frame that is no frame") { pack in
                pack.frames[1].bytes = Array("no frame".utf8)
            },
            Attack("has a frame with something behind it") { pack in
                pack.frames[1].bytes = try TestPack.encode(pack.frames[1].content) + [0]
            },
            Attack("has a frame of two frames") { pack in
                let half = pack.frames[1].content.count / 2
                pack.frames[1].bytes =
                    try TestPack.encode(Array(pack.frames[1].content[..<half]))
                    + TestPack.encode(Array(pack.frames[1].content[half...]))
            },
            Attack("has a frame that needs a dictionary") { pack in
                var frame = try TestPack.encode(pack.frames[1].content)
                frame[4] |= 1
                pack.frames[1].bytes = frame
            },
            Attack("has a frame that does not say how large it is") { pack in
                var frame = try TestPack.encode(pack.frames[1].content)
                frame[4] &= 0b0001_1111
                pack.frames[1].bytes = frame
            },
            Attack("has frames with bases and leads from nothing") { pack in
                pack.changingTable = { table in
                    table.frames[1].codec = .prefixed
                    table.frames[1].bases = [0]
                }
            },
            Attack("names a base that the content has not", isUpdate: true) {
                $0.changingTable = { $0.frames[1].bases[0] = 999 }
            },
            Attack("has a frame with more than 64 bases", isUpdate: true) {
                $0.changingTable = { $0.frames[1].bases = [UInt32](repeating: 0, count: 65) }
            },
            Attack("has a prefixed frame without a base", isUpdate: true) {
                $0.changingTable = { $0.frames[1].bases = [] }
            },
            Attack("is encoded against another base", isUpdate: true) { pack in
                pack.frames[1].prefix = Array("something else entirely, and long enough".utf8)
                pack.frames[1].bytes = try TestPack.encode(
                    pack.frames[1].content, prefix: pack.frames[1].prefix + pack.frames[1].content)
            },
            Attack("has a delta and leads from nothing") { pack in
                pack.changingTable = { table in
                    table.frames[1].codec = .delta
                    table.frames[1].bases = [0]
                }
            },
            Attack("has a delta of two objects", isUpdate: true) { pack in
                pack.changingTable = { $0.frames[1].codec = .delta }
            },
        ] + deltas

    /// What a delta may not be, and what its bytes may not be.
    private static let deltas: [Attack] = [
        delta("without a base") { $0.changingTable = { $0.frames[1].bases = [] } },
        delta("with two bases") { $0.changingTable = { $0.frames[1].bases.append(1) } },
        delta("of another version") { try $0.changeDelta { $0[0] = 2 } },
        delta("with reserved flags") { try $0.changeDelta { $0[1] |= 0x80 } },
        delta("that models 8 MiB and a byte") {
            try $0.changeDelta { $0.replaceSubrange(2..<3, with: number(8 << 20 + 1)) }
        },
        delta("that models no byte") { try $0.changeDelta { $0[2] = 0 } },
        delta("of no bytes") { $0.frames[1].bytes = [] },
        delta("of its head alone") { try $0.changeDelta { $0.removeSubrange(3...) } },
        delta("that is cut in half") { try $0.changeDelta { $0.removeLast($0.count / 2) } },
        delta("with something behind it") {
            try $0.changeDelta { $0 += [1, 2, 3, 4, 5, 6, 7, 8] }
        },
        delta("with a byte changed in it") { try $0.changeDelta { $0[$0.count / 2] ^= 0x40 } },
        delta("that is zstd") { $0.frames[1].bytes = try TestPack.encode($0.frames[1].content) },
        delta("made from another base") { pack in
            pack.frames[1].prefix = pack.frames[1].prefix.map { $0 ^ 1 }
            pack.frames[1].bytes = try pack.frames[1].encoded()
        },
    ]

    private static func delta(
        _ name: String, _ change: @escaping @Sendable (inout TestPack) throws -> Void
    ) -> Attack {
        Attack("has a delta " + name, isUpdate: true) { pack in
            pack.useDeltas()
            try change(&pack)
        }
    }

    @Test(arguments: attacks)
    func `brings nothing wrong, and keeps nothing away: the pack that`(_ attack: Attack) throws {
        let fixture = try PackedFixture()
        var pack: TestPack
        if attack.isUpdate {
            try fixture.base.run()
            try fixture.base.publish("2")
            pack = try fixture.update()
        } else {
            pack = try fixture.whole("1")
        }
        try attack.change(&pack)
        try fixture.serve([pack])
        try fixture.run()
        try expect(
            fixture.base.tree(attack.isUpdate ? "2" : "1"),
            equals: (attack.isUpdate ? PublishingPlace.second : PublishingPlace.first))
        try expect(fixture.fallbacks().count, equals: 1)
        expect(Damage.names(fixture.base.device.path + "/staging"), equals: [])
        try fixture.base.expectClean()
    }

    @Test func `is a pack of another release: the manifest in it is refused`() throws {
        let fixture = try PackedFixture()
        try fixture.base.publish("2")
        try fixture.serve([fixture.whole("1")])
        try fixture.run()
        try expect(fixture.base.tree("2"), equals: PublishingPlace.second)
        try expect(fixture.fallbacks().count, equals: 1)
    }

    @Test(arguments: [
        "not JSON", "{}", #"{"castreeDelivery":2}"#,
        #"{"castreeDelivery":1,"manifest":"00","packs":[]}"#,
    ])
    func `is refused by its delivery`(_ text: String) throws {
        let fixture = try PackedFixture()
        try fixture.serve([fixture.whole("1")]) { $0 = Array(text.utf8) }
        try fixture.run()
        try expect(fixture.base.tree("1"), equals: PublishingPlace.first)
        try expect(fixture.fallbacks().count, equals: 1)
        expect(!fixture.asked.contains { $0.hasPrefix("/packs/") })
    }

    @Test(arguments: [403, 404, 410, 416, 500])
    func `is absent, or cannot be had: objects come one by one`(_ status: Int) throws {
        for part in ["/packs/", "/deliveries/"] {
            let fixture = try PackedFixture()
            let paths = try fixture.serve([fixture.whole("1")])
            let path = part == "/packs/" ? paths[0] : try fixture.deliveryPath()
            fixture.origin.always(.status(status), on: path)
            let report = try fixture.run()
            try expect(fixture.base.tree("1"), equals: PublishingPlace.first)
            try expect(fixture.fallbacks().count, equals: 1)
            // Publishing again mends what it is missing, and nothing that has no answer.
            expect(report.hasWrongPack, equals: part == "/packs/" && status != 500)
        }
    }

    @Test(
        "has a base that is damaged here: what it was to bring comes another way, and not the pack is blamed"
    )
    func damagedBase() throws {
        let place = try PublishingPlace()
        var generator = SeededRandom(seed: 8)
        let text = (0..<20_000).map { _ in String(generator.next() % 1_000_000) }.joined()
        try place.store.add("3", ["app.js": text])
        // Two frames, and one base.
        let files = ["app.js": text + "changed", "copy.js": text + "otherwise"]
        try place.store.add("4", files)
        for damage in ["a byte", "its end"] {
            let place = place.withOrigin(damage)
            let device = try TemporaryStore()
            func pull() throws -> PullReport {
                let pull = Pull(
                    into: try device.reopened(), over: DirectoryTransport(place.origin),
                    PullingFixture.options)
                return try require(try pull.run(place.origin))
            }
            try place.publisher(packs: .before).publish("3", of: place.versions)
            expect(try pull().damagedBases, equals: [])
            try place.publisher(packs: .before).publish("4", of: place.versions)
            let old = try require(place.versions.manifest(of: "3").entries.first).address
            let path = device.path + "/objects/" + StoreLayout.objectPath(old)
            if damage == "a byte" {
                try Damage.flip(path, at: 1_000)
            } else {
                try Damage.truncate(path, to: 50_000)
            }
            let report = try pull()
            try expect(readTree(device.path + "/versions/4"), equals: files)
            expect(report.damagedBases, equals: [old], "\(damage)")
            expect(report.fallbacks.count, equals: 1)
            expect(report.fallbacks.allSatisfy { !$0.contains("refused") && $0.contains("\(old)") })
        }
    }

    @Test
    func `a large base that the disk does not give is another way's matter, and ends nothing`()
        throws
    {
        let place = try PublishingPlace()
        var generator = SeededRandom(seed: 9)
        // More than is read to the heap at once.
        let text = (0..<250_000).map { _ in String(generator.next() % 1_000_000) }.joined()
        let files = ["app.js": text + "changed"]
        try place.store.add("3", ["app.js": text])
        try place.store.add("4", files)
        let device = try TemporaryStore()
        func pull(_ versions: VersionStore) throws -> PullReport {
            let pull = Pull(
                into: versions, over: DirectoryTransport(place.origin), PullingFixture.options)
            return try require(try pull.run(place.origin))
        }
        try place.publisher(packs: .before).publish("3", of: place.versions)
        _ = try pull(device.reopened())
        try place.publisher(packs: .before).publish("4", of: place.versions)
        let old = try require(place.versions.manifest(of: "3").entries.first).address
        let object = device.path + "/objects/" + StoreLayout.objectPath(old)
        let disk = FaultyFileSystem { operation in
            operation.verb == .read && operation.path == object
                ? StoreError(systemCall: "pread", errno: EIO, path: object) : nil
        }
        let report = try pull(device.opened(on: disk, keeping: 0))
        expect(report.fallbacks.count == 1, "\(report.fallbacks)")
        try expect(readTree(device.path + "/versions/4"), equals: files)
    }
}
