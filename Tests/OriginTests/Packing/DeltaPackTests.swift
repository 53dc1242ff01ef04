import OriginTestSupport

@testable import HotPush
@testable import Origin

@Suite("Packs with deltas") struct DeltaPackTests {
    let fixture: PackingFixture
    private let deltas: (inout PublisherOptions) -> Void = { $0.packs.level = 19 }

    /// Three releases in which single bytes change everywhere, as addresses in bytecode do.
    init() throws {
        fixture = try PackingFixture(1)
        for (release, name) in ["a", "b", "c"].enumerated() {
            try fixture.place.store.add(
                name,
                [
                    "app.hbc": Self.scattered(1, 200_000, release),
                    "one.js": Self.scattered(2, 9_000, release),
                    "two.js": Self.scattered(3, 12_000, release), "new.js": "release \(release)",
                ])
        }
    }

    /// A text whose every hundredth byte is another one in each release.
    static func scattered(_ seed: UInt64, _ byteCount: Int, _ release: Int) -> String {
        var bytes = Array(PackingFixture.text(seed, byteCount).utf8)
        for place in stride(from: 50, to: byteCount, by: 100) {
            bytes[place] = bytes[place] / 2 + UInt8(release)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func publishAll(_ change: (inout PublisherOptions) -> Void = { _ in }) throws {
        for name in ["a", "b", "c"] {
            try fixture.publish(name) {
                deltas(&$0)
                change(&$0)
            }
        }
    }

    /// The codecs of the packs that lead from each version, smallest pack first.
    private func codecs() throws -> [String: [[Int64]]] {
        var codecs: [String: [[Int64]]] = [:]
        let delivery = try require(try fixture.reader.delivery())
        for pack in delivery.packs.sorted(by: { $0.byteCount < $1.byteCount }) {
            var name = ""
            for version in ["a", "b"]
            where try fixture.manifest(version).contentAddress() == pack.base {
                name = version
            }
            codecs[name, default: []].append(pack.codecs)
            _ = try fixture.reader.read(pack, from: name.isEmpty ? nil : fixture.manifest(name))
        }
        return codecs
    }

    @Test func `hold each changed object as a delta where that is smaller, small files too`() throws
    {
        try publishAll()
        let usage = try OriginUsage(ofDirectory: fixture.place.origin)
        let pointer = try require(usage.pointers.first)
        let entry = try require(
            usage.entries(of: pointer.releases[0], in: pointer)
                .first { $0.pack.codecs.contains(3) })
        let share = try require(entry.shares.first { $0.codec == .delta })
        expect(share.objectCount, equals: 3)
        expect(share.contentByteCount, equals: 221_000)
        // One byte in a hundred changes: no more than what tells where and how.
        expect(share.byteCount < 221_000 / 100 * 2)
        expect(entry.pack.memoryByteCount <= 8 << 20)
    }

    @Test func `say what each codec gives, and of how many bytes, when published and in du`() throws
    {
        try publishAll { $0.packs.packsForOld = .none }
        let usage = try OriginUsage(ofDirectory: fixture.place.origin)
        let pointer = try require(usage.pointers.first)
        let entries = usage.entries(of: pointer.releases[0], in: pointer)
        expect(entries.count, equals: 3)
        for entry in entries {
            let (pack, shares) = (entry.pack, entry.shares)
            expect(shares.reduce(0) { $0 + $1.objectCount }, equals: Int(pack.objectCount))
            expect(shares.reduce(0) { $0 + $1.contentByteCount }, equals: pack.contentByteCount)
            expect(
                pack.openingByteCount + shares.reduce(0) { $0 + $1.byteCount },
                equals: pack.byteCount)
        }
        Damage.remove(fixture.place.origin + "/packs")
        let again = try require(
            try fixture.publish("c") {
                deltas(&$0)
                $0.packs.packsForOld = .none
            }.packing)
        expect(Set(again.packs.map(\.shares)), equals: Set(entries.map(\.shares)))
        let words = try require(again.packs.last).shares.text { "\($0) B" }
        expect(words.contains("221000 B in ") && words.hasSuffix(" B by deltas"), "\(words)")
    }

    @Test(
        "have one without deltas beside them for the contents that are asked for, by default the newest",
        arguments: PackOptions.PacksForOld.allCases)
    func forOld(_ wanted: PackOptions.PacksForOld) throws {
        try publishAll { $0.packs.packsForOld = wanted }
        let all = try codecs()
        let plain = all.mapValues { packs in packs.filter { !$0.contains(3) }.count }
        expect(all["a"]?.first?.contains(3) == true && all["b"]?.first?.contains(3) == true)
        expect(plain[""], equals: 1)
        expect(plain["a"], equals: wanted == .all ? 1 : 0)
        expect(plain["b"], equals: wanted == .none ? 0 : 1)
    }

    @Test func `are not made for a publisher who asks for less work`() throws {
        try publishAll { $0.packs.level = 9 }
        try expect(codecs().values.joined().allSatisfy { !$0.contains(3) })
    }

    @Test func `are made anew, and those beside them, when one of the two is damaged`() throws {
        try publishAll()
        let before = try codecs()
        for pack in try require(try fixture.reader.delivery()).packs where pack.base != nil {
            let path = "\(fixture.place.origin)/\(OriginLayout.path(.pack, pack.address))"
            let bytes = try Damage.contents(path)
            try Damage.flip(path, at: 60)
            try fixture.publish("c") {
                deltas(&$0)
                $0.verifiesObjects = true
            }
            try expect(Damage.contents(path), equals: bytes)
            try expect(codecs(), equals: before)
        }
    }

    @Test func `cost nothing a second time`() throws {
        try publishAll()
        Damage.remove(fixture.place.origin + "/packs")
        let again = try require(try fixture.publish("c", deltas).packing)
        expect(again.madeFrameCount, equals: 0)
        try expect(codecs()["b"]?.count, equals: 2)
    }
}
