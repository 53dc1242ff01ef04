import ProgramTestSupport

/// A store of one user, and another one who is not root.
@Suite("A store of another user", .needsOtherUser) struct OtherUserTests {
    private func prepared() throws -> Workplace {
        let place = try Workplace(adding: "1", ["index.html": "one", "shared": "shared"])
        try place.add("2", ["index.html": "two", "shared": "shared"])
        try place.castree("activate", "1")
        chmod(place.directory.path, 0o755)
        return place
    }

    /// Every file of the store with its content, its mode and its owner.
    private func state(_ place: Workplace) throws -> [String: String] {
        var result: [String: String] = [:]
        let store = place.directory.appending(path: ".castree")
        for path in try FileManager.default.subpathsOfDirectory(atPath: store.path) {
            let full = store.appending(path: path).path
            let status = try place.fileStatus(full)
            // A directory or link has no content of its own that would not be seen by its names.
            let content = FileManager.default.contents(atPath: full)?.base64EncodedString() ?? ""
            result[path] = "\(status.st_mode) \(status.st_uid) \(content)"
        }
        return result
    }

    private static let refused = [
        ["versions"], ["status"], ["du"], ["missing", "1"],
        ["add", "release-1", "--version", "3"], ["activate", "2"], ["boot"], ["rollback"],
        ["retire", "2"], ["gc"], ["gc", "--keep", "1"], ["fsck"], ["fsck", "--repair"],
        ["serve", "--next-port", "--app-id", Served.newApp()],
    ]

    // path_resolution(7): who may pass through a directory need not be able to list it.
    @Test
    func `is made in his own directory below one that he may only pass through`() throws {
        let place = try prepared()
        let own = place.path("homes/own")
        try place.makeDirectory("homes/own")
        chown(own, 65534, 65534)
        chmod(place.path("homes"), 0o711)
        let add = ["add", place.path("release-1"), "--version", "1"]
        for words in [["init"], ["init"], add, ["fsck"]] {
            try place.castree(as: Workplace.nobody, ["--store", own] + words).ended()
        }
    }

    @Test
    func `says what opens a manifest of his that is closed, and names its version`() throws {
        let place = try prepared()
        try place.done("publish", "1", "origin", "--no-packs")
        try place.makeDirectory("own")
        chown(place.path("own"), 65534, 65534)
        func run(_ words: String...) throws -> Finished {
            try place.castree(as: Workplace.nobody, ["--store", place.path("own")] + words)
        }
        try run("init").ended()
        try run("pull", "origin").ended()
        let manifest = place.path("own/manifests/1.json")
        for closes in [true, false] {
            // Its tree gone, too, it is all that keeps the objects.
            if !closes { try place.remove("own/versions/1") }
            expect(chmod(manifest, 0), equals: 0)
            let shown = try run("show", "1")
            expect(shown.status == 1 && shown.errors.contains("castree fsck --repair"), "\(shown)")
            let pulled = try run("pull", "origin")
            let isSaid = pulled.status == 0 || pulled.errors.contains("castree fsck --repair")
            expect(isSaid, "\(pulled)")
            if chmod(manifest, 0) == 0 {
                let found = try run("fsck", "--json").ended(4)
                let closed = try found.document(.checked).findings.first {
                    $0.path == "manifests/1.json"
                }
                expect(closed?.version == "1", "\(found)")
            }
            try expect(run("fsck", "--repair").status <= 1)
            try expect(run("fsck").status, equals: 0)
        }
    }

    // Its locks are the owner's alone, and without them nothing is looked at either: what another process
    // does in the meantime would be half seen.
    @Test(arguments: [UInt32(0), 5001])
    func `is refused to everybody else, by a sentence that names both`(_ owner: UInt32) throws {
        let place = try prepared()
        try place.give(to: owner)
        // chown(2) has changed the times of the index: the next command makes it again.
        try place.done("versions")
        let before = try state(place)
        for words in Self.refused {
            let finished = try place.castree(as: Workplace.nobody, words)
            expect(finished.status, equals: (words[0] == "fsck" ? 8 : 1), "\(words): \(finished)")
            expect(
                finished.errors.hasPrefix("castree: the store .castree belongs to "),
                "\(words): \(finished)")
            expect(finished.errors.contains("uid \(owner)"), "\(words): \(finished)")
            expect(finished.errors.contains("(uid 65534)"), "\(words): \(finished)")
        }
        try expect(state(place), equals: before)
        // Its files are for everybody.
        let page = try place.run(
            Workplace.words(as: Workplace.nobody) + [
                "/bin/cat", ".castree/current/index.html", ".castree/lifecycle.json",
            ])
        expect(page.status == 0 && page.text.hasPrefix("one{"), "\(page)")
        try place.done("fsck", "--deep")
    }

    @Test("is a problem for status while a server of the user before has it")
    func formerOwner() throws {
        let place = try prepared()
        try place.give(to: Workplace.nobody)
        let served = try Served(place, launcher: Workplace.words(as: Workplace.nobody))
        try place.done("status")
        try place.give(to: 5001)
        let status = try place.castree("status", "--json")
        expect(status.status, equals: 1)
        let problem = try require(status.document(.status).problems.first)
        expect(problem.code.text, equals: "notOwner")
        for words in ["process \(served.processIdentifier)", "uid 65534", "uid 5001"] {
            expect(problem.message.text.contains(words), "\(problem)")
        }
        _ = try served.end()
        try place.done("status")
    }

