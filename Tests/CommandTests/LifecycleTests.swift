import ProgramTestSupport

@Suite struct LifecycleTests {
    let place: Workplace

    init() throws {
        place = try Workplace(adding: "1", Release.first)
        try place.add("2", Release.second)
    }

    private func lifecycle() throws -> JSON { try place.lifecycle() }

    @Test func `lifecycle of a new store is empty, and its nulls are null`() throws {
        let answer = try place.castree("lifecycle", "--json")
        expect(
            answer.text,
            equals: """
                {"current":null,"pending":null,"knownGood":[],"embedded":null,"protected":[],"bad":[],"boot":null}

                """)
        expect(answer.status, equals: 0)
    }

    @Test func `lifecycle shows a start while it waits for a confirmation, and no longer`() throws {
        try place.castree("activate", "1")
        try place.castree("boot")
        try expect(place.castree("lifecycle").text.contains("not confirmed, token"))
        try place.start()
        try place.castree("boot")
        let lifecycle = try place.castree("lifecycle").text
        expect(!lifecycle.contains("not confirmed") && !lifecycle.contains("watched by"))
        try expect(!self.lifecycle().boot.isNull)
    }

    @Test func `activate tells the current and the previous version`() throws {
        let first = try place.done("activate", "1", "--json")
        expect(first.text, equals: "{\"current\":\"1\",\"previous\":null}\n")
        let second = try place.castree("activate", "2", "--json").document(.activated)
        expect(second.current, equals: "2")
        expect(second.previous, equals: "1")
        try expect(lifecycle().current, equals: "2")
        try expect(
            place.contents(".castree/current/index.html"), equals: Release.second["index.html"])
    }

    @Test func `activate --at-next-boot makes pending, and boot switches`() throws {
        try place.castree("activate", "1")
        let pending = try place.castree("activate", "2", "--at-next-boot", "--json")
        expect(pending.text, equals: "{\"pending\":\"2\"}\n")
        try expect(lifecycle().current, equals: "1")
        try expect(lifecycle().pending, equals: "2")
        let boot = try place.boot()
        expect(boot.version, equals: "2")
        expect(boot.rolledBackFrom.isNull)
        try expect(lifecycle().pending.isNull)
    }

    @Test func `boot without anything to start is status 3`() throws {
        try expect(place.ended(3, "boot", "--json").error().code, equals: "noVersion")
    }

    @Test func `boot tells version and token, and null when nothing was rolled back`() throws {
        try place.castree("activate", "1")
        let answer = try place.castree("boot", "--json")
        try expect(answer.members(), equals: ["version", "token", "mandatory", "rolledBackFrom"])
        expect(answer.text.contains("\"rolledBackFrom\":null"))
        let boot = try answer.document(.boot)
        let shown = try require(try lifecycle().boot)
        expect(shown.version, equals: "1")
        expect(shown.token, equals: boot.token)
        expect(shown.startedAt.text.hasSuffix("Z"))
    }

    @Test func `confirm makes known good, and twice is as good as once`() throws {
        try place.castree("activate", "1")
        let boot = try place.boot()
        for _ in 1...2 {
            let confirmed = try place.done("confirm", "1", "--token", boot.token.text, "--json")
            expect(confirmed.text, equals: "{\"knownGood\":\"1\"}\n")
        }
        try expect(lifecycle().knownGood, equals: ["1"])
        try expect(lifecycle().boot.isNull)
    }

    @Test func `confirm needs the version and the token of the boot`() throws {
        try place.castree("activate", "1")
        let boot = try place.boot()
        for (version, token) in [("1", "0123456789abcdef"), ("2", boot.token)] {
            let refused = try place.ended(1, "confirm", version, "--token", token.text, "--json")
            try expect(refused.error().code, equals: "wrongToken")
        }
    }

