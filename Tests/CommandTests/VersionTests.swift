import ProgramTestSupport

@Suite struct VersionTests {
    let place: Workplace

    init() throws {
        place = try Workplace(adding: "1", Release.first, "--activate")
        try place.add("2", Release.second)
    }

    @Test func `versions lists the newest first, with every field`() throws {
        let listed = try place.done("versions", "--json")
        let versions = try listed.document(.listed)
        expect(versions.map(\.version), equals: ["2", "1"])
        expect(versions.map(\.current), equals: [false, true])
        expect(versions.map(\.state), equals: ["materialized", "materialized"])
        expect(versions[0].files, equals: Release.second.count)
        expect(versions[0].uniqueBytes, equals: "<h1>two</h1>more()".utf8.count)
        expect(versions[0].missingObjects, equals: 0)
        expect(!versions[0].pending && !versions[0].knownGood && !versions[0].bad)
    }

    @Test func `versions marks the current one with a star`() throws {
        let lines = try place.castree("versions").text.split(separator: "\n")
        expect(lines.count, equals: 3)
        expect(lines[1].hasPrefix("   2"))
        expect(lines[2].hasPrefix("*  1"))
    }

    @Test func `versions of an empty store is an empty list`() throws {
        try place.castree("--store", "empty", "init")
        try expect(place.castree("--store", "empty", "versions", "--json").text, equals: "[]\n")
        try expect(place.castree("--store", "empty", "versions").text.contains("castree add"))
    }

    @Test func `show lists the entries by path`() throws {
        let shown = try place.castree("show", "1", "--json").document(.shown)
        expect(shown.version, equals: "1")
        expect(shown.manifest.text.count, equals: 64)
        expect(shown.entries.map(\.path), equals: Release.first.keys.sorted())
        for entry in shown.entries {
            expect(entry.address.text.count, equals: 64)
            expect(entry.bytes, equals: Release.first[entry.path.text]?.utf8.count)
        }
    }

    @Test func `show prints a line for each file`() throws {
        let lines = try place.castree("show", "1").text.split(separator: "\n")
        for path in Release.first.keys {
            expect(lines.contains { $0.hasSuffix("  \(path)") })
        }
        expect(lines.contains { $0.hasSuffix("  x  tools/serve") })
    }

    @Test func `times are ISO 8601 in UTC`() throws {
        // GNU date -u -d @SECONDS +%FT%TZ
        let moments: [(Int, String)] = [
            (0, "1970-01-01T00:00:00Z"), (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
            (1_763_728_065, "2025-11-21T12:27:45Z"), (253_402_300_800, "+10000-01-01T00:00:00Z"),
        ]
        let manifest = ".castree/manifests/1.json"
        let text = try place.contents(manifest)
        for (seconds, expected) in moments {
            let changed = text.replacing(/"createdAt":\d+/, with: "\"createdAt\":\(seconds)")
            try Data(changed.utf8).write(to: place.directory.appending(path: manifest))
            let shown = try place.castree("show", "1", "--json").document(.shown)
            expect(shown.createdAt, equals: expected)
        }
    }

    @Test func `diff tells what was added, removed, changed and moved`() throws {
        let diff = try place.castree("diff", "1", "2", "--json").document(.difference)
        expect(diff.added, equals: ["js/more.js"])
        expect(diff.removed, equals: ["empty"])
        expect(diff.changed, equals: ["index.html"])
        expect(diff.moved, equals: [["from": "old/name.txt", "to": "new/name.txt"]])
        expect(diff.newBytes, equals: "<h1>two</h1>more()".utf8.count)
    }

    @Test func `diff prints one letter a line`() throws {
        let lines = try place.castree("diff", "1", "2").text.split(separator: "\n")
        expect(
            lines.dropLast(),
            equals: ["D empty", "M index.html", "A js/more.js", "R old/name.txt -> new/name.txt"])
        expect(lines.last?.contains("18 B"), equals: true)
    }

    @Test func `diff of a version with itself is empty`() throws {
        let diff = try place.castree("diff", "1", "1", "--json").document(.difference)
        expect(diff.added.isEmpty && diff.removed.isEmpty && diff.changed.isEmpty)
        expect(diff.moved.isEmpty && diff.newBytes == 0)
    }

    @Test func `retire forgets a version and counts what it referenced`() throws {
        let retired = try place.done("retire", "2", "--json")
        let document = try retired.document(.retired)
        expect(document.version, equals: "2")
        expect(document.references, equals: Release.second.count)
        try expect(place.castree("show", "2").status, equals: 3)
        expect(!place.exists(".castree/versions/2"))
    }

    @Test func `the current version is not retired`() throws {
        try expect(place.ended(1, "retire", "1", "--json").error().code, equals: "versionInUse")
        try place.done("show", "1")
    }

    @Test(arguments: [
        ["show", "9"], ["diff", "1", "9"], ["diff", "9", "1"], ["missing", "9"],
        ["cat", "9:index.html"], ["checkout", "9", "target"], ["activate", "9"],
        ["activate", "9", "--at-next-boot"], ["retire", "9"], ["forgive", "9"], ["du", "9"],
        ["show", "not a name"], ["missing", "../1"], ["cat", "a b:x"],
    ])
    func `a version that is not there is status 3`(_ arguments: [String]) throws {
        let refused = try place.ended(3, words: arguments + ["--json"])
        expect(refused.output.isEmpty)
        try expect(refused.error().code, equals: "noVersion")
        try expect(place.ended(3, words: arguments).errors.hasPrefix("castree: "))
    }
}
