import ProgramTestSupport

/// `castree status` and `castree log`, as an operator's timer asks them.
@Suite struct StatusTests {
    let place = Workplace()

    private func status() throws -> JSON { try place.status() }

    private func prepared() throws {
        try place.add("1", Release.first, "--activate")
        try place.add("2", Release.second)
    }

    @Test func `a store with nothing in it is well`() throws {
        try place.castree("init", "--no-sync")
        let status = try status()
        expect(status.well.isTrue && status.versions == 0 && status.current.isNull)
        expect(status.lastCheck.isNull && !status.availableBytes.isNull)
    }

    @Test("a page that a service worker keeps is said until a page of the version confirms")
    func keptPage() throws {
        try prepared()
        let served = try Served(place, ["--confirm-within", "10m"])
        let session = try served.beginSession()
        try place.castree("activate", "2")
        try expect(served.get().status, equals: 200)
        let stale = "/_castree/stale-page?session=\(session)&version=1"
        try expect(served.post(stale).status, equals: 204)
        // The server notes it in its own time.
        let end = ContinuousClock.now + .seconds(120)
        while try status().well.isTrue { try require(ContinuousClock.now < end, "never said") }
        let problem = try require(status().problems.first)
        expect(problem.code == "stalePage" && problem.version == "2")
        expect(problem.message.text.contains("showed version 1 in place of version 2"))
        try expect(served.confirm(), equals: 204)
        try expect(status().well.isTrue)
        // Also where it was known good before, so that its confirmation changes nothing.
        try place.castree("activate", "1")
        try expect(served.get().status, equals: 200)
        try expect(served.confirm(), equals: 204)
        try place.castree("activate", "2")
        try expect(served.get().status, equals: 200)
        let again = "/_castree/stale-page?session=\(try served.beginSession())&version=1"
        try expect(served.post(again).status, equals: 204)
        while try status().well.isTrue { try require(ContinuousClock.now < end, "never said") }
        try expect(served.confirm(), equals: 204)
        try expect(status().well.isTrue)
    }

    @Test
    func `a needed version without its manifest is a problem, also where the index was made again`()
        throws
    {
        try prepared()
        try place.castree("activate", "2")
        let copy = ["--store", "copy"]
        try place.shell("cp -a .castree copy; rm copy/manifests/2.json").ended()
        let finished = try place.run(.castree, copy + ["status", "--json"])
        let problems = try finished.document(.status).problems
        expect(finished.status, equals: 1)
        expect(problems.map(\.code), equals: ["missingManifest"])
        expect(problems.first?.version == "2")
        // One that is made again is missing nothing that anybody could fetch, and is a problem all the same.
        try expect(place.run(.castree, copy + ["fsck", "--repair"]).status, equals: 4)
        let repaired = try place.ended(1, words: copy + ["status"])
        expect(!repaired.text.contains("waits"), "\(repaired)")
    }

    @Test func `no store is status 3`() throws {
        try expect(place.ended(3, "status", "--json").error().code, equals: "noStore")
    }

    @Test func `it tells what is current, what waits, and where a failure would lead`() throws {
        try prepared()
        try place.start()
        try place.castree("activate", "2", "--at-next-boot")
        try place.castree("fsck")
        let status = try status()
        expect(status.well.isTrue && status.versions == 2)
        expect(status.current == "1" && status.pending == "2" && status.wayBack.isNull)
        expect(status.lastCheck.findings, equals: 0)
        expect(status.store.text.hasPrefix("/") && status.store.text.hasSuffix("/.castree"))
        try place.castree("boot")
        try expect(self.status().wayBack, equals: "1")
        let lines = try place.castree("status").text.split(separator: "\n")
        expect(lines.count <= 10)
        expect(lines.contains { $0.contains("2, being tried, 1 start not confirmed") }, "\(lines)")
        expect(lines.last?.hasPrefix("well"), equals: true)
    }

    @Test func `a running server is named, and a stopped one is a problem`() throws {
        try prepared()
        let served = try Served(place)
        let use = try require(try status().uses.first { $0.use == "shows" })
        expect(use.version == "1" && !use.stopped)
        #if os(Linux)
            expect(use.process, equals: Int(served.processIdentifier))
            served.signal(SIGSTOP)
            // The signal has been sent, and may not have arrived.
            var stopped = try status()
            for _ in 0..<10_000 where stopped.well.isTrue { stopped = try status() }
            expect(stopped.problems.map(\.code), equals: ["stopped"])
            served.signal(SIGCONT)
        #endif
        // Each process once, whatever it does.
        let runs = try place.castree("status").text.split(separator: "\n")
            .first { $0.hasPrefix("runs") }
        expect(runs?.components(separatedBy: "process ").count, equals: 2, "\(runs ?? "")")
        try expect(served.end().status, equals: 0)
        try expect(status().uses.isEmpty)
    }

