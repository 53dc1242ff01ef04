import ArchiveReading
import StorageTestSupport

/// Hard links between entries, as tar makes them of a version's own tree.
@Suite("A hard link in a tar archive") struct HardLinkTests {
    let reader = ReadArchive()

    private func link(_ name: String, to target: String) -> ForeignTar.Entry {
        ForeignTar.Entry(name, type: "1", target: target)
    }

    @Test func `is a file with the bytes and the mode of the one before it, through chains, too`()
        throws
    {
        var run = ForeignTar.Entry("dir/run", "bytes")
        run.mode = 0o755
        let tar = ForeignTar(
            run, .init("empty", ""), link("b", to: "dir/run"), link("c", to: "b"),
            link("d/e", to: "./c"),
            link("none", to: "empty"), .init("last", "1"))
        try expect(
            reader.files(tar.bytes(), "a.tar"),
            equals: [
                "dir/run": "xbytes", "empty": "", "b": "xbytes", "c": "xbytes", "d/e": "xbytes",
                "none": "", "last": "1",
            ])
    }

    @Test func `is found where a directory is taken away from both names`() throws {
        let tar = ForeignTar(.init("dist/a", "1"), link("dist/b/c", to: "dist/a"))
        try expect(
            reader.files(tar.bytes(), "a.tar") { $0.stripped = "dist" },
            equals: ["a": "1", "b/c": "1"])
    }

    @Test func `is refused unless it leads to a file that stands before it`() throws {
        let none = "no file of this name stands before it"
        let cases: [([ForeignTar.Entry], String)] = [
            ([link("odd", to: "later"), .init("later")], none),
            ([link("odd", to: "odd")], none),
            ([link("odd", to: "\u{65}\u{301}")], none),
            ([link("odd", to: "GOOD")], none),
            ([.init("d/", type: "5"), link("odd", to: "d")], "which is a directory"),
            ([.init("d/f"), link("odd", to: "d")], "which is a directory"),
            ([link("odd", to: "../good")], "out of the archive"),
            ([link("odd", to: "/etc/passwd")], "out of the archive"),
            ([link("odd", to: "d/../good")], "out of the archive"),
            ([.init("odd"), link("odd", to: "good")], "twice"),
            ([link("odd", to: "good"), .init("odd")], "twice"),
            ([link("odd", to: "good"), .init("odd/f")], ""),
        ]
        for (entries, why) in cases {
            var tar = ForeignTar(.init("good", "1"), .init("\u{e9}", "2"))
            tar.entries += entries
            let refused = try require(try reader.refusal(tar.bytes(), "a.tar"))
            expect(refused.code, equals: .badArchive, "\(refused.message)")
            expect(
                (why.isEmpty || refused.message.contains(why)) && refused.message.contains("odd"),
                "\(refused.message)")
        }
    }

    @Test func `may not bring content of its own`() throws {
        var odd = link("odd", to: "good")
        odd.content = Array("other".utf8)
        let tar = ForeignTar(.init("good", "1"), .pax(("comment", [97])), odd)
        try expect(reader.refusal(tar.bytes(), "a.tar")?.code, equals: .badArchive)
    }

    @Test func `counts with its bytes towards the most that an archive may hold`() throws {
        let tar = ForeignTar(.init("good", "12345"), link("odd", to: "good"))
        for (most, isTaken) in [(9, false), (10, true)] {
            let refused = try reader.refusal(tar.bytes(), "a.tar") { $0.byteCountMax = Int64(most) }
            expect(refused == nil, equals: isTaken)
            if !isTaken { expect(refused?.code, equals: .tooLarge) }
        }
    }
}

/// What names alone may take in memory.
@Suite("An archive of deep names") struct DeepArchiveTests {
    let reader = ReadArchive()

    @Test func `is refused before its directories take far more memory than it has bytes`() throws {
        var tar = ForeignTar()
        let below = String(repeating: "x/", count: 45)
        for number in 0..<16_000 { tar.entries.append(.init("\(number)/\(below)", type: "5")) }
        let refused = try reader.refusal(Compressed.gzip(tar.bytes()), "a.tar.gz")
        expect(refused?.code, equals: .tooLarge, "\(refused?.message ?? "taken")")
        expect(refused?.message.contains("files and directories") == true)
        // Few of them are taken, and have no files.
        tar.entries.removeLast(15_000)
        try expect(reader.files(Compressed.gzip(tar.bytes()), "a.tar.gz").isEmpty)
    }
}
