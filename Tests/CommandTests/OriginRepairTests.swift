import ProgramTestSupport

/// `fsck --from`, its plan, its parts and its lines of JSON, as a user has them.
@Suite struct OriginRepairTests {
    let place: Workplace

    init() throws {
        place = try Workplace(adding: "1", Release.first, "--activate")
        try place.done("publish", "1", "site", "--no-sync", "--no-packs")
    }

    private func damage(_ path: String = "index.html") throws -> String {
        let address = try place.address(of: path, in: "1")
        // As long as it was: a tree that shows another size is a finding of its own.
        try place.damage(place.object(address), with: "damage")
        return address
    }

    private func expectWhole(sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(try place.castree("fsck", "--deep").status == 0, sourceLocation: sourceLocation)
        for (path, content) in Release.first {
            #expect(
                try place.contents(".castree/current/\(path)") == content,
                sourceLocation: sourceLocation)
        }
    }

    @Test(arguments: ["site", "file:", "http:"], [false, true])
    func `what is damaged or missing is fetched, and nothing else`(
        origin: String, isMissing: Bool
    ) throws {
        var lost = [try damage("index.html")]
        if isMissing {
            // With its bytes, or the tree would give them back.
            lost.append(try damage("js/app.js"))
            try place.remove(place.object(lost[1]))
        } else {
            lost.append(try damage("js/app.js"))
        }
        let server = try origin == "http:" ? place.origin() : nil
        let from =
            server?.url ?? (origin == "file:" ? "file://\(place.directory.path)/site" : origin)
        let repaired = try place.ended(1, "fsck", "--from", from, "--json")
        let report = try repaired.document(.repaired)
        // The tree's file is one of its own then, and is exchanged.
        let operations = ["fetchObject", "fetchObject"] + (isMissing ? ["rebuildTree"] : [])
        expect(report.plan.map(\.action.text), equals: operations)
        expect(Set(report.findings.map(\.object.text)), equals: Set(lost))
        expect(report.findings.allSatisfy { $0.repaired.isTrue && $0.version == "1" })
        if let server {
            let paths = try server.requests().map { $0.split(separator: " ")[0] }
            expect(
                Set(paths), equals: Set(lost.map { "/objects/\($0.prefix(2))/\($0.dropFirst(2))" }))
        }
        try expectWhole()
    }

    @Test(arguments: ["site", "http:"])
    func `what was lost before a plain repair is fetched by a later one`(origin: String) throws {
        // Nothing needs version 1 any more: that it is incomplete is no finding.
        try place.add("2", Release.second, "--activate")
        let lost = try damage()
        try FileManager.default.removeItem(at: place.directory.appending(path: place.object(lost)))
        try expect(place.castree("fsck", "--repair").status, equals: 1)
        try place.done("fsck")
        let server = try origin == "http:" ? place.origin() : nil
        let planned = try place.done(
            "fsck", "--from", server?.url ?? origin, "--dry-run", "--json")
        try expect(
            planned.document(.repaired).plan,
            equals: [["action": "fetchMissing", "object": .null, "version": "1", "path": .null]])
        let repaired = try place.ended(1, "fsck", "--from", server?.url ?? origin, "--json")
        let report = try repaired.document(.repaired)
        expect(report.findings.map(\.kind), equals: ["incompleteVersion"])
        expect(report.findings.allSatisfy { $0.repaired.isTrue && $0.version == "1" })
        expect(place.exists(".castree/versions/1/index.html"))
        try place.done("fsck", "--from", server?.url ?? origin)
    }

    @Test func `what no origin has is asked for, and no damage`() throws {
        try place.add("2", Release.second, "--activate")
        let lost = try place.address(of: "index.html", in: "1")
        for path in [place.object(lost), "site/objects/\(lost.prefix(2))/\(lost.dropFirst(2))"] {
            try FileManager.default.removeItem(at: place.directory.appending(path: path))
        }
        try expect(place.castree("fsck", "--repair").status, equals: 1)
        try place.done("fsck", "--from", "site")
    }

    @Test(arguments: ["site", "http:"])
    func `a manifest that is lost is fetched with what only its publisher knows`(
        origin: String
    ) throws {
        let file = ".castree/manifests/1.json"
        try FileManager.default.removeItem(at: place.directory.appending(path: file))
        let server = try origin == "http:" ? place.origin() : nil
        let from = server?.url ?? origin
        let planned = try place.ended(4, "fsck", "--from", from, "--dry-run", "--json")
        let plan: JSON = [
            ["action": "fetchManifest", "object": .null, "version": "1", "path": .null]
        ]
        try expect(planned.document(.repaired).plan, equals: plan)
        expect(!place.exists(file))
        let repaired = try place.ended(1, "fsck", "--from", from, "--json")
        let report = try repaired.document(.repaired)
        expect(report.plan, equals: plan)
        expect(report.findings.map(\.kind), equals: ["missingManifest"])
        try expect(place.contents(file).contains("\"format\":\"castree"))
        try expectWhole()
    }

    @Test func `a manifest that the origin does not have is made again from the tree`() throws {
        try place.add("2", Release.second, "--activate")
        let file = ".castree/manifests/2.json"
        try FileManager.default.removeItem(at: place.directory.appending(path: file))
        try expect(place.castree("fsck", "--from", "site").status, equals: 1)
        expect(place.exists(file))
        try place.done("fsck", "--deep")
    }

    @Test(arguments: ["site", "http:"])
    func `castree-fsck repairs from an origin, too`(origin: String) throws {
        _ = try damage()
        let server = try origin == "http:" ? place.origin() : nil
        let repaired = try place.checker(
            "repair", ".castree", "--from", server?.url ?? origin, "--json"
        ).ended(1)
        try expect(repaired.document(.repaired).plan.map(\.action), equals: ["fetchObject"])
        try expectWhole()
    }

    @Test func `what the origin does not have is quarantined, and status 4`() throws {
        let kept = try damage("index.html")
        let lost = try damage("js/app.js")
        let there = "site/objects/\(lost.prefix(2))/\(lost.dropFirst(2))"
        try FileManager.default.removeItem(at: place.directory.appending(path: there))
        let repaired = try place.ended(4, "fsck", "--from", "site", "--json")
        let findings = try repaired.document(.repaired).findings
        expect(findings.first { $0.object == kept }?.repaired, equals: true)
        expect(findings.contains { $0.kind == "incompleteVersion" && !$0.repaired })
        expect(place.exists(".castree/quarantine/\(lost)"))
    }

    @Test func `content that the origin has lost as well is not taken`() throws {
        let kept = try damage("index.html")
        let lost = try damage("js/app.js")
        try place.damage("site/objects/\(lost.prefix(2))/\(lost.dropFirst(2))", with: "run(2)")
        let repaired = try place.ended(4, "fsck", "--from", "site", "--json")
        try expect(
            repaired.document(.repaired).findings.first { $0.object == kept }?
                .repaired, equals: true)
        expect(!place.exists(place.object(lost)))
    }

    @Test(arguments: ["nowhere", "ftp://host/", "http://host/?query"])
    func `an origin that cannot be asked is status 8, and changes nothing`(origin: String) throws {
        let address = try damage()
        try place.ended(8, "fsck", "--from", origin, "--json")
        expect(place.exists(place.object(address)))
        try expect(place.castree("fsck").status, equals: 4)
    }

    @Test func `a sound store is not asked about at all`() throws {
        let server = try place.origin()
        try place.done("fsck", "--from", server.url)
        try expect(server.requests(), equals: [])
        // So who is offline hears no alarm.
        try place.done("fsck", "--from", "http://127.0.0.1:9")
    }

    @Test func `a directory that is no origin is refused before a sound store is read`() throws {
        try place.write(["notes.txt": "no origin"], to: "empty")
        let places = [
            "nowhere", "empty", "empty/notes.txt", "file://\(place.directory.path)/nowhere",
        ]
        for origin in places {
            for words in [["fsck"], ["fsck", "--dry-run"], ["fsck", "--retries", "0"]] {
                let refused = try place.ended(8, words: words + ["--from", origin, "--json"])
                try expect(refused.error().code, equals: "noOrigin")
            }
            try place.checker("repair", ".castree", "--from", origin).ended(8)
        }
    }

    @Test("what is left of an origin repairs, and a directory is waited for, too")
    func remains() throws {
        _ = try damage()
        for name in ["origin.json", "channels", "channels.json"] {
            try FileManager.default.removeItem(at: place.directory.appending(path: "site/\(name)"))
        }
        try place.ended(1, "fsck", "--from", "site", "--retries", "2", "--timeout", "5s")
        try expectWhole()
        try expect(place.castree("fsck", "--from", "site", "--timeout", "5").status, equals: 16)
    }

    @Test func `the plan comes first, and alone with --dry-run`() throws {
        let address = try damage()
        let before = try place.castree("fsck", "--json")
        let planned = try place.ended(4, "fsck", "--repair", "--dry-run", "--json")
        let document = try planned.document(.repaired)
        expect(document.dryRun.isTrue)
        expect(
            document.plan,
            equals: [
                [
                    "action": "quarantineObject", "object": .text(address), "version": .null,
                    "path": .null,
                ],
                ["action": "keepTree", "object": .null, "version": "1", "path": "versions/1"],
            ])
        try expect(place.castree("fsck", "--json").text, equals: before.text)
        let told = try place.castree("fsck", "--repair", "--dry-run").text
        expect(told.contains("A repair would:") && told.contains("Nothing was changed."))
        expect(told.contains(address))
        let done = try place.castree("fsck", "--repair").text
        let plan = try require(done.range(of: "The repair will:"))
        // What has no copy is not called repaired.
        let operation = try require(done.range(of: "(noted: lost)"))
        expect(plan.lowerBound < operation.lowerBound && !done.contains("(repaired)"))
        try expect(place.checker("repair", "--dry-run", ".castree").status, equals: 4)
    }

    @Test func `findings come as lines of JSON, the report last`() throws {
        let address = try damage()
        let answer = try place.castree("fsck", "--repair", "--json-lines")
        let lines = try answer.text.split(separator: "\n").map { try JSON($0, of: .repairLine) }
        expect(lines.count, equals: 3)
        expect(lines[0].finding.object, equals: address)
        expect(lines[0].finding.repaired, equals: false)
        expect(lines[1].plan.map(\.action), equals: ["quarantineObject", "keepTree"])
        expect(lines.last?.report.findings.first?.repaired, equals: true)
        let clean = try place.checker("check", "--json-lines", ".castree").text
        expect(clean.split(separator: "\n").count, equals: 2)
    }

    @Test func `a sample says what it looked at, and how to look at the same again`() throws {
        let one = try place.castree("fsck", "--sample", "50", "--seed", "7", "--json")
        let document = try one.document(.repaired)
        expect(document.sample.percent == 50 && document.sample.seed == 7)
        expect(
            document.checkedObjects.number + document.skippedObjects.number,
            equals: Release.first.count)
        try expect(
            place.castree("fsck", "--sample=50%", "--seed", "7", "--json").text, equals: one.text)
        let told = try place.castree("fsck", "--sample", "0.5").text
        expect(told.contains("--seed") && told.contains("of the objects"))
    }

    @Test func `castree-fsck says that castree is not beside it, which fetches`() throws {
        try place.install(.checker, in: "alone")
        _ = try damage()
        let refused = try place.run("alone/castree-fsck", "repair", "--from", "site", ".castree")
            .ended(8)
        expect(
            refused.errors.contains("the program castree, which reaches origins, is not installed"))
    }

    @Test func `since leaves out what was found sound`() throws {
        try place.done("fsck")
        for since in ["1d", "2w", "600m", "86400s", "2001-09-09", "2001-09-09T01:46:40Z"] {
            let document = try place.castree("fsck", "--since", since, "--json")
                .document(.repaired)
            expect(document.checkedObjects == 0 && !document.since.isNull)
            expect(document.skippedObjects, equals: Release.first.count)
        }
        let checker = try place.checker("--since", "1d", "--limit-rate", "1G", ".castree", "--json")
        try expect(checker.document(.repaired).skippedObjects, equals: Release.first.count)
    }

    @Test(arguments: [
        ["--sample", "0"], ["--sample", "101"], ["--sample", "-1"], ["--sample", "x"],
        ["--sample", "nan"], ["--sample", ""], ["--seed", "1"], ["--since", "yesterday"],
        ["--since", "2026-02-30"], ["--since", "1y"], ["--since", "-1d"], ["--since", ""],
        ["--since", "d"], ["--limit-rate", "0"], ["--limit-rate", "fast"], ["--dry-run"],
        ["--json", "--json-lines"], ["--sample", "5", "--seed", "-1"],
    ])
    func `a wrong option is status 16`(options: [String]) throws {
        try place.ended(16, "fsck", words: options)
    }

    @Test func `a server continues serving while its content is fetched again`() throws {
        let served = try Served(place)
        try expect(served.get().body, equals: Release.first["index.html"])
        _ = try damage("index.html")
        let running = try Running(
            .castree, ["fsck", "--from", "site", "--quiet"], in: place.directory)
        try expect(served.get(until: { try place.castree("fsck").status == 0 }))
        try expect(running.finished().status, equals: 1)
        let answer = try served.get()
        expect(answer.status == 200 && answer.body == Release.first["index.html"])
        _ = try served.end()
        try expectWhole()
    }
}
