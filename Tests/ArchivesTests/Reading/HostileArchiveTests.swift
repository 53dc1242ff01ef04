import ArchiveReading
import StorageTestSupport

/// What is refused of single entries, with their names.
@Suite("An entry is refused") struct HostileArchiveTests {
    let reader = ReadArchive()

    /// Expects that an archive with a good entry before and after these is refused.
    private func expectRefusal(
        _ entries: [ForeignZip.Entry], naming name: String, _ why: String,
        code: StoreError.Code = .badArchive, _ location: SourceLocation = #_sourceLocation
    ) throws {
        var zip = ForeignZip(.init("good", "1"))
        zip.entries += entries + [.init("also good", "2")]
        try expectRefused(reader.refusal(zip.bytes(), "a.zip"), name, code, why, location)
    }

    private func expectRefusal(
        _ entries: [ForeignTar.Entry], naming name: String, _ why: String,
        code: StoreError.Code = .badArchive, _ location: SourceLocation = #_sourceLocation
    ) throws {
        var tar = ForeignTar(.init("good", "1"))
        tar.entries += entries + [.init("also good", "2")]
        try expectRefused(reader.refusal(tar.bytes(), "a.tar"), name, code, why, location)
    }

    private func expectRefused(
        _ refused: StoreError?, _ name: String, _ code: StoreError.Code, _ why: String,
        _ location: SourceLocation
    ) throws {
        let refused = try #require(refused, "taken", sourceLocation: location)
        #expect(refused.code == code, "\(refused.message)", sourceLocation: location)
        let isRight = [name, why].allSatisfy { $0.isEmpty || refused.message.contains($0) }
        #expect(isRight, "\(refused.message)", sourceLocation: location)
    }

