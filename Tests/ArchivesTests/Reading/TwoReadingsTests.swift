import ArchiveReading
import Archives
import StorageTestSupport

/// Programs read zip archives by the directory at the end, or from file to file: what they see must be one thing.
@Suite("A zip archive that two programs would read differently") struct TwoReadingsTests {
    let reader = ReadArchive()
    typealias Entry = ForeignZip.Entry

    static let hidden = ForeignZip.files(Entry("hidden", "not listed"))

    static func entry(
        _ name: String = "a", _ content: String = "content", _ change: (inout Entry) throws -> Void
    ) rethrows -> Entry {
        var entry = Entry(name, content)
        try change(&entry)
        return entry
    }

    static func deflated(_ content: String) throws -> [UInt8] {
        try DeflateTests.deflate(Array(content.utf8), Deflater())
    }

    static func descriptor(_ entry: Entry, width: Int = 4, crc: UInt32? = nil) -> [UInt8] {
        let size = ForeignZip.le(UInt64((entry.compressed ?? entry.content).count), width)
        let count = ForeignZip.le(UInt64(entry.content.count), width)
        return ForeignZip.le(UInt64(crc ?? CRC32(of: entry.content).value), 4) + size + count
    }

    typealias Change = (inout Entry) throws -> Void

    /// Expects that an archive is refused with a reason, whose first file is changed.
    private func expectRefusals(_ changes: [(String, Change)]) throws {
        for (position, (why, change)) in changes.enumerated() {
            let zip = ForeignZip(try Self.entry("a", "content", change), Entry("b"))
            try expectRefusal(zip, why, "sample \(position)")
        }
    }

    private func expectRefusal(_ zip: ForeignZip, _ why: String, _ sample: String) throws {
        let refused = try require(
            try reader.refusal(zip.bytes(), "a.zip"), "\(sample) is taken: \(why)")
        expect(refused.code, equals: .badArchive, "\(sample): \(refused.message)")
        expect(refused.message.contains(why), "\(sample): \(refused.message)")
    }

    @Test func `by the headers of a file is refused with the reason`() throws {
        let other = ForeignZip.otherName
        try expectRefusals([
            ("another name", { $0.extra = other("b", "a") }),
            ("another name", { $0.localExtra = other("b", "a") }),
            // Its checksum says that it is of another name: some programs do not look.
            ("another name", { $0.extra = other("b", "c") }),
            ("another name", { $0.extra = ForeignZip.field(0x7075, []) }),
            ("there twice", { $0.extra = other("a", "a") + other("b", "a") }),
            ("cut off", { $0.localExtra = [0x75, 0x70, 9, 0, 1] }),
            ("not told", { $0.localStored = .max }),
            ("differ", { $0.localName = Array("c".utf8) }),
            ("differ", { $0.localName = Array("a/".utf8) }),
            ("differ", { $0.localMethod = 8 }),
            ("differ", { $0.localFlags = 1 }),
            (
                "differ",
                {
                    $0.name = Array("ü".utf8)
                    $0.flags = 0x800
                    $0.localFlags = 0
                }
            ),
        ])
    }

    @Test func `by what follows a file is refused with the reason`() throws {
        let signature: [UInt8] = [0x50, 0x4b, 7, 8]
        // Content in which who reads from file to file sees its end, another file, and an end like the true one.
        let short = Array("evil".utf8)
        let crc = ForeignZip.le(UInt64(CRC32(of: short).value), 4)
        let trap = short + signature + crc + ForeignZip.le(4, 4) + ForeignZip.le(4, 4) + Self.hidden
        try expectRefusals([
            ("does not list", { $0.after = Self.hidden }), ("does not list", { $0.after = [0] }),
            ("does not list", { $0.descriptor = signature + Self.descriptor($0) }),
            ("after the file differ", { ($0.flags, $0.descriptor) = (8, []) }),
            (
                "after the file differ",
                { ($0.flags, $0.descriptor) = (8, signature + Self.descriptor($0, crc: 1)) }
            ),
            (
                "after the file differ",
                { ($0.flags, $0.descriptor) = (8, signature + Self.descriptor($0, width: 8)) }
            ),
            (
                "looks like its end",
                { ($0.content, $0.flags, $0.localStored, $0.localCRC) = (trap, 8, 0, 0) }
            ),
            (
                "follows its compressed bytes",
                { ($0.method, $0.compressed) = (8, try Self.deflated("content") + Self.hidden) }
            ),
            // Compressed by bzip2, as it says.
            ("like the beginning", { ($0.method, $0.compressed) = (12, Self.hidden) }),
        ])
    }

