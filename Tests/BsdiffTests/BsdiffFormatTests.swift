import Delta
import Platform
import StorageTestSupport

@testable import Bsdiff

@Suite("Patches of the bsdiff kind") struct BsdiffFormatTests {
    static func apply(
        _ patch: [UInt8], to old: [UInt8], limit: Int = 1 << 24
    ) throws(StoreError) -> [UInt8] {
        try old.span.bytes.withUnsafeBytes { (old) throws(StoreError) in
            try BsdiffPatch.apply(patch, to: old, limit: limit)
        }
    }

    static func write(
        _ format: BsdiffFormat, _ steps: [DeltaStep], from old: [UInt8], to new: [UInt8]
    ) throws(StoreError) -> [UInt8] {
        try old.span.bytes.withUnsafeBytes { (old) throws(StoreError) in
            try new.span.bytes.withUnsafeBytes { (new) throws(StoreError) in
                try BsdiffPatch.write(format, steps, from: old, to: new)
            }
        }
    }

    static func patches(
        from old: [UInt8], to new: [UInt8]
    ) throws(StoreError) -> [BsdiffFormat: [UInt8]] {
        try old.span.bytes.withUnsafeBytes { (old) throws(StoreError) in
            let making = try PatchMaking(from: old) { false }
            return try new.span.bytes.withUnsafeBytes { (new) throws(StoreError) in
                try making.patches(to: new, Set(BsdiffFormat.allCases))
            }
        }
    }

    /// Lines with numbers, of which some differ from one edition to the next.
    static func script(_ edition: Int, count: Int = 400) -> [UInt8] {
        var random = SeededRandom(seed: 7)
        var text = "// edition \(edition)\n"
        for line in 0..<count {
            let word = Hex.string(random.bytes(20))
            if line % 97 == edition { text += "added(\"\(edition) \(word.reversed())\")\n" }
            text += "call(\(line % 50 + edition), \"\(word)\")\n"
        }
        return Array(text.utf8)
    }

    static let samples: [(old: [UInt8], new: [UInt8])] = {
        var random = SeededRandom(seed: 3)
        let noise = random.bytes(20_000)
        return [
            (script(1), script(2)), (script(2), script(1)), (script(1), script(1)),
            (noise, Array(noise[10_000...] + noise[..<10_000])), (noise, random.bytes(5_000)),
            ([], script(1)), (script(1), []), ([1], [2]),
        ]
    }()

    @Test func `the patch of hot-updater's own tests gives their bundle`() throws {
        let patch = try require(
            Base64.bytes(
                "RU5EU0xFWS9CU0RJRkY0Mx8AAAAAAAAAQlpoOTFBWSZTWb12MIEAAAB5gEQYAADQYQAIPsXOACAAIo0A0NAaNCgAGgZM"
                    + "gHAtYscVxxRtTt4nmaj70g4gQSF5+T4u5IpwoSF67GEC"))
        expect(patch.count, equals: 102)
        try expect(
            address(of: patch).description,
            equals: "a06c3013e0dd3cef440b1e699ae1938ce96be2041330264e5110c03c0b8f549e")
        let old = Array("console.log(\"base bundle\");\n".utf8)
        try expect(
            address(of: old).description,
            equals: "78b97e49816207be3c2e61b4bd531ce7cf6d919fefdde9b4394750438b27276e")
        let new = try Self.apply(patch, to: old)
        expect(String(decoding: new, as: UTF8.self), equals: "console.log(\"patched bundle\");\n")
        try expect(
            address(of: new).description,
            equals: "7750a4e966e7858293c8dd38dc5f18070d73595e602d274815e3c8f113d77282")
    }

    @Test(arguments: samples.indices)
    func `patches of both formats give the file, as others read them, too`(_ index: Int) throws {
        let (old, new) = Self.samples[index]
        let patches = try Self.patches(from: old, to: new)
        expect(Set(patches.keys), equals: Set(BsdiffFormat.allCases))
        let directory = TemporaryDirectory()
        func file(_ name: String) -> String { directory.appending(name) }
        try Data(old).write(to: URL(filePath: file("old")))
        for (format, patch) in patches {
            expect(BsdiffPatch.newByteCount(of: patch), equals: new.count)
            try expect(Self.apply(patch, to: old, limit: new.count), equals: new)
            try Data(patch).write(to: URL(filePath: file("patch")))
            try PlainApplier.run(
                "/usr/bin/python3",
                ["-c", PlainApplier.script, file("old"), file("new"), file("patch")])
            try expect([UInt8](Data(contentsOf: URL(filePath: file("new")))), equals: new)
            guard format == .bsdiff40 else { continue }
            try FileManager.default.removeItem(atPath: file("new"))
            try PlainApplier.run("/usr/bin/bspatch", [file("old"), file("new"), file("patch")])
            try expect([UInt8](Data(contentsOf: URL(filePath: file("new")))), equals: new)
        }
    }

    @Test func `a patch of a changed script is a small part of it`() throws {
        let (old, new) = (Self.script(1), Self.script(2))
        for patch in try Self.patches(from: old, to: new).values {
            expect(patch.count * 10 < new.count, "\(patch.count) of \(new.count)")
        }
    }

