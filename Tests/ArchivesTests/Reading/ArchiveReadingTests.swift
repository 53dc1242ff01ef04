import ArchiveReading
import StorageTestSupport

@Suite("An archive from anybody") struct ArchiveReadingTests {
    let reader = ReadArchive()

    static let tar: [UInt8] = {
        var run = ForeignTar.Entry("./bin/run", "#!")
        run.mode = 0o700
        var shared = ForeignTar.Entry("group", "g")
        shared.mode = 0o674
        return ForeignTar(
            .init("./", type: "5"), .init("./bin/", type: "5"), run, shared,
            .pax(("path", Array("Übergröße/日本語.txt".utf8))), .init("x", "long"), .init("empty", "")
        ).bytes()
    }()
    static let tree = ["bin/run": "x#!", "group": "g", "Übergröße/日本語.txt": "long", "empty": ""]

    @Test func `gives its files and their executable bits, in every format`() throws {
        var run = ForeignZip.Entry("bin/run", "#!", mode: 0o100700)
        let zip = ForeignZip(
            .init("bin/", "", mode: 0o040755), run, .init("group", "g", mode: 0o100674),
            .init("Übergröße/日本語.txt", "long"), .init("empty", ""))
        try expect(reader.files(zip.bytes(), "a.zip"), equals: Self.tree)
        try expect(reader.files(zip.bytes(), "content decides"), equals: Self.tree)
        // Made elsewhere than on Unix: no modes.
        run.mode = 0
        try expect(reader.files(ForeignZip(run).bytes(), "b.zip"), equals: ["bin/run": "#!"])
        for (name, bytes) in try Self.tars() {
            try expect(reader.files(bytes, name), equals: Self.tree, "\(name)")
        }
        // Several members, several frames, and one to be skipped, are one content.
        let half = Self.tar.count / 2
        let (first, second) = (Array(Self.tar[..<half]), Array(Self.tar[half...]))
        let gzips = try Compressed.gzip(first) + Compressed.gzip(second)
        try expect(reader.files(gzips, "b.tgz"), equals: Self.tree)
        let frames = [0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3] + Compressed.zstd(first)
        try expect(reader.files(frames + Compressed.zstd(second), "b.tzst"), equals: Self.tree)
    }

    /// Composed and decomposed characters, and Hangul: two spellings are two names, of which a page means one.
    @Test(arguments: ["cafe\u{301}", "caf\u{e9}", "\u{1112}\u{1161}", "\u{d558}", "\u{212b}"])
    func `keeps every byte of a name and of a link's target, whatever header has it`(
        _ text: String
    ) throws {
        let name = Array("\(text)/f".utf8)
        var long = ForeignTar.Entry("././@LongLink")
        (long.type, long.content) = ("L", name + [0])
        let path = ("path", name)
        let headers: [[ForeignTar.Entry]] = [
            [.pax(path)], [.pax(("hdrcharset", Array("BINARY".utf8)), path)], [long],
        ]
        let link = ForeignTar.Entry("link", type: "1", target: "other")
        let ends: [[ForeignTar.Entry]] = [
            [.init("link", type: "1", target: "\(text)/f")], [.pax(("linkpath", name)), link],
        ]
        for end in ends {
            var all = headers.map { $0 + [.init("other")] }
            for plain: [ForeignTar.Entry] in [[.pax(("mtime", [49]))], []] {
                all.append(plain + [.init("\(text)/f")])
            }
            for entries in all {
                let tar = ForeignTar(entries: entries + end)
                let read = try reader.intake(tar.bytes(), "a.tar").paths
                expect(read, equals: [name, Array("link".utf8)])
            }
        }
        let both = ["e\u{301}", "\u{e9}"].map { Array($0.utf8) }
        let pair = ForeignTar(
            entries: both.flatMap { [.pax(("path", $0)), ForeignTar.Entry("other")] })
        try expect(reader.intake(pair.bytes(), "a.tar").paths, equals: both)
    }

    static func tars() throws -> [(String, [UInt8])] {
        [
            ("a.tar", tar), ("a.tar.gz", try Compressed.gzip(tar)),
            ("a.tar.zst", Compressed.zstd(tar)),
            ("a.tar.br", Compressed.brotli(tar)),
        ]
    }

    /// The checksum, the stored size and the size before a file: of macOS, of bsdtar and Windows' tar, of others.
    @Test func `may say before a file what it says after it, as many programs do`() throws {
        let size: UInt32 = 7
        for (stored, byteCount) in [(0, 0), (size, 0), (0, size), (size, size)] {
            for isFirst in [true, false] {
                var entry = ForeignZip.Entry("a")
                entry.flags = 8
                (entry.localCRC, entry.localStored, entry.localByteCount) = (0, stored, byteCount)
                let other = ForeignZip.Entry("b", "other")
                let zip = isFirst ? ForeignZip(entry, other) : ForeignZip(other, entry)
                let files = try reader.files(zip.bytes(), "a.zip")
                expect(files, equals: ["a": "content", "b": "other"], "\(stored) \(byteCount)")
            }
        }
    }