    @Test func `by its directory or its end is refused with the reason`() throws {
        let plain = Entry("a")
        func second(at offset: UInt32) -> ForeignZip {
            ForeignZip(plain, Self.entry("b") { $0.offset = offset })
        }
        try expectRefusal(second(at: 0xFFFF), "lies over", "beyond")
        try expectRefusal(second(at: 10), "differ", "within")
        let twice = ForeignZip(plain, Self.entry("a") { $0.offset = 0 })
        try expectRefusal(twice, "lies over", "twice")
        var (before, behind, large) = (ForeignZip(plain), ForeignZip(plain), ForeignZip(plain))
        before.before = Self.hidden
        try expectRefusal(before, "does not list", "before")
        behind.between = [UInt8](repeating: 0, count: 5000) + Self.hidden
        try expectRefusal(behind, "does not list", "behind")
        (large.largeEnd, large.smallCount) = ([], 2)
        try expectRefusal(large, "end records differ", "large")
        // The end of another archive within a file: whoever wants an end at the very end takes that, if zeros follow the
        // true one or not.
        let length = ForeignZip(Entry("a", String(repeating: "x", count: 22))).bytes().count
        for zeroCount in [0, 9] {
            let rest = UInt64(length + zeroCount - 31 - 22)
            var inner = Entry("a")
            inner.content = [0x50, 0x4b, 5, 6] + [UInt8](repeating: 0, count: 16)
            inner.content += ForeignZip.le(rest, 2)
            var two = ForeignZip(inner)
            two.after = [UInt8](repeating: 0, count: zeroCount)
            try expectRefusal(two, "another end record", "\(zeroCount) zeros")
        }
    }

    @Test func `is none, and taken, where headers differ in what decides nothing`() throws {
        let time = ForeignZip.field(0x5455, [1, 0, 0, 0, 0])
        let sizes = ForeignZip.field(1, ForeignZip.le(7, 8) + ForeignZip.le(7, 8))
        let entries: [Change] = [
            { $0.extra = ForeignZip.otherName("a", of: "a") },
            { ($0.extra, $0.localExtra) = (time, time + [0, 0, 0, 0, 0, 0, 0]) },
            { $0.localFlags = 6 },
            { $0.localFlags = 0x800 },
            // Sizes in the field for large files: Python's zipfile writes them so.
            { ($0.localStored, $0.localByteCount, $0.localExtra) = (.max, .max, sizes) },
            { ($0.stored, $0.byteCount, $0.extra, $0.localExtra) = (.max, .max, sizes, sizes) },
            { ($0.flags, $0.descriptor) = (8, Self.descriptor($0)) },
            {
                ($0.flags, $0.localStored, $0.localByteCount, $0.localExtra) = (
                    8, .max, .max, sizes
                )
                $0.descriptor = [0x50, 0x4b, 7, 8] + Self.descriptor($0, width: 8)
            },
        ]
        for (position, change) in entries.enumerated() {
            let zip = ForeignZip(try Self.entry("a", "content", change), Entry("b", "other"))
            let files = try reader.files(zip.bytes(), "a.zip")
            expect(files, equals: ["a": "content", "b": "other"], "\(position)")
        }
        // Its own content may be an archive.
        let nested = String(decoding: ForeignZip(Entry("in")).bytes(), as: UTF8.self)
        try expect(
            reader.files(ForeignZip(Entry("a", nested)).bytes(), "a.zip"), equals: ["a": nested])
    }

