import HotPush
import StorageTestSupport
import Zstandard

@testable import Origin

@Suite("The frames of a pack") struct PackDesignTests {
    private var manifestReference: Reference { Reference(address: .zero, byteCount: 100) }

    private func content(_ files: [(path: String, byteCount: Int64, seed: UInt64)]) throws
        -> PackedContent
    {
        let entries = try files.map { file in
            var random = SeededRandom(seed: file.seed)
            return Manifest.Entry(
                path: try TreePath(file.path),
                address: try require(ObjectID(bytes: random.bytes(32))),
                byteCount: file.byteCount)
        }
        let manifest = try Manifest(
            version: VersionName("x"), ordinal: 1, createdAt: 1, entries: entries)
        return PackedContent(version: "x", content: try manifest.contentAddress(), manifest)
    }

    private func many(_ seed: UInt64, count: Int) throws -> PackedContent {
        var random = SeededRandom(seed: seed)
        return try content(
            (0..<count).map { number in
                let isLarge = number % 50 == 0
                let byteCount = Int64.random(
                    in: isLarge ? 65_536...300_000 : 0...20_000, using: &random)
                return (
                    "d\(number % 7)/f\(number).\(["js", "css", "png"][number % 3])", byteCount,
                    seed + UInt64(number)
                )
            })
    }

    @Test
    func `hold each object once, alike ones beside each other, and are never too large`() throws {
        let target = try many(1000, count: 900)
        let design = PackDesign(
            wholeOf: target, FrameGrouping(target.manifest, target.objects),
            manifest: manifestReference, level: 3)
        expect(design.frames[0].objects, equals: [manifestReference])
        let objects = design.frames.dropFirst().flatMap(\.objects)
        expect(objects.sorted(), equals: target.objects.references)
        for frame in design.frames.dropFirst() where frame.objects.count > 1 {
            expect(frame.contentByteCount <= 2 << 20)
            expect(frame.objects.allSatisfy { $0.byteCount < 512 << 10 })
        }
        let paths = Dictionary(
            target.manifest.entries.map { ($0.address, $0.path.description) }
        ) { first, _ in first }
        func place(_ object: Reference) -> [String] {
            let path = paths[object.address] ?? ""
            return [String(path.split(separator: ".").last ?? ""), path]
        }
        let ordered =
            [design.frames.dropFirst().compactMap(\.objects.first)]
            + design.frames.dropFirst().map(\.objects)
        for objects in ordered {
            let places = objects.map(place)
            expect(places, equals: places.sorted { $0.lexicographicallyPrecedes($1) })
        }
    }

    @Test func `stay as they were behind a small change`() throws {
        let before = try many(1000, count: 900)
        var files = before.manifest.entries.map {
            (path: $0.path.description, byteCount: $0.byteCount, address: $0.address)
        }
        files.removeAll { $0.path == "d0/f21.js" || $0.path == "d1/f1.css" }
        let entries = try files.map {
            Manifest.Entry(
                path: try TreePath($0.path), address: $0.address, byteCount: $0.byteCount)
        }
        let manifest = try Manifest(
            version: VersionName("x"), ordinal: 1, createdAt: 1, entries: entries)
        let after = PackedContent(version: "y", content: .zero, manifest)
        let frames = [before, after].map { content in
            Set(
                PackDesign(
                    wholeOf: content, FrameGrouping(content.manifest, content.objects),
                    manifest: manifestReference, level: 3
                ).frames)
        }
        let joint = frames[0].filter { $0.objects.count > 1 }
        expect(joint.count > 4)
        expect(frames[1].intersection(joint).count >= joint.count - 4)
    }

    @Test
    func `find short pieces anywhere in a large prefix, although others begin like them`() throws {
        var random = SeededRandom(seed: 1)
        let words = (0..<64).map { Array(PackingFixture.text($0, 6).utf8) + [10] }
        var prefix: [UInt8] = []
        while prefix.count < 3 << 20 { prefix += words[Int.random(in: 0..<64, using: &random)] }
        // Each piece from elsewhere, far from the end.
        var content: [UInt8] = []
        while content.count < 65_520 {
            let start = Int.random(in: 0..<200_000, using: &random)
            content += prefix[start..<(start + 48)]
        }
        // Level 16 looks back over 2 MiB of itself, as level 19 does over 8; then these are 7,200 bytes.
        let settings = ZstdEncoder.Settings(level: 16, windowLog: 22)
        let frame = try ZstdEncoder().encode(
            content, prefix: prefix, settings, limit: content.count)
        expect(try require(frame).count < 5500)
    }

    @Test func `with prefixes are under every limit of the format`() throws {
        let (target, base) = (try many(1000, count: 900), try many(500_000, count: 900))
        let old = base.objects.references
        var random = SeededRandom(seed: 7)
        let chosen = Dictionary(
            uniqueKeysWithValues: target.objects.references.map {
                ($0, old.randomElement(using: &random))
            })
        let design = PackDesign(
            of: target, from: base, FrameGrouping(target.manifest, target.objects),
            manifest: manifestReference, prefix: nil, PackOptions()
        ) { object, byteCountMax in
            chosen[object].flatMap { $0 }.flatMap { $0.byteCount <= byteCountMax ? $0 : nil }
        }
        expect(
            design.frames.dropFirst().flatMap(\.objects).sorted(), equals: target.objects.references
        )
        for frame in design.frames.dropFirst() where !frame.bases.isEmpty {
            expect(frame.bases.count <= PackLimits.baseCountMax)
            expect(Set(frame.bases).count, equals: frame.bases.count)
            guard frame.objects.count > 1 else { continue }
            expect(frame.contentByteCount <= 512 << 10)
            expect(
                frame.contentByteCount + frame.prefixByteCount <= PackLimits.jointBaseByteCountMax)
        }
        let settings = FrameRecipe(
            objects: [Reference(address: .zero, byteCount: 64 << 20)],
            bases: [Reference(address: .zero, byteCount: 64 << 20)], level: 19
        ).settings
        expect(settings.windowLog == 27 && settings.isLongDistance)
        // One frame at a time fits into what all may take.
        for log in 10...25 {
            for other in 10...25 {
                let recipe = FrameRecipe(
                    objects: [Reference(address: .zero, byteCount: 1 << log)],
                    bases: [Reference(address: .zero, byteCount: 1 << other)], level: 19)
                let memory = ZstdEncoder.memory(
                    recipe.settings, contentByteCount: 1 << log, prefixByteCount: 1 << other)
                expect(memory + Int(recipe.effort) <= FrameMaking.memoryByteCountMax)
            }
        }
        let plain = FrameRecipe(
            objects: [Reference(address: .zero, byteCount: 1 << 30)], level: 19
        ).settings
        expect(plain.windowLog == 23 && !plain.isLongDistance)
    }
}
