import StorageTestSupport

@testable import VersionTree

// Paths that a forgiving file system would merge.

@Suite struct PathCollisionTests {
    private func twins(_ paths: [String]) throws -> [PathCollision] {
        PathCollision.find(
            in: try Manifest(
                version: VersionName("1"), ordinal: 1, createdAt: 1,
                entries: paths.map {
                    .init(path: try TreePath($0), address: try address(of: $0), byteCount: 1)
                }))
    }

    private func isTwin(_ first: String, _ second: String) throws -> Bool {
        let found = try twins([first, second])
        return found.contains {
            ($0.first.utf8.elementsEqual(first.utf8) && $0.second.utf8.elementsEqual(second.utf8))
                || ($0.first.utf8.elementsEqual(second.utf8)
                    && $0.second.utf8.elementsEqual(first.utf8))
        }
    }

    @Test(arguments: [
        ("a", "A"), ("dir/File.txt", "dir/file.TXT"), ("caf\u{e9}", "cafe\u{301}"),
        ("CAF\u{c9}", "cafe\u{301}"), ("\u{212a}", "k"), ("\u{212a}", "K"), ("\u{212b}", "\u{e5}"),
        ("q\u{307}\u{323}", "q\u{323}\u{307}"), ("\u{410}", "\u{430}"),
        ("\u{1100}\u{1161}", "\u{ac00}"), ("\u{1e9e}", "\u{df}"),
    ])
    func `finds two paths that differ in case or spelling only`(_ pair: (String, String)) throws {
        try expect(isTwin(pair.0, pair.1))
        try expect(isTwin("d/e/" + pair.0, "d/e/" + pair.1))
    }

    // "As Swift lower-cases": ß stays ß, SS becomes ss; I and dotless ı differ.
    @Test(arguments: [
        ("\u{df}", "SS"), ("\u{df}", "ss"), ("I", "\u{131}"), ("a", "b"), ("a", "a "), ("a.", "a"),
        ("\u{ff21}", "A"), ("\u{410}", "A"), ("\u{fb01}", "fi"), ("a", "\u{e1}"),
    ])
    func `holds other paths apart`(_ pair: (String, String)) throws {
        try expect(twins([pair.0, pair.1]), equals: [])
    }

    @Test func `finds a directory that meets a file`() throws {
        try expect(isTwinOfDirectory(["A/x", "a"]))
        try expect(isTwinOfDirectory(["a/x", "A"]))
        try expect(isTwinOfDirectory(["d/caf\u{e9}/x/y", "d/cafe\u{301}"]))
    }

    private func isTwinOfDirectory(_ paths: [String]) throws -> Bool { try !twins(paths).isEmpty }

    @Test func `finds directories that meet, with different files below`() throws {
        let found = try twins(["Lib/a.js", "lib/b.js"])
        expect(found, equals: [PathCollision(first: "Lib", second: "lib")])
    }

    @Test func `finds all of three`() throws {
        let found = try twins(["abc", "ABC", "Abc", "unrelated"])
        let named = Set(found.flatMap { [$0.first, $0.second] })
        expect(named, equals: ["abc", "ABC", "Abc"])
    }

    @Test func `names the first in byte order first`() throws {
        try expect(twins(["x", "X"]), equals: [PathCollision(first: "X", second: "x")])
    }

    @Test func `sees no twins among ten thousand different paths`() throws {
        var random = SeededRandom(seed: 20240607)
        var paths: Set<String> = []
        let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789-_. éüñžабвгд漢字かな")
        while paths.count < 10_000 {
            let depth = Int.random(in: 1...5, using: &random)
            let path = (0..<depth).map { _ in
                String(
                    (0..<Int.random(in: 3...12, using: &random)).map { _ in
                        letters.randomElement(using: &random) ?? "a"
                    }) + "x"
            }.joined(separator: "/")
            paths.insert(path)
        }
        // A random path may be the directory of another; that is another rule.
        let files = paths.map { $0 + ".f" }
        try expect(twins(files), equals: [])
    }

    @Test func `reports twins on a file system that keeps them apart, and stores both`() throws {
        let temporary = try TemporaryStore()
        let source = temporary.directory.appending("source")
        for path in ["README", "readme", "caf\u{e9}", "cafe\u{301}", "Lib/x", "lib/y"] {
            try writeFile(source + "/" + path, "content of \(Array(path.utf8))")
        }
        let report = try temporary.versions.add(directory: source, version: "1")
        expect(report.files, equals: 6)
        expect(report.collisions.count, equals: 3)
        expect(report.collisions.contains(PathCollision(first: "README", second: "readme")))
        expect(report.collisions.contains(PathCollision(first: "Lib", second: "lib")))
        try expect(contents(temporary.tree("1")), equals: contents(source))
    }

    @Test(arguments: [
        ["e\u{301}/x/1", "\u{e9}/x/1"], ["e\u{301}/x/1", "\u{e9}/y/2"],
        ["q\u{307}\u{323}/a", "q\u{323}\u{307}/b"],
        ["d/q\u{307}\u{323}/a", "d/q\u{323}\u{307}/a"],
        ["a/e\u{301}/1/2/3", "a/\u{e9}/1/2/3"],
    ])
    func `builds directories that are canonical twins apart`(_ paths: [String]) throws {
        let temporary = try TemporaryStore()
        let source = temporary.directory.appending("source")
        for path in paths { try writeFile(source + "/" + path, "content of \(Array(path.utf8))") }
        let report = try temporary.versions.add(directory: source, version: "1")
        expect(report.collisions.isEmpty, equals: false)
        try expect(contents(temporary.tree("1")), equals: contents(source))
        try temporary.expectClean()
    }
}