    @Test(arguments: [1, 2])
    func
        `boot rolls back from a version that was never confirmed, and bans it at the last failed attempt`(
            failedAttempts: Int
        ) throws
    {
        try place.start("1")
        try place.castree("activate", "2")
        let boots = ["boot", "--strikes", "\(failedAttempts)"]
        for _ in 1..<failedAttempts {
            _ = try place.run(.castree, boots)
            let back = try place.run(.castree, boots + ["--json"])
            try expect(back.document(.boot).rolledBackFrom, equals: "2")
            expect(back.text.contains("\"banned\":false"))
            try expect(lifecycle().bad.isEmpty)
            try expect(lifecycle().pending, equals: "2")
        }
        _ = try place.run(.castree, boots)
        let answer = try place.run(.castree, boots + ["--json"])
        expect(answer.text.contains("\"banned\":true"))
        let boot = try answer.document(.boot)
        expect(boot.version, equals: "1")
        expect(boot.rolledBackFrom, equals: "2")
        let ban = try require(try lifecycle().bad.first)
        expect(ban.version, equals: "2")
        expect(ban["count"], equals: 1)
        expect(!ban.reason.text.isEmpty)
        expect(ban.at.text.hasSuffix("Z"))
    }

    @Test func `confirm refuses the token of a start that was rolled back since`() throws {
        try place.start("1")
        try place.castree("activate", "2")
        let boot = try place.boot()
        let confirm = ["confirm", "2", "--token", boot.token.text]
        try expect(place.run(.castree, confirm).status, equals: 0)
        try expect(place.run(.castree, confirm).status, equals: 0)
        for verb in ["rollback", "forgive 2", "activate 2"] {
            let words = verb.split(separator: " ").map(String.init)
            try expect(place.run(.castree, words).status, equals: 0)
        }
        try expect(place.run(.castree, confirm).status != 0)
    }

    @Test func `boot says whether what it left waits`() throws {
        try place.add("3", ["index.html": "three"])
        try place.start("1")
        try place.castree("activate", "2")
        _ = try place.run(.castree, ["boot"])
        let waiting = try place.run(.castree, ["boot"]).text
        expect(waiting.contains("never confirmed; the next boot tries it again."), "\(waiting)")
        _ = try place.run(.castree, ["boot"])
        try place.castree("activate", "3", "--at-next-boot")
        let replaced = try place.run(.castree, ["boot", "--strikes", "3"]).text
        expect(replaced.contains("Start version 3."), "\(replaced)")
        expect(replaced.contains("no boot tries it again"), "\(replaced)")
        let banned = try place.run(.castree, ["boot", "--strikes", "1"]).text
        expect(
            banned.contains("never confirmed; it is banned (castree unban lifts the ban)."),
            "\(banned)")
    }

    @Test func `rollback goes back, bans with the reason, and unban lifts the ban`() throws {
        try place.start("1")
        try place.castree("activate", "2")
        let back = try place.done("rollback", "--reason", "white page", "--json")
        let document = try back.document(.rolledBack)
        expect(document.current, equals: "1")
        expect(document.rolledBackFrom, equals: "2")
        try expect(lifecycle().bad.map(\.reason), equals: ["white page"])
        let listed = try place.listed()
        expect(listed.map(\.bad), equals: [true, false])
        expect(listed.map(\.knownGood), equals: [false, true])

        try expect(place.ended(1, "activate", "2", "--json").error().code, equals: "bannedVersion")
        try expect(place.castree("unban", "2", "--json").text, equals: "{\"version\":\"2\"}\n")
        try place.done("activate", "2")
        try expect(place.castree("forgive", "2").status, equals: 3)
    }

    @Test func `rollback with nothing to go back to fails and changes nothing`() throws {
        try place.castree("activate", "1")
        try expect(place.ended(1, "rollback", "--json").error().code, equals: "nothingToRollBackTo")
        try expect(lifecycle().current, equals: "1")
        try expect(lifecycle().bad.isEmpty)
    }

    @Test func `pending and last known good versions are not retired`() throws {
        try place.start("1")
        try place.castree("activate", "2", "--at-next-boot")
        try expect(place.castree("retire", "2").status, equals: 1)
        try place.castree("activate", "2")
        try expect(place.castree("retire", "1").status, equals: 1)
    }
}
