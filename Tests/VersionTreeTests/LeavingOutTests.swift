import StorageTestSupport

/// What of a directory is left out, and what that spares.
@Suite("What an add leaves out") struct LeavingOutTests {
    let temporary: TemporaryStore
    let source: String

    init() throws {
        temporary = try TemporaryStore()
        source = temporary.directory.appending("source")
    }

    private func add(
        _ files: [String: String], change: (inout AddOptions) -> Void = { _ in }
    ) throws -> (paths: Set<String>, report: AddReport) {
        try writeTree(source, files)
        var options = AddOptions()
        change(&options)
        let report = try temporary.versions.add(directory: source, version: "1", options: options)
        let paths = Set(try temporary.versions.manifest(of: "1").entries.map(\.path.description))
        try temporary.versions.retire("1")
        return (paths, report)
    }

    @Test func `is version control, as directory and as file, unless a pattern names it`() throws {
        let files = [
            "a": "1", ".git/HEAD": "ref", "sub/.git": "gitdir: x", ".hg/x": "", "sub/.svn/x": "",
            "CVS/logo": "",
        ]
        let (paths, report) = try add(files)
        expect(paths, equals: ["a", "CVS/logo"])
        expect(report.leftOut, equals: [".git/", ".hg/", "sub/.git", "sub/.svn/"])
        // A pattern for everything does not name it.
        for patterns in [["!*"], ["!.*"], ["!*/"]] {
            try expect(add(files) { $0.excluded = patterns }.paths, equals: paths)
        }
        let named = try add(files) { $0.excluded = ["!.git"] }
        expect(named.paths, equals: ["a", "CVS/logo", ".git/HEAD", "sub/.git"])
        try expect(
            add(files) { $0.excluded = ["!/.git"] }.paths, equals: ["a", "CVS/logo", ".git/HEAD"])
        let inner = try add(files.merging(["sub/.castreeignore": "!.git"]) { $1 })
        expect(inner.paths, equals: ["a", "CVS/logo", "sub/.git"])
    }

    @Test
    func `follows the command line first, then the deepest file; within each, the last pattern`()
        throws
    {
        let files = [
            ".castreeignore": "*.map\n/only\n", "a.map": "", "only": "", "sub/only": "",
            "sub/.castreeignore": "!keep.map\n/own\n", "sub/keep.map": "", "sub/a.map": "",
            "sub/own": "", "own": "", "sub/deep/own": "", "out/x": "", "out/.castreeignore": "!x",
        ]
        let (paths, _) = try add(files) { $0.excluded = ["out/"] }
        expect(paths, equals: ["own", "sub/keep.map", "sub/only", "sub/deep/own"])
        try expect(
            add(files) { $0.excluded = ["*", "!*.map", "!sub/", "keep.map"] }.paths,
            equals: ["a.map", "sub/a.map"])
        // The file itself is no part of the version unless it is named.
        try expect(
            add(files) { $0.excluded = ["sub", "out", "!.castreeignore"] }.paths,
            equals: [".castreeignore", "own"])
        try expect(temporary.versions.versions().isEmpty)
    }

    @Test func `is not looked into, whatever is there`() throws {
        try writeTree(source, ["a": "1", "out/sub/x": "", "in/x": ""])
        for link in ["out/link", "in/dangling", "out/sub/up"] { symlink("..", source + "/" + link) }
        mkfifo(source + "/out/pipe", 0o644)
        // No name of a version could be this.
        mkdir(source + "/out/back\\slash", 0o755)
        for follows in [false, true] {
            let (paths, report) = try add([:]) {
                $0.excluded = ["/out/", "dangling"]
                $0.followsLinks = follows
            }
            expect(paths, equals: ["a", "in/x"])
            expect(report.leftOut, equals: ["in/dangling", "out/"])
        }
        // What changes there meanwhile does not matter, nor does a store there.
        let inside = try VersionStore.create(
            at: source + "/out/store",
            options: StoreOptions(isDurable: false, reservedByteCount: 1 << 20)
        ).versions
        var options = AddOptions()
        options.excluded = ["/out", "dangling"]
        try expect(
            inside.add(directory: source, version: "1", options: options).leftOut,
            equals: ["in/dangling", "out/"])
    }

    @Test func `is what a link leads to if links are followed and its directory is left out`()
        throws
    {
        try writeTree(source, ["a": "1", "real/x": ""])
        symlink("real", source + "/alias")
        try expect(
            add([:]) {
                $0.excluded = ["alias/"]
                $0.followsLinks = true
            }.paths, equals: ["a", "real/x"])
        // Not followed, it is a link and no directory (gitignore(5)), and refused.
        expectRefusal(.unsupportedFile) { try add([:]) { $0.excluded = ["alias/"] } }
        try expect(add([:]) { $0.excluded = ["alias"] }.paths, equals: ["a", "real/x"])
    }