    /// On Unix and macOS names are UTF-8 without a word; elsewhere they are in some code page.
    @Test func `by its names is refused, unless it was made on Unix and they are UTF-8`() throws {
        let names = ["ü", "u\u{308}", "日本語"]
        for name in names {
            for (system, isTaken) in [
                (0x031e, true), (0x0315, true), (0x1314, true), (0x0014, false), (0x0b14, false),
            ] {
                var entry = Entry(name)
                (entry.flags, entry.madeBy) = (0, UInt16(system))
                let refused = try reader.refusal(ForeignZip(Entry("a"), entry).bytes(), "a.zip")
                expect(
                    (refused == nil), equals: isTaken, "\(name) \(system) \(refused?.message ?? "")"
                )
                expect(refused == nil || refused?.code == .badPath)
                if isTaken {
                    try expect(
                        reader.files(ForeignZip(entry).bytes(), "a.zip"), equals: [name: "content"])
                }
                // Another place says that it is UTF-8.
                entry.extra = ForeignZip.otherName(name, of: name)
                try expect(
                    reader.files(ForeignZip(entry).bytes(), "a.zip"), equals: [name: "content"])
            }
            // One name in another encoding, and nobody knows what the others are: here it is named.
            var other = Entry("x")
            other.name = Array("caf".utf8) + [0xe9]
            let mixed = ForeignZip(Entry(name), other).bytes()
            try expect(reader.refusal(mixed, "a.zip")?.message.contains("caf"), equals: true)
        }
    }

    /// What is taken reads the same from file to file, whatever byte of it is another: a reader as pipes have it, by
    /// APPNOTE.TXT 4.3.7 to 4.3.9, stands against the one by the directory.
    @Test func `is never taken, whichever byte is changed`() throws {
        var late = Entry("late", "late content, late content")
        (late.method, late.flags) = (8, 8)
        late.compressed = try Self.deflated("late content, late content")
        (late.localCRC, late.localStored, late.localByteCount) = (0, 0, 0)
        var first = Entry("ab")
        first.extra = ForeignZip.otherName("ab", of: "ab")
        first.localExtra = first.extra
        let sound = ForeignZip(first, late, Entry("d/e", "")).bytes()
        let expected = ["ab": "content", "late": "late content, late content", "d/e": ""]
        try expect(reader.files(sound, "a.zip"), equals: expected)
        try expect(FrontReader.files(sound), equals: expected)
        var takenCount = 0
        for index in sound.indices {
            for change: (UInt8) -> UInt8 in [
                { _ in 0 }, { _ in 0xFF }, { $0 ^ 1 }, { $0 &+ 1 }, { $0 &- 1 }, { $0 ^ 8 },
                { $0 ^ 0x80 },
            ] {
                var bytes = sound
                bytes[index] = change(bytes[index])
                guard bytes != sound else { continue }
                do {
                    let files = try reader.files(bytes, "a.zip")
                    takenCount += 1
                    // A reader that gives up takes nothing else for the archive.
                    guard let front = try FrontReader.files(bytes) else { continue }
                    // Whether a file is executable, only the directory says.
                    let seen = files.mapValues { $0.hasPrefix("x") ? String($0.dropFirst()) : $0 }
                    expect(seen, equals: front, "byte \(index) is \(bytes[index])")
                } catch is StoreError {}
            }
        }
        // Times, versions, modes: not every byte decides something.
        expect(takenCount > 100)
    }

