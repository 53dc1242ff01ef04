import ProgramTestSupport

// What goes wrong around a command: a clear sentence, the exit status of the contract, nothing half done.

@Suite struct BadInputTests {
    let place: Workplace

    init() throws { place = Workplace() }

    // MARK: Directories that cannot be a version

    private func expectWords(_ words: [String], in text: String) {
        for word in words { expect(text.contains(word), "\(word) in \(text)") }
    }

    // All that a version cannot hold: ImportRefusalTests.
    @Test(
        arguments: [
            ("link", "../index.html", [], "unsupportedFile", ["\"d/link\"", "--follow"]),
            ("link", "nowhere", ["--follow"], "unsupportedFile", ["\"d/link\"", "to nothing"]),
            ("a\\b", nil, [], "badPath", ["d/a", "backslash"]),
        ] as [(String, String?, [String], String, [String])])
    func `add refuses what a version cannot hold, and makes no store for it`(
        _ name: String, _ target: String?, _ options: [String], _ code: String, _ words: [String]
    ) throws {
        try place.write(["index.html": "<h1>", "d/f": "f"], to: "release")
        let path = place.directory.appending(path: "release/d").path + "/" + name
        if let target { symlink(target, path) } else { close(creat(path, 0o644)) }
        let arguments = ["add", "release", "--version", "1"] + options
        let refused = try place.ended(1, words: arguments + ["--json"])
        expect(refused.output.isEmpty)
        let error = try refused.error()
        expect(error.code, equals: code)
        expectWords(words, in: error.message)
        expect(!place.exists(".castree"))
        // The same sentence for people.
        let spoken = try place.ended(1, words: arguments)
        expectWords(words, in: spoken.errors)
        expect(!place.exists(".castree"))
        // The same in a store that is there already, which keeps what it has and gets nothing new.
        try place.add("0", ["index.html": "<h1>", "other": "o"])
        try expect(place.run(.castree, arguments + ["--json"]).error().code, equals: code)
        try expect(place.listed().map(\.version), equals: ["0"])
        try expect(place.castree("du", "--json").document(.usage).store.objects, equals: 2)
        try place.done("fsck")
    }

    @Test("what cannot be made since its directory is missing is told which, and what to do")
    func missingDirectories() throws {
        try place.add("1", ["index.html": "one"], "--activate")
        for (words, directory) in [
            (["publish", "1", "missing/deep/origin"], "missing/deep"),
            (["key", "new", "missing/release.key"], "missing"),
            (["report", "missing/r"], "missing"),
            (["serve", "--access-log", "missing/log"], "missing"),
            (["publish", "1", "release-1/missing/origin/"], "release-1/missing"),
        ] {
            let refused = try place.ended(1, words: words)
            let first = directory == "missing/deep" ? "missing" : directory
            expect(refused.errors.contains("there is no directory \(first);"), "\(refused)")
            expect(refused.errors.contains("(mkdir -p \(directory))"), "\(refused)")
        }
        expect(!place.exists("missing"))
    }

    @Test(arguments: ["printf ''", "head -c 10 /dev/zero", "echo mine"])
    func `a FORMAT that says nothing is refused with the way out, which helps`(
        _ content: String
    ) throws {
        try place.add("1", Release.first, "--activate")
        _ = try place.shell("\(content) > .castree/FORMAT")
        for words in [["status"], ["fsck"], ["init"]] {
            let refused = try place.run(.castree, words)
            expect(
                refused.errors.contains("move that file away, and castree init writes it again"),
                "\(words): \(refused)")
        }
        _ = try place.shell("rm .castree/FORMAT")
        try place.done("init")
        try place.done("fsck")
    }

    @Test func `a target without a name is refused by a sentence`() throws {
        try place.add("1", Release.first)
        try place.ended(1, "checkout", "1", "", saying: "the target has no name")
    }

    @Test func `a first add that is refused for its name leaves no store behind`() throws {
        try place.write(Release.first, to: "release")
        for name in ["../1", "", "a b", String(repeating: "v", count: 129)] {
            let refused = try place.castree("add", "release", "--version", name, "--json")
            expect(refused.status == 1 || refused.status == 2, "\(name)")
            if name == "../1" { try expect(refused.error().code, equals: "badName") }
            expect(!place.exists(".castree"))
        }
    }

    @Test func `a first add makes a store in one go with links followed`() throws {
        try place.write(Release.first, to: "release")
        symlink("index.html", place.directory.appending(path: "release/link.html").path)
        let added = try place.done(
            "add", "release", "--version", "1", "--follow", "--activate", "--json")
        try expect(added.document(.added).files, equals: Release.first.count + 1)
        try expect(
            place.contents(".castree/current/link.html"), equals: Release.first["index.html"])
        try place.done("fsck", "--deep")
    }