    @Test
    func `may be padded with zeros after what gzip made, as gzip takes it, and with nothing else`()
        throws
    {
        let gzip = try Compressed.gzip(Self.tar)
        let none: [UInt8] = []
        for count in [1, 511, 64 << 10, 200_000] {
            let padding = [UInt8](repeating: 0, count: count)
            try expect(reader.files(gzip + padding, "a.tgz"), equals: Self.tree, "\(count)")
            for more in [[1], gzip, none + padding + [7]] {
                try expect(
                    reader.refusal(gzip + padding + more, "a.tgz")?.code, equals: .badArchive,
                    "\(count), \(more.count)")
            }
        }
    }

    @Test func `of no files is an archive, too`() throws {
        try expect(reader.files(ForeignZip().bytes(), "a.zip"), equals: [:])
        try expect(reader.files(ForeignTar().bytes(), "a.tar"), equals: [:])
    }

    @Test func `is refused wherever it is cut off`() throws {
        var zip = ForeignZip(.init("a", String(repeating: "a", count: 700)), .init("b"))
        zip.comment = Array("comment".utf8)
        for (name, bytes) in try Self.tars() + [("a.zip", zip.bytes())] {
            // A byte of the last block of a tar archive is cut off as well.
            for count in [Int](stride(from: 0, to: bytes.count, by: 97)) + [bytes.count - 1] {
                let refused = try reader.refusal(Array(bytes[..<count]), name)
                expect(refused?.code, equals: .badArchive, "\(name) at \(count)")
            }
        }
        // Between two entries, and with half an end.
        for end in [0, 512] {
            var tar = ForeignTar(.init("a"))
            tar.end = Array(repeating: 0, count: end)
            try expect(reader.refusal(tar.bytes(), "a.tar")?.code, equals: .badArchive)
        }
    }

    @Test func `is refused if something is joined with it`() throws {
        var zips = Array(repeating: ForeignZip(.init("a")), count: 5)
        zips[0].before = Array("#!/bin/sh\n".utf8)
        zips[1].after = [0, 1, 0]
        zips[2].comment = Array("PK\u{5}\u{6}".utf8)
        // The whole of another archive, in the comment.
        zips[3].comment = ForeignZip(.init("b")).bytes()
        zips[4].largeEnd = [0]
        for (position, zip) in zips.enumerated() {
            try expect(
                reader.refusal(zip.bytes(), "a.zip")?.code, equals: .badArchive, "\(position)")
        }
        // There Android's packages have their signature.
        var package = ForeignZip(.init("a"))
        package.between = [1, 2, 3]
        try expect(reader.files(package.bytes(), "a.apk"), equals: ["a": "content"])
        // The end of a large archive.
        package.largeEnd = []
        try expect(reader.files(package.bytes(), "a.zip"), equals: ["a": "content"])
        // bsdtar fills up with zeros what it writes into a pipe, after the comment, too.
        for comment in ["", "comment\0"] {
            for count in [1, 21, 22, 10_000] {
                var padded = ForeignZip(.init("a"))
                (padded.comment, padded.after) = (
                    Array(comment.utf8), [UInt8](repeating: 0, count: count)
                )
                try expect(reader.files(padded.bytes(), "a.zip"), equals: ["a": "content"])
            }
        }
        // Where other programs no longer find its end.
        let far = ForeignZip(.init("a")).bytes() + [UInt8](repeating: 0, count: 70_000)
        try expect(reader.refusal(far, "a.zip")?.message.contains("no end record"), equals: true)
        for (name, bytes) in try Self.tars() {
            try expect(reader.refusal(bytes + [1], name)?.code, equals: .badArchive, "\(name)")
        }
        var tar = ForeignTar(.init("a"))
        tar.end = Array(repeating: 0, count: 1024 * 200) + Array("more".utf8)
        try expect(reader.refusal(tar.bytes(), "a.tar")?.code, equals: .badArchive)
        try expect(reader.refusal(Compressed.gzip(tar.bytes()), "a.tgz")?.code, equals: .badArchive)
        try expect(
            reader.refusal(Compressed.gzip(Self.tar) + Array("junk".utf8), "a.tgz")?.code,
            equals: .badArchive)
    }