    @Test func `a server that was killed does nothing any more, though its pin is there`() throws {
        try prepared()
        _ = try Served(place).end(SIGKILL)
        try expect(place.names(in: ".castree/leases").contains { $0.hasPrefix(".pin-") })
        try expect(status().uses.isEmpty)
        let another = try Served(place)
        try expect(status().uses.count { $0.use == "shows" }, equals: 1)
        try expect(another.end().status, equals: 0)
    }

    @Test func `a small file that cannot be read is named, and a repair sets it aside`() throws {
        try prepared()
        for (name, contents) in [
            ("server.json", ["{", "[]", #"{"ports":{"a":0}}"#, #"{"token":"x"}"#]),
            ("owed.json", ["", "{}", #"{"version":2}"#]),
            ("channels.json", [#"{"a":"b"}"#]),
            ("events.jsonl", ["nothing\n", "[]\n{}\n"]), ("events.older.jsonl", ["x\n"]),
        ] {
            // A directory in its place is damage, too.
            for content in contents + [nil] {
                try? place.remove(".castree/\(name)")
                if let content {
                    try place.write([name: content], to: ".castree")
                } else {
                    try place.makeDirectory(".castree/\(name)")
                }
                let shown = "\(name): \(content ?? "a directory")"
                // Not with two: the event of a check would make a log of it.
                let found = try place.castree("status", "--json")
                let problems = try found.document(.status).problems
                expect(found.status, equals: 1, "\(shown)")
                expect(problems.map(\.code), equals: ["damagedNote"], "\(shown) \(problems)")
                expect(problems[0].message.text.contains("fsck --repair"), equals: true, "\(shown)")
                try expect(place.castree("fsck", "--repair").status, equals: 1, "\(shown)")
            }
            try expect(status().well.isTrue && place.castree("fsck").status == 0, "\(name)")
            let word = name.prefix { $0 != "." }
            let kept = try place.names(in: ".castree/quarantine")
            let count = kept.count { $0.hasPrefix("\(word)-") }
            expect(count >= contents.count + 1, "\(name) \(kept)")
        }
        // What a power cut leaves is no damage.
        for (channels, events) in [("", "{\"at\":1"), ("{\"a", "\0\0\0\"}\n")] {
            try place.write(
                ["channels.json": channels, "events.jsonl": events], to: ".castree")
            try expect(status().well.isTrue)
        }
    }

    /// Each way to be in need of somebody, done to a store with the versions 1 (current) and 2, and its code.
    static let problems: [(name: String, code: String, version: String?)] = [
        ("lost content", "incompleteVersion", "1"), ("lost tree", "missingTree", "1"),
        ("lost manifest", "missingManifest", "2"), ("lost link", "wrongCurrentLink", "1"),
        ("edited lifecycle", "editedLifecycle", nil), ("broken lifecycle", "damagedLifecycle", nil),
        ("failed check", "lastCheck", nil), ("banned release", "bannedNewest", "2"),
        ("no start confirmed", "unconfirmed", "1"),
    ]

    @Test(arguments: problems)
    func `what does not mend itself is a problem`(
        _ name: String, _ code: String, _ version: String?
    ) throws {
        try prepared()
        switch name {
        case "lost content":
            try place.damage(place.object(try place.address(of: "index.html", in: "1")))
            try place.castree("fsck", "--repair")
        case "lost tree": try place.remove(".castree/versions/1")
        case "lost manifest": try place.remove(".castree/manifests/2.json")
        case "lost link": try place.remove(".castree/current")
        case "edited lifecycle":
            let edited = try place.contents(".castree/lifecycle.json")
                .replacing("\"embedded\":null", with: "\"embedded\":\"1\"")
            try place.write(["lifecycle.json": edited], to: ".castree")
        case "broken lifecycle": try place.write(["lifecycle.json": "{"], to: ".castree")
        case "failed check":
            try place.damage(place.object(try place.address(of: "js/app.js", in: "1")))
            try expect(place.castree("fsck").status, equals: 4)
        case "banned release":
            try place.castree("activate", "2")
            try place.castree("rollback", "--reason", "white page")
        case "no start confirmed":
            // Two starts may fail, and the third one may still be confirmed: so far nobody is needed.
            for _ in 1...2 { try place.castree("boot") }
            try expect(self.status().well.isTrue)
            try place.castree("boot")
        default: Issue.record("nobody knows how to make '\(name)'")
        }
        let status = try status()
        expect(
            status.problems.contains { $0.code == code && $0.version == version },
            "\(status.problems)")
        let lines = try place.castree("status").text.split(separator: "\n")
        expect(lines.count <= 10)
        // Whatever is broken hides no version.
        expect(lines.first?.contains("2 versions"), equals: true, "\(lines)")
        expect(lines.contains { $0.hasPrefix("wrong") })
        expect(!lines.contains { $0.hasPrefix("well") })
    }

    @Test("a lifecycle that cannot be read makes nothing current, and hides no version")
    func unreadableLifecycle() throws {
        try prepared()
        try place.write(["lifecycle.json": "{"], to: ".castree")
        let status = try place.ended(1, "status")
        let lines = status.text.split(separator: "\n")
        expect(lines.contains { $0.hasPrefix("current") && $0.hasSuffix("unknown") }, "\(lines)")
        let wrong = lines.filter { $0.hasPrefix("wrong") }
        expect(wrong.count, equals: 1, "\(lines)")
        expect(wrong.first?.contains("lifecycle.json"), equals: true, "\(lines)")
        expect(wrong.first?.contains("castree fsck --repair"), equals: true, "\(lines)")
        try expect(place.castree("status", "--json").text.contains(#""versions":2"#))
    }

    @Test("a banned newest version is a problem until it is retired or there is a newer one")
    func bannedNewest() throws {
        try prepared()
        try place.start()
        for remedy in ["retire", "add"] {
            try place.castree("activate", "2")
            try place.castree("rollback", "--reason", "white page")
            let problems = try status().problems
            expect(problems.map(\.code), equals: ["bannedNewest"])
            expect(
                problems[0].message,
                equals:
                    "version 2, the newest, is banned: white page; publish or add a newer one, or "
                    + "remove it (castree retire 2)")
            if remedy == "add" {
                try place.add("3", ["index.html": "three"])
            } else {
                try place.castree("retire", "2")
            }
            try expect(status().well.isTrue, "\(remedy)")
            // The ban outlives the version.
            if remedy == "retire" {
                try place.add("2", Release.second)
                try expect(!status().well)
                try place.castree("forgive", "2")
            }
        }
    }

    @Test func `what a dead writer has left mends itself, and is no problem`() throws {
        try prepared()
        try place.write(["4711-0123456789abcdef": ""], to: ".castree/leases")
        try expect(place.castree("fsck").status, equals: 4)
        // Neither while it is there nor afterwards, until somebody checks again.
        for _ in 1...2 {
            let status = try status()
            expect(status.well.isTrue, "\(status.problems)")
            expect(status.lastCheck.findings == 1 && status.lastCheck.leftovers == 1)
            let lines = try place.castree("status").text.split(separator: "\n")
            let checked = lines.first { $0.hasPrefix("checked") } ?? ""
            expect(
                checked.hasSuffix("only leftovers of killed writers; castree gc removes them"),
                "\(checked)")
            try place.castree("gc")
        }
        try place.done("fsck")
    }

    @Test func `however much is wrong, ten lines say where the rest is`() throws {
        try place.add("1", ["index.html": "1"], "--activate")
        for version in 2...20 { try place.add("\(version)", ["index.html": "\(version)"]) }
        for version in 2...20 {
            try place.remove(".castree/manifests/\(version).json")
        }
        try expect(status().problems.count, equals: 19)
        let lines = try place.castree("status").text.split(separator: "\n")
        expect(lines.count, equals: 10)
        expect(lines.last?.hasSuffix("more: castree status --json"), equals: true)
    }

    // MARK: The log

    private func log(_ arguments: String...) throws -> JSON {
        try place.run(.castree, ["log", "--json"] + arguments).document(.events)
    }

    @Test func `log tells what happened, the newest last, and in numbers for scripts`() throws {
        try prepared()
        try place.castree("boot")
        try place.castree("activate", "2")
        let events = try log()
        expect(events.map(\.event), equals: ["add", "switch", "add", "boot", "switch"])
        expect(events.map(\.sequence), equals: Array(1...5))
        expect(events.allSatisfy { $0.at.text.hasSuffix("Z") })
        expect(events[4].fields.members.keys.sorted(), equals: ["from", "version"])
        let lines = try place.castree("log").text.split(separator: "\n").map(String.init)
        expect(lines, equals: events.map { "\($0.at) \($0.sentence)" })
        expect(lines.last?.hasSuffix("switched to version 2 from 1"), equals: true)
    }

    @Test func `log shows the last so many, or what happened since`() throws {
        try prepared()
        try expect(log("--last", "1").map(\.event), equals: ["add"])
        try expect(log("--last", "99").count, equals: 3)
        try expect(log("--since", "3w").count, equals: 3)
        try expect(log("--since", "2100-01-01").isEmpty)
        try expect(place.castree("log", "--last", "0").status, equals: 2)
        try expect(place.castree("log", "--since", "yesterday").status, equals: 2)
    }
}

extension Workplace {
    /// The status, whose exit status says the same as its document.
    func status() throws -> JSON {
        let answer = try castree("status", "--json")
        let status = try answer.document(.status)
        expect(answer.status, equals: (status.well.isTrue ? 0 : 1))
        expect(status.well.isTrue, equals: status.problems.isEmpty)
        try expect(castree("status").status, equals: answer.status)
        return status
    }
}