    @Test func `steps that leave a file, or do not make all of the new one, are refused`() throws {
        let (old, new) = (Array("abcdef".utf8), Array("abcxyz".utf8))
        func step(_ copied: Int, _ literals: Int, _ seek: Int) -> DeltaStep {
            DeltaStep(copyByteCount: copied, literalByteCount: literals, seek: seek)
        }
        for format in BsdiffFormat.allCases {
            let sound = try Self.write(format, [step(3, 3, 0)], from: old, to: new)
            try expect(Self.apply(sound, to: old), equals: new)
            for steps in [
                [step(3, 2, 0)], [step(3, 4, 0)], [step(7, 0, 0)], [step(3, 3, 4)],
                [step(3, 0, -4), step(0, 3, 0)], [step(-1, 7, 0)], [step(7, -1, 0)], [],
                [step(3, 0, 2), step(2, 1, 0)],
            ] {
                expectRefusal(.badPatch) { try Self.write(format, steps, from: old, to: new) }
            }
        }
    }

    @Test(arguments: BsdiffFormat.allCases)
    func `a patch that is damaged anywhere is refused, or gives no more than it says`(
        _ format: BsdiffFormat
    ) throws {
        let (old, new) = (Self.script(1, count: 40), Self.script(2, count: 40))
        let patch = try require(try Self.patches(from: old, to: new)[format])
        for count in stride(from: 0, to: patch.count - 1, by: 7) {
            // Without its last bytes, a stream may have said everything already.
            let cut = try? Self.apply(Array(patch[..<count]), to: old)
            expect(cut == nil || cut == new, "\(count)")
        }
        var random = SeededRandom(seed: 11)
        for place in patch.indices {
            var other = patch
            other[place] ^= UInt8.random(in: 1...255, using: &random)
            do throws(StoreError) {
                let made = try Self.apply(other, to: old, limit: 1 << 20)
                expect(made.count <= 1 << 20)
            } catch {
                expect(error.code == .badPatch, "\(place): \(error.code)")
            }
        }
    }

    @Test(arguments: BsdiffFormat.allCases)
    func `a patch that says too much is refused before memory is taken`(
        _ format: BsdiffFormat
    ) throws {
        let patch = try Self.write(
            format, [DeltaStep(copyByteCount: 3, literalByteCount: 0, seek: 0)],
            from: [1, 2, 3], to: [1, 2, 3])
        let start = format == .bsdiff40 ? 24 : 16
        for size in [Int(Int32.max) + 1, Int.max, -1, -Int.max, 4] {
            var other = patch
            other.replaceSubrange(start..<start + 8, with: BsdiffNumber.bytes(of: size))
            expectRefusal(.badPatch) { try Self.apply(other, to: [1, 2, 3], limit: .max) }
        }
        expectRefusal(.badPatch) { try Self.apply(patch, to: [1, 2, 3], limit: 2) }
        expectRefusal(.badPatch) { try Self.apply(patch, to: [1, 2]) }
        expectRefusal(.badPatch) { try Self.apply([], to: [1, 2]) }
        expectRefusal(.badPatch) { try Self.apply(Array("BSDIFF40".utf8), to: [1, 2]) }
    }

    @Test func `steps that make nothing come to an end`() throws {
        let steps = Array(repeating: [UInt8](repeating: 0, count: 24), count: 100_000).flatMap(
            \.self)
        let stream = try steps.span.bytes.withUnsafeBytes { (steps) throws(StoreError) in
            try Bzip2.compress(steps) { false }
        }
        let patch = BsdiffFormat.bsdiff43.magic + BsdiffNumber.bytes(of: 5) + stream
        expectRefusal(.badPatch, saying: "too many steps") { try Self.apply(patch, to: [1]) }
    }

    @Test func `making patches can be interrupted`() throws {
        let (old, new) = (Self.script(1), Self.script(2))
        expectRefusal(.interrupted) {
            try old.span.bytes.withUnsafeBytes { (old) throws(StoreError) in
                let making = try PatchMaking(from: old) { true }
                try new.span.bytes.withUnsafeBytes { (new) throws(StoreError) in
                    _ = try making.patches(to: new, [.bsdiff40])
                }
            }
        }
    }
}

/// Both formats read by a program that shares nothing with ours, as their first readers read them.
enum PlainApplier {
    static let script = """
        import bz2, sys
        old, patch = open(sys.argv[1], "rb").read(), open(sys.argv[3], "rb").read()
        def number(b):
            n = int.from_bytes(b[:7] + bytes([b[7] & 127]), "little")
            return -n if b[7] & 128 else n
        def whole(b):
            d = bz2.BZ2Decompressor()
            out = d.decompress(b)
            assert d.eof
            return out, d.unused_data
        class Stream:
            def __init__(self, b): self.b, self.at = b, 0
            def take(self, n):
                self.at += n
                assert self.at <= len(self.b)
                return self.b[self.at - n:self.at]
        if patch[:16] == b"ENDSLEY/BSDIFF43":
            size = number(patch[16:24])
            one, rest = whole(patch[24:])
            assert not rest
            control = diff = extra = Stream(one)
        else:
            assert patch[:8] == b"BSDIFF40"
            c, d, size = (number(patch[a:a + 8]) for a in (8, 16, 24))
            parts = [whole(p) for p in (patch[32:32 + c], patch[32 + c:32 + c + d], patch[32 + c + d:])]
            assert not any(rest for _, rest in parts)
            control, diff, extra = (Stream(p) for p, _ in parts)
        new, place = bytearray(), 0
        while len(new) < size:
            add, copy, seek = (number(control.take(8)) for _ in range(3))
            assert add >= 0 and copy >= 0 and place >= 0 and place + add <= len(old)
            new += bytes((a + b) & 255 for a, b in zip(diff.take(add), old[place:place + add]))
            new += extra.take(copy)
            place += add + seek
        assert len(new) == size
        open(sys.argv[2], "wb").write(new)
        """

    static func run(_ program: String, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        try process.run()
        process.waitUntilExit()
        expect(process.terminationStatus == 0, "\(program)")
    }
}