    @Test func `that was to have several parts is read if it became one, and a part is named so`()
        throws
    {
        var zip = ForeignZip(.init("a"))
        for mark in [[0x50, 0x4B, 7, 8], [0x50, 0x4B, 0x30, 0x30]] as [[UInt8]] {
            zip.before = mark
            let whole = zip.bytes()
            try expect(reader.files(whole, "a"), equals: ["a": "content"])
            // The first part has no end, and what the last begins with is anything.
            var last = Array(whole.dropFirst(9))
            last[last.count - 18] = 1
            for (name, part) in [("a.z01", Array(whole.prefix(30))), ("a.zip", last)] {
                let refused = try reader.refusal(part, name)
                expect(refused?.message.contains("a part of a zip archive") == true, "\(name)")
            }
        }
        zip.before += [0]
        try expect(reader.refusal(zip.bytes(), "a.zip")?.code, equals: .badArchive)
    }

    @Test
    func `of an unknown format, or of another than its name says, is refused with advice`() throws {
        let others: [(String, [UInt8])] = [
            ("a.rar", Array("Rar!\u{1a}\u{7}".utf8) + [1, 0]),
            ("a.7z", [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c, 0]),
            ("a.tar.xz", [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]),
            ("a.tar.bz2", Array("BZh91AY".utf8)), ("a.zip", Array("<html></html>".utf8)),
            ("a", [7]),
        ]
        for (name, bytes) in others {
            let refused = try require(try reader.refusal(bytes, name))
            expect(refused.code, equals: .badArchive)
            expect(refused.message.contains(name) && refused.message.contains("add the directory"))
        }
        try expect(reader.refusal([], "a.zip")?.message.contains("it is empty"), equals: true)
        let zip = ForeignZip(.init("a")).bytes()
        for name in ["a.tar", "a.tgz", "a.tar.zst", "a.TAR.BR"] {
            try expect(reader.refusal(zip, name)?.message.contains("its name"), equals: true)
        }
        try expect(reader.refusal(Self.tar, "a.tar.gz")?.message.contains("its name"), equals: true)
        // Compressed, but no tar archive.
        try expect(
            reader.refusal(Compressed.gzip(Array("hello".utf8)), "a.gz")?.code, equals: .badArchive)
    }

    @Test func `expands to no more than is allowed, which is known early`() throws {
        let zip = ForeignZip(.init("a", "123456"), .init("b", "1234")).bytes()
        let tar = ForeignTar(.init("a", "123456"), .init("b", "1234")).bytes()
        for (name, bytes) in [("a.zip", zip), ("a.tar", tar)] {
            try expect(reader.refusal(bytes, name) { $0.byteCountMax = 10 } == nil)
            let refused = try reader.refusal(bytes, name) { $0.byteCountMax = 9 }
            expect(refused?.code, equals: .tooLarge)
            expect(
                refused?.message.contains("\"b\"") == true
                    && refused?.message.contains("--max-size") == true)
        }
        // A thousand times its size, above 64 MiB: by what the directory of a zip archive says …
        var large = ForeignZip.Entry("large")
        large.method = 8
        large.byteCount = 100 << 20
        try expect(reader.refusal(ForeignZip(large).bytes(), "a.zip")?.code, equals: .tooLarge)
        // … and by what comes out of a compressed tar archive.
        var zeros = ForeignTar.Entry("zeros", "")
        zeros.byteCount = 900 << 20
        var trap = ForeignTar(zeros)
        trap.end = []
        let frame = Compressed.zstd(trap.bytes(), zeros: 900 << 20)
        expect(frame.count < 40_000)
        let refused = try reader.refusal(frame, "a.tar.zst")
        expect(refused?.code == .tooLarge && refused?.message.contains("1000 times") == true)
    }

    @Test func `is stripped of a directory that holds all of it`() throws {
        let zip = ForeignZip(
            .init("CodePush/", "", mode: 0o040755), .init("CodePush/a"), .init("CodePush/b/c")
        ).bytes()
        for prefix in ["CodePush/", "CodePush"] {
            let files = try reader.files(zip, "a.zip") { $0.stripped = prefix }
            expect(Set(files.keys), equals: ["a", "b/c"])
        }
        let deep = ForeignTar(.init("a/", type: "5"), .init("./a/b/c/d")).bytes()
        try expect(reader.files(deep, "a.tar") { $0.stripped = "a/b" }, equals: ["c/d": "content"])
        for prefix in ["CodePush/b", "Code", "CodePush/b/c"] {
            let refused = try reader.refusal(zip, "a.zip") { $0.stripped = prefix }
            expect(refused?.message.contains("does not lie below \(prefix)/"), equals: true)
        }
    }

    @Test func `keeps what macOS puts in unless that is to be left out`() throws {
        let zip = ForeignZip(
            .init("app/a"), .init("app/.DS_Store"), .init("__MACOSX/app/._a"),
            .init("app/__MACOSX/b")
        ).bytes()
        try expect(reader.files(zip, "a.zip").count, equals: 4)
        let files = try reader.files(zip, "a.zip") {
            $0.skipsJunk = true
            $0.stripped = "app"
        }
        expect(Set(files.keys), equals: ["a", "__MACOSX/b"])
    }
}