    @Test func `is not passed over because a .castreeignore is a link or no file: that is refused`()
        throws
    {
        try writeTree(source, ["a": "1", "secret": "1", "rules": "secret\n"])
        let file = source + "/.castreeignore"
        symlink("rules", file)
        expectRefusal(.unsupportedFile) { try add([:]) }
        try expect(add([:]) { $0.followsLinks = true }.paths, equals: ["a", "rules"])
        Damage.remove(file)
        mkfifo(file, 0o644)
        expectRefusal(.unsupportedFile) { try add([:]) }
        Damage.remove(file)
        mkdir(file, 0o755)
        expectRefusal(.unsupportedFile) { try add([:]) }
    }

    @Test func `is what systems leave behind, if asked; otherwise that is told`() throws {
        let double = "\u{0}\u{5}\u{16}\u{7}\u{0}\u{2}\u{0}\u{0}"
        let files = [
            "a": "1", ".DS_Store": "", "sub/.DS_Store": "", "__MACOSX/._a": double,
            "sub/__MACOSX/b": "",
            "._a": double, "sub/._kept": "mine", "sub/._": double, "sub/._short": "\u{0}\u{5}",
            "Thumbs.db": "",
            "sub/desktop.ini": "", "._empty": "",
        ]
        let meant: Set = ["a", "sub/__MACOSX/b", "sub/._kept", "sub/._short", "._empty"]
        let (paths, report) = try add(files) { $0.skipsJunk = true }
        expect(paths, equals: meant)
        expect(report.unwanted, equals: [])
        let all = try add(files)
        expect(all.paths.count, equals: files.count)
        expect(
            Set(all.report.unwanted),
            equals: [
                ".DS_Store", "sub/.DS_Store", "__MACOSX/", "._a", "sub/._", "Thumbs.db",
                "sub/desktop.ini",
            ])
        expect(Set(report.leftOut), equals: Set(all.report.unwanted))
        // A pattern that takes it says that it is meant.
        let named = try add(files) {
            $0.skipsJunk = true
            $0.excluded = ["!.DS_Store", "!._a"]
        }
        expect(named.paths, equals: meant.union([".DS_Store", "sub/.DS_Store", "._a"]))
        expect(named.report.unwanted, equals: [])
    }

    @Test func `is not what merely looks unwanted; that is told, once for a directory`() throws {
        let unwanted = [
            ".env", ".env.local", "sub/.env", "tls.pem", "sub/tls.key", ".npmrc", ".ssh/id_rsa",
            "sub/id_ed25519",
            "node_modules/p/index.js", "node_modules/p/.npmrc", "node_modules/p/node_modules/q",
        ]
        let files = [
            "a": "1", ".environment": "", "env": "", ".well-known/x": "", "pem": "", ".pem/.x": "",
        ]
        let all = Dictionary(uniqueKeysWithValues: unwanted.map { ($0, "") }).merging(files) { $1 }
        let (paths, report) = try add(all)
        expect(paths, equals: Set(all.keys))
        expect(
            report.unwanted,
            equals: [
                ".env", ".env.local", ".npmrc", ".ssh/", "node_modules/", "sub/.env",
                "sub/id_ed25519", "sub/tls.key",
                "tls.pem",
            ])
        try expect(
            add([:]) { $0.excluded = ["!*.pem", "node_modules", ".*", "*.key", "sub"] }.report
                .unwanted,
            equals: [])
    }

    @Test func `makes no difference to an add of the same again, and is no empty version`() throws {
        let files = ["a": "1", ".git/HEAD": "ref"]
        let (_, first) = try add(files)
        let (_, second) = try add(files.merging([".git/HEAD": "other"]) { $1 })
        expect((first.newObjects, second.newObjects) == (1, 0))
        expectRefusal(.unsupportedFile) {
            try add(files) {
                $0.excluded = ["*"]
                $0.emptyRefusal = .emptySource("the directory")
            }
        }
    }

    @Test func `is said by a pattern that can match something`() throws {
        for pattern in ["", "/", "!", "!/", "[a", "a\\", "[[:nothing:]]"] {
            expectRefusal(.badPath, saying: "matches nothing") {
                try add(["a": ""]) { $0.excluded = [pattern] }
            }
        }
    }

    @Test func `is found in time that grows with the path and the pattern, not with their powers`()
        throws
    {
        let path = Array(String(repeating: "a", count: 1000).utf8)
        for pattern in ["*a", "**/a", "[a-z]*", "*?", "a**"] {
            let hostile = String(repeating: pattern, count: 200) + "b"
            for text in [hostile, "/" + hostile, "x/" + hostile, "**/" + hostile] {
                var rules = try SourceRules(excluding: [text])
                rules.obey(Array((text + "\n").utf8), in: [])
                path.withUnsafeBufferPointer {
                    expect(rules.verdict(on: $0, isDirectory: false) == .taken)
                }
            }
        }
    }
}