    static let programs: [(String, [String])] = [
        ("zip", ["-qr", "made.zip", "."]), ("zip", ["-qr", "-Z", "bzip2", "made.zip", "."]),
        ("sh", ["-c", "zip -qr - bin empty Übergröße.txt | cat > made.zip"]),
        ("bsdtar", ["-a", "-cf", "made.zip", "bin", "empty", "Übergröße.txt"]),
        ("sh", ["-c", "bsdtar -cf - --format zip bin empty Übergröße.txt | cat > made.zip"]),
        ("jar", ["-cMf", "made.zip", "bin", "empty", "Übergröße.txt"]),
        ("python3", ["-m", "zipfile", "-c", "made.zip", "bin", "empty", "Übergröße.txt"]),
        ("7zz", ["a", "-bd", "made.zip", "bin", "empty", "Übergröße.txt"]),
    ]

    @Test(arguments: programs.indices)
    func `is not what other programs make`(_ index: Int) throws {
        let (name, arguments) = Self.programs[index]
        let needed = name == "sh" ? String(arguments[1].prefix { $0 != " " }) : name
        guard ZipReaderTests.program(needed) != nil, let program = ZipReaderTests.program(name)
        else { return }
        let content = String(repeating: "content ", count: 40)
        let tree = reader.directory.appending("tree")
        try Damage.makeDirectory(tree + "/bin")
        for (path, text) in ["bin/run": "#!", "empty": "", "Übergröße.txt": content] {
            try Data(text.utf8).write(to: URL(filePath: tree + "/" + path))
        }
        try Damage.setMode(tree + "/bin/run", 0o755)
        _ = try OtherProgram(
            [program.path] + arguments, in: tree,
            environment: ["LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin:/usr/local/bin"])
        let zip = try Data(contentsOf: URL(filePath: tree + "/made.zip"))
        let found = try reader.files([UInt8](zip), "a.zip")
        // Java writes no modes.
        let run = name == "jar" ? "#!" : "x#!"
        expect(found, equals: ["bin/run": run, "empty": "", "Übergröße.txt": content])
    }
}

/// Reads a zip archive from file to file, as those do that get it from a pipe.
private enum FrontReader {
    /// The files; `nil` if such a reader gives up.
    static func files(_ bytes: [UInt8]) throws -> [String: String]? {
        var (rest, files) = (bytes[...], [String: String]())
        func number(_ offset: Int, _ count: Int) -> Int {
            rest.dropFirst(offset).prefix(count).reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        while rest.starts(with: [0x50, 0x4b, 3, 4]) {
            let (flags, method, size) = (number(6, 2), number(8, 2), number(18, 4))
            let (nameCount, extraCount) = (number(26, 2), number(28, 2))
            let name = Array(rest.dropFirst(30).prefix(nameCount))
            rest = rest.dropFirst(30 + nameCount + extraCount)
            var content: [UInt8]
            var count = size
            switch method {
            case 0 where flags & 8 == 0: content = Array(rest.prefix(size))
            case 8:
                guard let (found, used) = try inflated(rest) else { return nil }
                (content, count) = (found, used)
            default: return nil
            }
            rest = rest.dropFirst(count)
            if flags & 8 != 0 {
                let hasSignature = rest.starts(with: [0x50, 0x4b, 7, 8])
                rest = rest.dropFirst(hasSignature ? 16 : 12)
            }
            guard flags & 1 == 0 else { return nil }
            if name.last != 47 {
                files[String(decoding: name, as: UTF8.self)] = String(
                    decoding: content, as: UTF8.self)
            }
        }
        return files
    }

    /// What the shortest whole stream at the beginning holds, and its length.
    private static func inflated(_ bytes: ArraySlice<UInt8>) throws -> ([UInt8], Int)? {
        let inflater = try Inflater()
        var content: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            do {
                try [byte].span.bytes.withUnsafeBytes { (piece) throws(StoreError) in
                    try inflater.add(piece) { content += $0 }
                }
                guard (try? inflater.finish()) == nil else { return (content, index + 1) }
            } catch { return nil }
        }
        return nil
    }
}
