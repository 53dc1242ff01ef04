import StorageTestSupport

// Paths of trees: what is refused, where the limits stand, and what is kept byte for byte.

/// Paths that must be refused, each with a word of the reason.
let hostilePaths: [(path: String, reason: String)] = [
    ("", "empty"), ("/", "absolute"), ("/etc/passwd", "absolute"), ("//x", "absolute"),
    (".", "\".\""), ("..", "\"..\""), ("../x", "\"..\""), ("a/../../x", "\"..\""),
    ("a/..", "\"..\""), ("./a", "\".\""), ("a/.", "\".\""), ("a/./b", "\".\""),
    ("a//b", "empty component"), ("a/", "empty component"), ("a/b//", "empty component"),
    ("a\0b", "NUL"), ("\0", "NUL"), ("a/b\0", "NUL"),
    ("a\\b", "backslash"), ("..\\x", "backslash"), ("C:\\x", "backslash"),
]

@Suite struct TreePathTests {
    @Test(arguments: hostilePaths)
    func `refuses a path that is not canonical or could escape`(
        _ hostile: (path: String, reason: String)
    ) {
        expectRefusal(.badPath, saying: hostile.reason) { try TreePath(hostile.path) }
    }

    @Test(arguments: ["a", "\u{20ac}", "é", "\u{1f600}"])
    func `takes a component of 255 bytes and refuses one more`(_ unit: String) throws {
        let width = unit.utf8.count
        let longest =
            String(repeating: unit, count: 255 / width)
            + String(repeating: "x", count: 255 % width)
        expect(longest.utf8.count, equals: 255)
        try expect(TreePath("d/" + longest).name, equals: longest)
        expectRefusal(.badPath, saying: "256") { try TreePath("d/" + longest + "x") }
    }

    @Test func `takes a path of 1024 bytes and refuses one more`() throws {
        let directory = String(repeating: "d", count: 255) + "/"
        let path = String(repeating: directory, count: 4)
        expect(path.utf8.count, equals: 1024)
        let longest = String(path.dropLast(2)) + "/f"
        expect(longest.utf8.count, equals: 1024)
        try expect(TreePath(longest).description, equals: longest)
        let longer = String(path.dropLast(2)) + "/ff"
        expectRefusal(.badPath, saying: "1025") { try TreePath(longer) }
    }

    @Test func `takes 128 components and refuses one more`() throws {
        let deepest = Array(repeating: "d", count: 128).joined(separator: "/")
        try expect(TreePath(deepest).description, equals: deepest)
        expectRefusal(.badPath, saying: "129") { try TreePath(deepest + "/d") }
    }

    @Test func `shows control characters of a refused path escaped`() {
        let error = expectRefusal(.badPath) { try TreePath("\u{1b}[31m/\u{202e}/..") }
        expect(
            error?.message.unicodeScalars.contains { $0.value < 32 || $0.value == 0x202e },
            equals: false)
    }

    @Test func `holds spellings of one character apart`() throws {
        let composed = try TreePath("caf\u{e9}")
        let decomposed = try TreePath("cafe\u{301}")
        expect(composed != decomposed)
        expect(Set([composed, decomposed]).count, equals: 2)
        expect((composed < decomposed) != (decomposed < composed))
    }

    @Test func `compares byte by byte`() throws {
        let sorted = try ["A", "a", "a!", "a/b", "a0", "é", "\u{ffff}", "\u{1f600}"].map {
            try TreePath($0)
        }
        expect(sorted.shuffled().sorted(), equals: sorted)
    }

    @Test(arguments: ["f", "a/f", "a/b/c.txt", "a/\u{301}x", "\u{301}/\u{200d}", "a/\u{fe0f}"])
    func `names the last component, whatever character it begins with`(_ path: String) throws {
        let last = path.utf8.split(separator: 47).last.map { String(Substring($0)) }
        let name = try TreePath(path).name
        expect(name.utf8.elementsEqual((last ?? "").utf8), "\(name)")
    }
}

@Suite struct VersionNameTests {
    @Test(arguments: [
        "1", "v1.2.3", "2015.09.01-13.30.35", "a", "Z9", "1_2-3+4@5~6", "CON", "aux.txt", "1.", "0",
        "0123456789abcdef-~", String(repeating: "x", count: 128),
    ])
    func `takes a name`(_ name: String) throws {
        try expect(VersionName(name).description, equals: name)
    }

    @Test(arguments: [
        "", ".", "..", ".hidden", "-rf", "_a", "+a", "@a", "~a", "a/b", "../x", "/a", "a\\b", "a:b",
        "a b", " a", "a ", "a\n", "a\0", "\u{e9}", "a\u{301}", "a\u{200b}", "a\u{202e}b", "a%2e",
        "a*", "a?", "a\"b", "a'b", "$(x)", "a;b", "a|b", "a#b", "\u{ff11}", "١",
        String(repeating: "x", count: 129),
    ])
    func `refuses a name that is no file name everywhere`(_ name: String) {
        expectRefusal(.badName) { try VersionName(name) }
    }

    @Test func `refuses hostile names before anything is touched`() throws {
        let temporary = try TemporaryStore()
        try writeFile(temporary.directory.appending("source/a"), "a")
        for name in ["../../escape", "..", "", "a/b", "-x"] {
            expectRefusal(.badName) {
                try temporary.versions.add(
                    directory: temporary.directory.appending("source"), version: name)
            }
            expectRefusal(.badName) { try temporary.versions.manifest(of: name) }
            expectRefusal(.badName) { try temporary.versions.retire(name) }
            expectRefusal(.noVersion) { try temporary.versions.activate(name) }
            expectRefusal(.noVersion) { try temporary.versions.materialize(name) }
            expectRefusal(.noVersion) {
                try temporary.versions.checkout(name, to: temporary.directory.appending("t"))
            }
            expectRefusal(.noVersion) { try temporary.versions.missing(of: name) }
            expectRefusal(.noVersion) { try temporary.versions.unban(name) }
        }
        try expect(temporary.versions.versions().isEmpty)
        try temporary.expectClean()
    }

    @Test func `asks nothing outside the store about a name`() throws {
        let temporary = try TemporaryStore()
        expect((try? temporary.versions.isMaterialized("../objects")) != true)
    }
}
