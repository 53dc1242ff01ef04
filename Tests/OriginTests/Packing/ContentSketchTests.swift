import StorageTestSupport

@testable import Origin

@Suite("The base of an object") struct ContentSketchTests {
    private func sketch(_ text: String, limit: Int = 4096) -> ContentSketch {
        Array(text.utf8).withUnsafeBytes { ContentSketch(of: $0, limit: limit) }
    }

    private func object(_ number: UInt8, _ byteCount: Int) throws -> Reference {
        let bytes = [UInt8](repeating: number, count: 32)
        return Reference(address: try require(ObjectID(bytes: bytes)), byteCount: Int64(byteCount))
    }

    private func index(_ texts: [String], limit: Int = 4096) throws -> SketchIndex {
        let objects = try texts.enumerated().map { position, text in
            try object(UInt8(position), text.utf8.count)
        }
        return SketchIndex(objects, texts.map { sketch($0, limit: limit) })
    }

    private func base(
        _ text: String, among texts: [String], limit: Int = 4096,
        where isAllowed: (Reference) -> Bool = { _ in true }
    ) throws -> UInt8? {
        let wanted = try object(255, text.utf8.count)
        return try index(texts, limit: limit)
            .base(of: wanted, sketch(text), where: isAllowed)?.address.bytes[0]
    }

    @Test func `is what it has most in common with, wherever the common bytes stand`() throws {
        let (first, second) = (PackingFixture.text(1, 40_000), PackingFixture.text(2, 40_000))
        let others = [
            PackingFixture.text(3, 40_000), String(second.prefix(9000)) + first.prefix(30_000),
            "moved" + second, String(first.suffix(5000)),
        ]
        try expect(base(second, among: others), equals: 2)
        try expect(base(first, among: others), equals: 1)
        try expect(base(second, among: others) { $0.address.bytes[0] != 2 }, equals: 1)
    }

    @Test func `is nothing where less than a twentieth is common`() throws {
        let text = PackingFixture.text(1, 100_000)
        try expect(base(text, among: [PackingFixture.text(2, 100_000)]) == nil)
        let little = PackingFixture.text(2, 100_000) + text.prefix(1500)
        try expect(base(text, among: [little]) == nil)
        try expect(base("too short", among: ["too short"]) == nil)
        try expect(base("", among: []) == nil)
    }

    @Test
    func `is found for contents of very different sizes, and with fewer hashes of each`() throws {
        let large = PackingFixture.text(1, 600_000)
        let part = String(large.prefix(300_000).suffix(60_000))
        let small = String(part.suffix(4000))
        for limit in [4096, 200, 64] {
            try expect(
                base(part, among: [PackingFixture.text(2, 60_000), large], limit: limit), equals: 1)
            try expect(
                base(small, among: [PackingFixture.text(2, 4000), part], limit: limit), equals: 1)
        }
    }

    @Test func `of two that have the same in common is the one of the nearer size`() throws {
        let text = PackingFixture.text(1, 6000)
        try expect(
            base(text + "x", among: [text + String(repeating: "y", count: 1500), text]), equals: 1)
    }

    @Test func `keeps no more hashes than it may, of runs of one byte neither`() {
        expect(sketch(PackingFixture.text(1, 200_000), limit: 100).hashes.count, equals: 100)
        expect(sketch(String(repeating: "a", count: 200_000)).hashes.count <= 1)
        let whole = sketch(PackingFixture.text(1, 200_000))
        expect(whole.limited(to: 100), equals: sketch(PackingFixture.text(1, 200_000), limit: 100))
        expect(whole.hashes, equals: whole.hashes.sorted())
    }
}
