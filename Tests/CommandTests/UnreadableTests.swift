import ProgramTestSupport

/// A file of a store that the disk cannot read, from the first look at it until all is well again.
@Suite(.enabled(if: FileManager.default.fileExists(atPath: CallCounter.library.path)))
struct UnreadableTests {
    private let place = Workplace(inMemory: true)
    private let object: String

    /// A store that has pulled and confirmed versions 1 and 2 of an origin; both are needed.
    init() throws {
        for version in ["1", "2"] {
            let source = "r\(version)"
            try place.write(
                ["index.html": "page \(version)", "shared": "shared"], to: source)
            for words in [
                ["--store", "p", "add", source, "--version", version],
                ["--store", "p", "publish", version, "o"], ["pull", "o", "--activate"],
            ] { try place.done(words: words) }
            try place.start()
        }
        try place.done("fsck")
        object = try place.object(place.address(of: "index.html", in: "2"))
    }

    /// What makes programs find the file at a path unreadable, wherever it goes.
    private func environment(failing path: String) throws -> [String: String] {
        let number = try place.fileStatus(path).st_ino
        return ["LD_PRELOAD": CallCounter.library.path, "CASTREE_UNREADABLE": "\(number)"]
    }

    private func castree(_ words: String..., failing environment: [String: String]) throws
        -> Finished
    { try place.run(.castree, words, environment: environment) }

    @Test(
        arguments: [
            "object", "manifests/1.json", "manifests/2.json", "lifecycle.json", "stamp",
            "index.sqlite",
        ])
    func `is a finding, and one repair from an origin makes all of it well`(_ name: String) throws {
        let bad = try environment(failing: name == "object" ? object : ".castree/\(name)")
        let isDerived = ["stamp", "index.sqlite"].contains(name)
        let check = try castree("fsck", failing: bad)
        expect(check.status == (isDerived ? 1 : 4), "\(check.testDescription)")
        if !isDerived { expect(check.text.contains("Input/output error"), "\(check.text)") }
        let before = try castree("status", failing: bad)
        expect(before.status == (isDerived ? 0 : 1), "\(before.testDescription)")
        let repair = try castree("fsck", "--from", "o", failing: bad)
        expect(repair.status == (isDerived ? 0 : 1), "\(repair.testDescription)")
        for words in ["fsck", "status", "boot"] {
            try castree(words, failing: bad).ended()
        }
    }

    @Test(arguments: [true, false])
    func `no command makes something else of a version whose manifest cannot be read`(
        _ isIndexed: Bool
    ) throws {
        let manifest = ".castree/manifests/2.json"
        let before = try place.contents(manifest)
        let bad = try environment(failing: manifest)
        for words in [
            ["add", "r1", "--version", "2"], ["pull", "o"], ["gc"], ["status"], ["versions"],
            ["serve"],
        ] {
            for name in isIndexed ? [] : ["index.sqlite", "stamp"] {
                try place.remove(".castree/\(name)")
            }
            if words == ["serve"] {
                let server = try Served(place, environment: bad)
                try expect(server.get().body, equals: "page 2")
                _ = try server.end()
            } else {
                let finished = try place.run(.castree, words, environment: bad)
                let isRefused = words[0] == "add" || words[0] == "gc" && !isIndexed
                expect(!isRefused || finished.status == 1, "\(finished.testDescription)")
            }
            try expect(place.contents(manifest) == before, "\(words)")
        }
        try place.done("fsck")
        try expect(place.castree("cat", "2:index.html").text, equals: "page 2")
    }

    @Test func `a manifest that cannot be read gives way to that of the same content`() throws {
        let bad = try environment(failing: ".castree/manifests/2.json")
        try castree("add", "r2", "--version", "2", failing: bad).ended()
        let kept = try place.names(in: ".castree/quarantine")
        expect(kept.contains { $0.hasPrefix("manifest-2") }, "\(kept)")
        try expect(castree("fsck", failing: bad).status, equals: 0)
    }

    @Test func `an object that a check could not read is written anew by the next add`() throws {
        let bad = try environment(failing: object)
        try expect(castree("fsck", failing: bad).status, equals: 4)
        try castree("add", "r2", "--version", "again", failing: bad).ended(saying: "written anew")
        try expect(castree("fsck", failing: bad).status, equals: 0)
        try expect(castree("status", failing: bad).status, equals: 0)
    }

    @Test func `an object that a server could not read is a problem of the store`() throws {
        let bad = try environment(failing: object)
        let server = try Served(place, environment: bad)
        try expect(server.get().status, equals: 500)
        // The log is written beside the answer.
        try expect(server.get(until: { try castree("status", failing: bad).status == 1 }))
        _ = try server.end()
        let status = try castree("status", "--json", failing: bad)
        let problems = try status.document(.status).problems
        expect(problems.map(\.code) == ["damagedObject"], "\(problems)")
        expect(problems[0].message.text.contains(object.suffix(60)), "\(problems)")
    }

    @Test(arguments: ["reused", "a base"])
    func `an object that a pull would build on comes again`(_ role: String) throws {
        let text = (1...4000).map { "\(role) line \($0)\n" }.joined()
        for (version, more) in [("3", ""), ("4", role == "reused" ? "" : "more")] {
            try place.write(["index.html": "page \(version)", "data": text + more], to: "r")
            try place.done("--store", "p", "add", "r", "--version", version)
            try place.done("--store", "p", "publish", version, "o")
            if version == "3" { try place.done("pull", "o", "--activate") }
        }
        let data = try place.object(place.address(of: "data", in: "3"))
        let bad = try environment(failing: data)
        // Nobody has met it so far, or a check has.
        if role == "reused" { try expect(castree("fsck", failing: bad).status, equals: 4) }
        try castree("pull", "o", "--activate", failing: bad).ended()
        let shown = try castree("cat", "4:data", failing: bad)
        expect(shown.status == 0 && shown.text == text + (role == "reused" ? "" : "more"))
    }
}