    // MARK: No permission

    /// Runs castree as somebody who may not read everything.
    private func castreeUnprivileged(_ arguments: String...) throws -> Finished {
        try place.castree(as: Workplace.nobody, arguments)
    }

    @Test(
        .needsOtherUser,
        arguments: ["d/secret", "locked/f"])
    func `a file that may not be read is named`(_ path: String) throws {
        try place.write(["index.html": "<h1>", path: "secret"], to: "release")
        chmod(place.directory.path, 0o777)
        let hidden = path.hasPrefix("locked") ? "release/locked" : "release/" + path
        chmod(place.directory.appending(path: hidden).path, 0)
        defer { chmod(place.directory.appending(path: hidden).path, 0o755) }
        let refused = try castreeUnprivileged("add", "release", "--version", "1", "--json").ended(1)
        let error = try refused.error()
        expect(error.code, equals: "permission")
        expect(error.message.contains(path.hasPrefix("locked") ? "locked" : "d/secret"))
        if place.exists(".castree") {
            try expect(castreeUnprivileged("versions", "--json").text, equals: "[]\n")
        }
    }

    @Test(.needsOtherUser)
    func `a store that may not be written to is named, and stays as it is`() throws {
        try place.add("1", Release.first)
        try place.write(Release.second, to: "release")
        chmod(place.directory.path, 0o777)
        let refused = try castreeUnprivileged("add", "release", "--version", "2", "--json").ended(1)
        try expect(["permission", "readOnly", "notOwner"].contains(refused.error().code))
        try place.done("fsck", "--deep")
        try expect(place.listed().count, equals: 1)
    }

    // MARK: Stores that are none

    /// Commands, each as it is called on a store that has version 1.
    private static let commands: [[String]] = [
        ["versions"], ["show", "1"], ["diff", "1", "1"], ["missing", "1"], ["cat", "1:f"],
        ["checkout", "1", "out"], ["activate", "1"], ["lifecycle"], ["boot"],
        ["confirm", "1", "--token", "t"], ["rollback"], ["forgive", "1"], ["retire", "1"],
        ["gc"], ["gc", "--dry-run"], ["du"], ["publish", "1", "origin"],
        ["fsck"], ["fsck", "--repair"],
    ]

    @Test(arguments: commands + [["add", "release-1", "--version", "2"], ["init"]])
    func `a store of a newer format is refused and left as it is`(_ command: [String]) throws {
        try place.add("1", ["f": "content"])
        try place.damage(".castree/FORMAT", with: "castree 2\n")
        let before = try place.names(in: ".castree")
        let refused = try place.run(.castree, command + ["--json"])
        expect(refused.status, equals: (command[0] == "fsck" ? 8 : 1))
        let error = try refused.error()
        expect(error.code, equals: "unsupportedFormat")
        expectWords([".castree", "format 2", "up to 1", "newer castree"], in: error.message)
        try expect(place.contents(".castree/FORMAT"), equals: "castree 2\n")
        try expect(place.names(in: ".castree"), equals: before)
        expect(!place.exists("out"))
        expect(!place.exists("origin"))
    }

    @Test(arguments: Set(commands + CommandLineTests.commands))
    func `where there is no store none is made`(_ command: [String]) throws {
        let refused = try place.run(.castree, command + ["--json"])
        expect(refused.output.isEmpty)
        expect(refused.status, equals: (command[0] == "fsck" ? 8 : 3))
        let error = try refused.error()
        expect(error.code, equals: "noStore")
        expect(
            error.message,
            equals: "no store at .castree; create one with castree init (it is the default; "
                + "--store DIR names another)")
        expect(!place.exists(".castree"))
    }

    @Test(arguments: commands + [["add", "release", "--version", "2"], ["init"]])
    func `a file in place of the store is refused and kept`(_ command: [String]) throws {
        try place.write(["f": "content"], to: "release")
        try place.write(["store": "precious"], to: ".")
        let refused = try place.run(.castree, ["--store", "store"] + command + ["--json"])
        let isMaking = ["add", "init"].contains(command[0])
        expect(refused.status, equals: (command[0] == "fsck" ? 8 : isMaking ? 1 : 3))
        let error = try refused.error()
        expect(error.code, equals: (isMaking ? "storeExists" : "noStore"))
        expectWords(["store is ", "directory"], in: error.message)
        try expect(place.contents("store"), equals: "precious")
    }
}
