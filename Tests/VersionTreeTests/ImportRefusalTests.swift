import SocketTestSupport
import StorageTestSupport

// What a version cannot hold is refused with its path; nothing hangs and nothing is left.

@Suite struct ImportRefusalTests {
    private func refuse(
        _ code: StoreError.Code = .unsupportedFile, naming words: [String],
        follows: Bool = false,
        sourceLocation: SourceLocation = #_sourceLocation, _ prepare: (String) throws -> Void
    ) throws {
        let temporary = try TemporaryStore()
        let source = temporary.directory.appending("source")
        try writeFile(source + "/d/regular", "regular")
        try prepare(source)
        var options = AddOptions()
        options.followsLinks = follows
        let error = expectRefusal(code, sourceLocation: sourceLocation) {
            try temporary.versions.add(directory: source, version: "1", options: options)
        }
        #expect(
            words.allSatisfy { error?.message.contains($0) == true }, "\(error?.message ?? "")",
            sourceLocation: sourceLocation)
        #expect(try temporary.versions.versions().isEmpty, sourceLocation: sourceLocation)
        #expect(try snapshot(temporary.path + "/staging").isEmpty, sourceLocation: sourceLocation)
        #expect(try snapshot(temporary.path + "/objects").isEmpty, sourceLocation: sourceLocation)
        #expect(try snapshot(temporary.path + "/versions").isEmpty, sourceLocation: sourceLocation)
        try temporary.expectClean(sourceLocation: sourceLocation)
    }

    /// What is put into a source, and the words of the refusal.
    struct Stranger: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var words: [String]
        var follows = false
        var make: @Sendable (String) throws -> Void
    }

    private static func link(_ name: String, to target: String, _ words: String...) -> Stranger {
        Stranger(
            testDescription: "a link to \(target)", words: words.isEmpty ? ["d/\(name)"] : words,
            follows: true
        ) { symlink(target, "\($0)/d/\(name)") }
    }

    static let followed = [
        link("link", to: "nowhere", "d/link", "symbolic link to nothing"),
        link("zero", to: "/dev/zero"), link("up", to: "..", "d/up", "lead in a circle"),
        link("up", to: ".", "symbolic links lead in a circle"),
        Stranger(
            testDescription: "links to each other", words: ["d/", "lead in a circle"],
            follows: true
        ) {
            symlink("b", $0 + "/d/a")
            symlink("a", $0 + "/d/b")
        },
        Stranger(testDescription: "a link to a fifo", words: ["d/link"], follows: true) {
            mkfifo($0 + "/../pipe", 0o644)
            symlink("../../pipe", $0 + "/d/link")
        },
        Stranger(testDescription: "a link to a socket", words: ["d/link"], follows: true) {
            try TestSocket.leave(at: $0 + "/../sock")
            symlink("../../sock", $0 + "/d/link")
        },
    ]

    @Test(arguments: followed)
    func `refuses a circle of links, and one to nothing or to no file, followed`(
        _ stranger: Stranger
    ) throws {
        try refuse(naming: stranger.words, follows: true, stranger.make)
    }

    @Test(arguments: ["regular", "/etc/passwd", "../..", "nowhere", "link"])
    func `refuses a symbolic link, wherever it points`(_ target: String) throws {
        try refuse(naming: ["d/link", "--follow"]) { symlink(target, $0 + "/d/link") }
    }

    @Test func `refuses a fifo without waiting for its writer, and a socket`() throws {
        try refuse(naming: ["d/pipe", "named pipe"]) { mkfifo($0 + "/d/pipe", 0o644) }
        try refuse(naming: ["d/sock", "socket"]) { try TestSocket.leave(at: $0 + "/d/sock") }
    }

    @Test(.enabled(if: getuid() == 0, "mknod(2) needs root"))
    func `refuses a device`() throws {
        // 1:5 is /dev/zero: whoever reads it never ends.
        try refuse(naming: ["d/zero", "device"]) {
            mknod($0 + "/d/zero", S_IFCHR | 0o644, dev_t(1 << 8 | 5))
        }
    }

    @Test func `takes what links point to when it follows them`() throws {
        let temporary = try TemporaryStore()
        let source = temporary.directory.appending("source")
        try writeFile(temporary.directory.appending("outside/f"), "outside")
        try writeFile(temporary.directory.appending("outside/run"), "#!", mode: 0o755)
        try writeFile(source + "/a", "a")
        symlink("a", source + "/b")
        symlink("../outside", source + "/dir")
        symlink("b", source + "/chain")
        symlink("../outside/run", source + "/run")
        var options = AddOptions()
        options.followsLinks = true
        let report = try temporary.versions.add(directory: source, version: "1", options: options)
        expect(report.files, equals: 6)
        try expect(
            readTree(temporary.tree("1")),
            equals: [
                "a": "a", "b": "a", "chain": "a", "dir/f": "outside", "dir/run": "#!", "run": "#!",
            ])
        try expect(status(temporary.tree("1") + "/run")?.mode, equals: 0o555)
        try temporary.expectClean()
    }

    @Test(arguments: ["file", "directory", "link", "fifo"], [false, true])
    func `refuses a name that is not UTF-8, whatever bears it`(_ kind: String, follows: Bool) throws
    {
        try refuse(naming: ["UTF-8", "rename it"], follows: follows) { source in
            // A name in Latin-1: bytes that no manifest can spell.
            let path = (source + "/d/c").utf8CString.dropLast() + [CChar(bitPattern: 0xe9), 0]
            switch kind {
            case "file": close(creat(Array(path), 0o644))
            case "directory":
                mkdir(Array(path), 0o755)
                close(creat(Array(path.dropLast()) + [47, 120, 0], 0o644))
            case "fifo": mkfifo(Array(path), 0o644)
            default: symlink("regular", Array(path))
            }
        }
    }

    @Test func `refuses a name with a backslash, and one that is too deep`() throws {
        try refuse(.badPath, naming: ["backslash"]) { try writeFile($0 + "/d/a\\b", "x") }
        try refuse(naming: ["deep"]) {
            try writeFile($0 + "/" + Array(repeating: "d", count: 129).joined(separator: "/"), "x")
        }
    }

    @Test func `refuses a source that holds the store or lies inside it`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "a", "d/b": "b"])
        let inside = [
            temporary.path, temporary.tree("1"), temporary.tree("1") + "/d",
            temporary.path + "/objects",
            temporary.path + "/staging",
        ]
        for source in inside + [temporary.directory.path] {
            expectRefusal(.unsupportedFile, "\(source)") {
                try temporary.versions.add(directory: source, version: "2")
            }
        }
        let elsewhere = temporary.directory.appending("link")
        symlink(temporary.tree("1"), elsewhere)
        expectRefusal(.unsupportedFile) {
            try temporary.versions.add(directory: elsewhere, version: "2")
        }
        try writeFile(temporary.directory.appending("source/a"), "a")
        symlink(temporary.directory.path, temporary.directory.appending("source/up"))
        var options = AddOptions()
        options.followsLinks = true
        expectRefusal(.unsupportedFile) {
            try temporary.versions.add(
                directory: temporary.directory.appending("source"), version: "2", options: options)
        }
        try expect(temporary.versions.versions().count, equals: 1)
        try temporary.expectClean()
    }

    @Test func `refuses a source that is not there or is a file`() throws {
        let temporary = try TemporaryStore()
        try writeFile(temporary.directory.appending("file"), "x")
        expectRefusal(.notFound) {
            try temporary.versions.add(
                directory: temporary.directory.appending("none"), version: "1")
        }
        expectRefusal(.unsupportedFile) {
            try temporary.versions.add(
                directory: temporary.directory.appending("file"), version: "1")
        }
        expectRefusal(.unsupportedFile) {
            try temporary.versions.add(
                directory: temporary.directory.appending("file/x"), version: "1")
        }
        try expect(temporary.versions.versions().isEmpty)
    }
}
