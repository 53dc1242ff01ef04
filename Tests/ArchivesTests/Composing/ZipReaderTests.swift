import ProgramTestSupport

/// What others' programs make of a composed archive.
@Suite("A composed archive is read by") struct ZipReaderTests {
    static let files: [String: [UInt8]] = {
        var random = SeededRandom(seed: 7)
        return [
            "index.html": Array(String(repeating: "<p>castree</p>\n", count: 3000).utf8),
            "bin/run": Array("#!/bin/sh\necho run run run run run run run run\n".utf8),
            "empty": [], "short": Array("x".utf8),
            "deep/er/noise.bin": random.bytes(20_000),
            "Übergröße/日本語 🎉.txt": Array(String(repeating: "ü", count: 100).utf8),
        ]
    }()

    let directory = TemporaryDirectory()
    var path: String { directory.appending("a.zip") }

    static func program(_ name: String) -> URL? {
        let directories = ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"]
        return directories.map { URL(filePath: $0 + "/" + name) }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }

    @discardableResult
    func run(_ program: String, _ arguments: [String]) throws -> Finished {
        let url = try require(Self.program(program))
        // For unzip and bsdtar: names are UTF-8.
        let running = try Running(
            url, arguments, in: URL(filePath: directory.path), environment: ["LC_ALL": "C.UTF-8"])
        let done = try running.finished()
        expect(done.status, equals: 0, "\(program): \(done.errors)\(done.text)")
        return done
    }

    /// The tree that a program unpacked, with its modes if it has seen them.
    func expectTree(_ name: String, hasModes: Bool = true) throws {
        let root = directory.appending(name)
        try expect(Damage.files(below: root), equals: Self.files)
        for path in Self.files.keys {
            let isExecutable = FileManager.default.isExecutableFile(atPath: "\(root)/\(path)")
            expect(isExecutable, equals: (hasModes && path == "bin/run"), "\(path)")
        }
    }

    func compose() throws {
        try ComposedArchive(Self.files).write(to: path)
        try ComposedArchive([:]).write(to: directory.appending("empty.zip"))
    }

    @Test(.enabled(if: program("unzip") != nil, "apt install unzip"))
    func `Info-ZIP's unzip`() throws {
        try compose()
        try run("unzip", ["-tq", path])
        try run("unzip", ["-q", path, "-d", "tree"])
        try expectTree("tree")
    }

    @Test(.enabled(if: program("bsdtar") != nil, "apt install libarchive-tools"))
    func `libarchive, from a file and from a pipe`() throws {
        try compose()
        for (name, words) in [("tree", ["-xf", path]), ("piped", ["-xf", "-"])] {
            try FileManager.default.createDirectory(
                atPath: directory.appending(name), withIntermediateDirectories: false)
            let tar = (["bsdtar"] + words + ["-C", name]).joined(separator: " ")
            try run("sh", ["-c", "cat \(path) | \(tar)"])
            // Modes stand in the central directory, which a pipe brings last.
            try expectTree(name, hasModes: name == "tree")
        }
        try expect(run("bsdtar", ["-tf", "empty.zip"]).text, equals: "")
    }

    @Test(.enabled(if: program("ziptool") != nil, "apt install ziptool"))
    func `libzip, which finds it consistent`() throws {
        try compose()
        let paths = Self.files.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        for (position, file) in paths.enumerated() {
            let found = try run(
                "ziptool", ["-c", path, "name_locate", file, "0", "cat", "\(position)"])
            expect(
                found.output.suffix(Self.files[file]?.count ?? 0),
                equals: Data(Self.files[file] ?? []))
            expect(
                found.text.hasPrefix("name '\(file)' using flags '0' found at index \(position)\n"))
        }
        try run("ziptool", ["-c", "empty.zip", "get_num_entries", "0"])
    }

    @Test(.enabled(if: program("python3") != nil, "apt install python3"))
    func `Python's zipfile`() throws {
        try compose()
        let script = """
            import hashlib, sys, zipfile
            assert zipfile.ZipFile('empty.zip').namelist() == []
            with zipfile.ZipFile('a.zip') as file:
                assert file.testzip() is None
                for info in file.infolist():
                    assert info.date_time == (1980, 1, 1, 0, 0, 0) and not info.extra and not info.is_dir()
                    print(oct(info.external_attr >> 16), file.read(info).hex(), info.filename)
            """
        let lines = try run("python3", ["-c", script]).text.split(separator: "\n").map(String.init)
        expect(
            Set(lines), equals: Set(Self.listing { $0 == "bin/run" ? "0o100755 " : "0o100644 " }))
    }

    // The class that CodePush's client on Android unpacks with.
    @Test(.enabled(if: program("java") != nil, "apt install openjdk-17-jdk-headless"))
    func `Java's ZipInputStream`() throws {
        try compose()
        let source = """
            import java.io.*;
            import java.util.zip.*;
            class Unpack {
                public static void main(String[] arguments) throws IOException {
                    PrintStream out = new PrintStream(System.out, true, "UTF-8");
                    for (String name : arguments)
                        try (ZipInputStream zip = new ZipInputStream(new FileInputStream(name))) {
                            for (ZipEntry entry; (entry = zip.getNextEntry()) != null; ) {
                                StringBuilder hex = new StringBuilder();
                                for (byte b : zip.readAllBytes()) hex.append(String.format("%02x", b));
                                out.println(hex + " " + entry.getName());
                            }
                        }
                }
            }
            """
        try Data(source.utf8).write(to: URL(filePath: directory.appending("Unpack.java")))
        let words = [
            "-Xshare:auto", "-XX:TieredStopAtLevel=1", "Unpack.java", "empty.zip", "a.zip",
        ]
        let lines = try run("java", words).text.split(separator: "\n").map(String.init)
        expect(Set(lines), equals: Set(Self.listing { _ in "" }))
        expect(lines.count, equals: Self.files.count)
    }

    static func listing(_ prefix: (String) -> String) -> [String] {
        files.map { path, content in
            prefix(path) + content.map { String(format: "%02x", $0) }.joined() + " " + path
        }
    }
}