    @Test func `whose name leads elsewhere`() throws {
        let names = [
            ("../evil", "\"..\""), ("a/../../evil", "\"..\""), ("/etc/passwd", "absolute"),
            ("..\\evil", "backslash"), ("C:\\evil", "backslash"), ("a//b", "empty component"),
            ("a/./b", "\".\""), (".", "\".\""),
            ("a/" + String(repeating: "n", count: 256), "255"),
        ]
        for (name, why) in names {
            // Messages escape a backslash.
            let shown = name.contains("\\") ? "evil" : name
            try expectRefusal([ForeignZip.Entry(name)], naming: shown, why, code: .badPath)
            let long = ForeignTar.Entry.pax(("path", Array(name.utf8)))
            try expectRefusal([long, ForeignTar.Entry("x")], naming: shown, why, code: .badPath)
        }
        try expectRefusal(
            [ForeignTar.Entry("../evil")], naming: "../evil", "\"..\"", code: .badPath)
        try expectRefusal([ForeignZip.Entry("")], naming: "\"\"", "empty", code: .badPath)
        try expectRefusal([ForeignZip.Entry("a\0b")], naming: "a", "NUL", code: .badPath)
        let zero = ForeignTar.Entry.pax(("path", Array("a\0b".utf8)))
        try expectRefusal([zero, ForeignTar.Entry("x")], naming: "a", "NUL", code: .badPath)
        // Whatever the lengths of the headers are.
        for count in 1...80 {
            let name = String(repeating: "n", count: count) + "\0b"
            let zero = ForeignTar.Entry.pax(("comment", [97]), ("path", Array(name.utf8)))
            try expectRefusal([zero, ForeignTar.Entry("x")], naming: "n", "NUL", code: .badPath)
            var long = ForeignTar.Entry("././@LongLink")
            (long.type, long.content) = ("L", Array((name + "\0").utf8))
            try expectRefusal([long, ForeignTar.Entry("x")], naming: "n", "NUL", code: .badPath)
        }
        // A length in GNU's binary numbers, which a reader of octal digits takes for 0.
        var binary = ForeignTar(zero, ForeignTar.Entry("x")).bytes()
        binary.replaceSubrange(124..<136, with: [0x80] + [UInt8](repeating: 0, count: 10) + [12])
        binary.replaceSubrange(148..<156, with: [UInt8](repeating: 32, count: 8))
        let sum = String(binary[..<512].reduce(0) { $0 + Int($1) }, radix: 8)
        let padded = String(repeating: "0", count: 6 - sum.utf8.count) + sum
        binary.replaceSubrange(148..<156, with: Array("\(padded)\0 ".utf8))
        try expectRefused(
            reader.refusal(binary, "a.tar"), "a.tar", .badArchive, "octal", #_sourceLocation)
        // What is no name may be any bytes: an extended attribute.
        let attribute = ForeignTar.Entry.pax(("SCHILY.xattr.user.x", [0, 1, 0]))
        let tar = ForeignTar(attribute, .init("a")).bytes()
        try expect(reader.files(tar, "a.tar"), equals: ["a": "content"])
    }

    @Test func `that is no regular file`() throws {
        let modes: [(UInt32, String)] = [
            (0o120777, "symbolic link"), (0o010644, "named pipe"), (0o020644, "device"),
            (0o060644, "device"), (0o140644, "socket"), (0o040755, "directory"),
        ]
        for (mode, why) in modes {
            try expectRefusal([ForeignZip.Entry("odd", "x", mode: mode)], naming: "\"odd\"", why)
        }
        try expectRefusal(
            [ForeignZip.Entry("odd/", "", mode: 0o100644)], naming: "\"odd/\"", "directory")
        try expectRefusal([ForeignZip.Entry("odd/", "x", mode: 0)], naming: "\"odd/\"", "content")
        let types: [(Character, String)] = [
            ("2", "symbolic link"), ("3", "device"), ("4", "device"),
            ("6", "named pipe"),
        ]
        for (type, why) in types {
            let odd = ForeignTar.Entry("odd", type: type, target: "good")
            try expectRefusal([odd], naming: "\"odd\"", why)
        }
        let sparse = ForeignTar.Entry.pax(
            ("GNU.sparse.numblocks", Array("1".utf8)), ("GNU.sparse.name", Array("odd".utf8)),
            ("GNU.sparse.size", Array("70000".utf8)),
            ("GNU.sparse.map", Array("65536,7".utf8)))
        try expectRefusal(
            [sparse, ForeignTar.Entry("x")], naming: "\"odd\"", "without tar's option --sparse")
    }

    @Test func `that other programs would take for something else`() throws {
        let (x, odd) = (ForeignTar.Entry("x"), Array("odd".utf8))
        // A sparse file without holes, by its header or by GNU's fields.
        let plain = ForeignTar.Entry.pax(
            ("GNU.sparse.major", [49]), ("GNU.sparse.minor", [48]), ("GNU.sparse.name", odd),
            ("GNU.sparse.realsize", [55]))
        var map = x
        map.content = Array("1\n0\n7\n".utf8) + [UInt8](repeating: 0, count: 506) + x.content
        try expectRefusal([plain, map], naming: "\"odd\"", "sparse")
        try expectRefusal([.pax(("GNU.sparse.name", odd)), x], naming: "\"odd\"", "sparse")
        try expectRefusal([ForeignTar.Entry("odd", type: "S")], naming: "\"odd\"", "sparse")
        // Two names, of which each program takes the one or the other.
        let name = ForeignTar.Entry.pax(("path", odd))
        var long = ForeignTar.Entry("././@LongLink")
        (long.type, long.content) = ("L", Array("other\0".utf8))
        for headers in [
            [name, long], [long, name], [long, long], [.pax(("path", odd), ("path", [97]))],
        ] {
            try expectRefusal(headers + [x], naming: "\"x\"", "more than one name", code: .badPath)
        }
        // The same of what it is a link to.
        let target = ForeignTar.Entry.pax(("linkpath", [97]))
        long.type = "K"
        for headers in [
            [target, long], [long, target], [long, long],
            [.pax(("linkpath", [97]), ("linkpath", [98]))],
        ] {
            let link = ForeignTar.Entry("x", type: "1", target: "a")
            let entries = [ForeignTar.Entry("a"), ForeignTar.Entry("other")] + headers + [link]
            try expectRefusal(entries, naming: "\"x\"", "links to more than one", code: .badPath)
        }
        // What is said for all entries: pax(1) wants it heeded, libarchive heeds none of these.
        for key in ["path", "linkpath", "size", "hdrcharset"] {
            var global = ForeignTar.Entry.pax((key, [49]))
            global.type = "g"
            try expectRefusal([ForeignTar.Entry("a"), global, x], naming: "", "one \(key)")
        }
        var comment = ForeignTar.Entry.pax(("comment", Array("of git".utf8)))
        comment.type = "g"
        try expect(reader.files(ForeignTar(comment, x).bytes(), "a.tar"), equals: ["x": "content"])
    }

    @Test func `that is there twice, or as a file and a directory`() throws {
        let lists: [([String], String)] = [
            (["a", "a"], "\"a\""), (["a", "./a"], "a\""), (["a", "a/"], "\"a/\""),
            (["a/", "a"], "\"a\""),
            (["a", "a/b"], "\"a/b\""), (["a/b", "a"], "\"a\""), (["a/b/c", "a/b"], "\"a/b\""),
            (["a/b/", "a"], "\"a\""),
        ]
        for (names, name) in lists {
            try expectRefusal(names.map { ForeignZip.Entry($0, "", mode: 0) }, naming: name, "")
            try expectRefusal(
                names.map { ForeignTar.Entry($0, "", type: $0.hasSuffix("/") ? "5" : "0") },
                naming: name, "")
        }
        // Bytes count: these two are another name for each other only where Unicode is folded, which stores look at.
        let two = ForeignZip(.init("\u{e9}"), .init("e\u{301}"), .init("A"), .init("a"))
        let refused = try reader.refusal(two.bytes(), "a.zip")
        expect(refused == nil, "\(refused?.message ?? "")")
        // A directory may be named as often as one likes.
        let often = ForeignTar(.init("d/", type: "5"), .init("d/a"), .init("d/", type: "5"))
        try expect(reader.files(often.bytes(), "a.tar"), equals: ["d/a": "content"])
    }

    @Test func `whose name is not said to be UTF-8, or is not`() throws {
        // "ü" in code page 437, in Latin-1, and, not made on Unix, in UTF-8 that nobody says.
        for bytes: [UInt8] in [[0x81], [0xfc], [0xc3, 0xbc]] {
            var entry = ForeignZip.Entry("x")
            if bytes.count > 1 { entry.madeBy = 0x14 }
            entry.name = Array("caf".utf8) + bytes
            try expectRefusal([entry], naming: "caf", "UTF-8", code: .badPath)
        }
        var wrong = ForeignZip.Entry("x")
        wrong.name = Array("caf".utf8) + [0xfc]
        wrong.flags = 0x800
        try expectRefusal([wrong], naming: "\"caf", "said to be UTF-8", code: .badPath)
        // By Info-ZIP's field instead of the flag.
        wrong.flags = 0
        wrong.extra = ForeignZip.field(0x7075, [1, 0, 0, 0, 0] + wrong.name)
        try expectRefusal([wrong], naming: "\"caf", "said to be UTF-8", code: .badPath)
        var noted = ForeignZip.Entry("noted")
        (noted.flags, noted.comment) = (0x800, [0xfc])
        try expectRefusal([noted], naming: "\"noted\"", "its comment")
        var entry = ForeignTar.Entry("x")
        entry.name = Array("caf".utf8) + [0xfc]
        let tar = try reader.refusal(ForeignTar(entry).bytes(), "a.tar")
        expect(tar?.code, equals: .badArchive)
        // Tar archives of today have no flag: their names are what they are.
        entry.name = Array("ü".utf8)
        try expect(reader.files(ForeignTar(entry).bytes(), "a.tar"), equals: ["ü": "content"])
    }

    @Test func `that is encrypted, or compressed in a way that nobody can undo`() throws {
        var entry = ForeignZip.Entry("secret", "0123456789abcdef")
        entry.flags = 1
        try expectRefusal([entry], naming: "\"secret\"", "encrypted")
        entry.flags = 0
        entry.method = 77
        try expectRefusal([entry], naming: "\"secret\"", "method 77")
        // By the name that people know, and with what to do.
        for (method, name) in [(9, "Deflate64 (method 9)"), (98, "PPMd (method 98)")] {
            entry.method = UInt16(method)
            try expectRefusal([entry], naming: "\"secret\"", name)
            try expectRefusal([entry], naming: "\"secret\"", "-mm=Deflate")
        }
    }

    @Test func `that is damaged, or does not have the size that it says`() throws {
        func entry(_ change: (inout ForeignZip.Entry) -> Void) -> [ForeignZip.Entry] {
            var entry = ForeignZip.Entry("broken")
            change(&entry)
            return [entry]
        }
        try expectRefusal(entry { $0.crc = 1 }, naming: "\"broken\"", "CRC")
        try expectRefusal(entry { $0.method = 8 }, naming: "\"broken\"", "damaged")
        try expectRefusal(entry { $0.byteCount = 8 }, naming: "", "")
        try expectRefusal(entry { $0.byteCount = 6 }, naming: "", "")
        try expectRefusal(entry { $0.stored = 70_000 }, naming: "", "")
        // What the local header says differs.
        try expectRefusal(entry { $0.localName = Array("brokem".utf8) }, naming: "a.zip", "")
        try expectRefusal(entry { $0.localCRC = 1 }, naming: "a.zip", "")
        // Also where a data descriptor follows, and zeros may stand before the file instead.
        let zeros: [UInt32] = [0, 0, 0]
        for (place, wrong) in [(0, UInt32(1)), (1, 6), (1, 8), (2, 6), (2, 8)] {
            var told = zeros
            told[place] = wrong
            let broken = entry {
                $0.flags = 8
                ($0.localCRC, $0.localStored, $0.localByteCount) = (told[0], told[1], told[2])
            }
            try expectRefusal(broken, naming: "\"broken\"", "differ")
        }
        try expectRefusal(entry { ($0.flags, $0.localByteCount) = (8, .max) }, naming: "a.zip", "")
        try expectRefusal(
            entry {
                ($0.flags, $0.localFlags) = (8, 0)
                $0.localStored = 0
            }, naming: "\"broken\"", "differ")
        var tar = ForeignTar.Entry("broken")
        tar.isSumWrong = true
        try expectRefusal([tar], naming: "a.tar", "damaged")
        tar.isSumWrong = false
        tar.byteCount = 5000
        try expectRefusal([tar], naming: "", "")
        // A wrong checksum of gzip, which compares it at the end.
        let sound = ForeignTar(.init("a")).bytes()
        let broken = try Compressed.gzip(sound, crc: 1)
        try expect(reader.refusal(broken, "a.tar.gz")?.code, equals: .badArchive)
    }

    @Test func `that lies within another`() throws {
        var inner = ForeignZip.Entry("inner")
        inner.flags = 8
        (inner.localCRC, inner.localStored) = (0, 0)
        var outer = ForeignZip.Entry("outer")
        // Its header and its content.
        outer.content = Array(ForeignZip(inner).bytes().prefix(30 + 5 + inner.content.count))
        let zip = ForeignZip(outer, inner)
        try expect(reader.files(zip.bytes(), "a.zip").count, equals: 2)
        inner.offset = 30 + 5
        let refused = try reader.refusal(ForeignZip(outer, inner).bytes(), "a.zip")
        try expectRefused(
            refused, "\"inner\"", .badArchive, "lies over something else", #_sourceLocation)
    }
}