    // A container without CAP_SETUID and CAP_DAC_OVERRIDE.
    @Test("is refused to root who may not act for others, by a sentence that names both")
    func powerlessRoot() throws {
        let place = try prepared()
        try place.give(to: 5001)
        try expect(place.castree("versions").status, equals: 0)
        let before = try state(place)
        for words in Self.refused {
            let finished = try place.run(
                [
                    "/usr/bin/setpriv", "--bounding-set", "-all", "--inh-caps", "-all", "--",
                    ProgramUnderTest.castree.url.path,
                ] + words)
            expect(finished.status, equals: (words[0] == "fsck" ? 8 : 1), "\(words): \(finished)")
            expect(finished.output.isEmpty, "\(words): \(finished)")
            for part in ["belongs to uid 5001", "(uid 0) without the right to act for others"] {
                expect(finished.errors.contains(part), "\(words): \(finished)")
            }
        }
        try expect(state(place), equals: before)
    }

    // A manifest that another user may have written, and the owner's group reads: a restore, a stray sudo.
    @Test("gets copies of its own of what another user has in it and its group may read")
    func ownCopies() throws {
        let place = try prepared()
        try place.give(to: 65534)
        let store = place.directory.path + "/.castree/"
        let foreign = ["manifests/1.json", "lifecycle.json"]
        let before = foreign.map { FileManager.default.contents(atPath: store + $0) }
        for name in foreign {
            expect(chown(store + name, 0, 65534), equals: 0)
            expect(chmod(store + name, 0o640), equals: 0)
        }
        // What is closed makes a repair look at the owner of everything.
        expect(chown(store + "index.sqlite", 0, 0), equals: 0)
        try place.castree(as: Workplace.nobody, ["fsck", "--repair"]).ended(1)
        for (name, bytes) in zip(foreign, before) {
            try expect(place.fileStatus(store + name).st_uid, equals: 65534, "\(name)")
            expect(FileManager.default.contents(atPath: store + name), equals: bytes, "\(name)")
        }
        try place.castree(as: Workplace.nobody, ["fsck", "--deep"]).ended()
    }

    // rename(2), EACCES: a directory that one may not write does not change its parent.
    @Test(
        arguments: [
            "leases/.writer", "leases/.index", "lifecycle.json", "stamp", "index.sqlite",
            "manifests/1.json", "current", "server.json", "events.jsonl", "reserve", "OBJECT",
        ], [false, true])
    func `is repaired by its owner of a directory that a third one has put there`(
        _ name: String, _ isEmpty: Bool
    ) throws {
        let place = try prepared()
        try place.give(to: 65534)
        try place.done("versions")
        let store = place.directory.path + "/.castree/"
        let object = try place.object(place.address(of: "index.html", in: "1"))
        let path = name == "OBJECT" ? place.directory.path + "/" + object : store + name
        _ = unlink(path)
        expect(mkdir(path, 0o755), equals: 0)
        if !isEmpty {
            expect(FileManager.default.createFile(atPath: path + "/mine", contents: Data("m".utf8)))
        }
        for place in isEmpty ? [path] : [path, path + "/mine"] {
            expect(chown(place, 5001, 5001), equals: 0)
        }
        let repaired = try place.castree(as: Workplace.nobody, ["fsck", "--repair"])
        if name != "OBJECT" { expect([0, 1].contains(repaired.status), "\(repaired)") }
        for words in [["versions"], ["activate", "2"], ["add", "release-1", "--version", "3"]] {
            try place.castree(as: Workplace.nobody, words).ended()
        }
        // Nothing is repaired for ever.
        let checked = try place.castree(as: Workplace.nobody, ["fsck", "--repair"])
        expect(checked.status != 1, "\(checked)")
        if name != "OBJECT" { expect(checked.status, equals: 0, "\(checked)") }
    }

    @Test(arguments: ["077", "000", "027"])
    func `made under any umask, can be read`(_ mask: String) throws {
        let place = Workplace()
        try place.write(["index.html": "one"], to: "release")
        chmod(place.directory.path, 0o755)
        let castree = "'\(ProgramUnderTest.castree.url.path)'"
        try place.shell("umask \(mask) && \(castree) add release --version 1 --activate").ended()
        // Who may look into the store follows the umask; what is in it does not.
        func mode(_ path: String) throws -> UInt32 { try place.fileStatus(path).st_mode & 0o777 }
        try expect(mode(".castree"), equals: 0o755 & ~(UInt32(mask, radix: 8) ?? 0))
        for (name, right) in [
            ("lifecycle.json", 0o644), ("FORMAT", 0o644), ("events.jsonl", 0o644),
            ("versions", 0o755),
            ("versions/1", 0o555), ("versions/1/index.html", 0o444), ("objects", 0o755),
            ("manifests/1.json", 0o444), ("index.sqlite", 0o600), ("leases/.index", 0o600),
        ] as [(String, UInt32)] {
            try expect(mode(".castree/" + name), equals: right, "\(name)")
        }
        for path in try FileManager.default.subpathsOfDirectory(atPath: place.path(".castree")) {
            let status = try place.fileStatus(".castree/" + path)
            if status.st_mode & S_IFMT == S_IFLNK { continue }
            expect(status.st_mode & 0o022, equals: 0, "\(path)")
        }
        try place.done("fsck", "--deep")
        try expect(place.castree("cat", "1:index.html").text, equals: "one")
    }
}
