import ProgramTestSupport

@Suite struct PublishTests {
    let place: Workplace

    init() throws {
        place = try Workplace(adding: "1", Release.first)
        try place.add("2", Release.second)
    }

    private func publish(_ arguments: String...) throws -> JSON {
        let answer = try place.done("publish", words: arguments + ["site", "--no-sync", "--json"])
        return try answer.document(.published)
    }

    @Test(
        "a directory of other things becomes an origin only if that is meant, and no origin or store is added"
    )
    func otherThings() throws {
        try place.write(["index.html": "mine"], to: "dist")
        for more in [[], ["--dry-run"], ["--no-packs"], ["--verify"]] {
            try place.ended(1, "publish", "1", "dist", "--no-sync", words: more, saying: "--force")
        }
        expect(!place.exists("dist/.publish") && !place.exists("dist/origin.json"))
        try place.done("publish", "1", "dist", "--no-sync", "--force")
        // Once it is one, it needs no word.
        try place.done("publish", "2", "dist", "--no-sync")
        try place.write(
            ["index.html": "mine", "origin.json": "{}", "FORMAT": "of the app"], to: "app")
        try place.done("add", "app", "--version", "app")
        try place.castree("publish", "1", "app/site", "--no-sync")
        try place.write(["index.html": "mine"], to: "own")
        try place.castree("--store", "own/.castree", "init")
        for (source, what) in [
            ("dist", "an origin"), ("app", "an origin"), ("own", "a store"),
            ("own/.castree", "a store"),
        ] {
            for more in [[], ["--follow"]] {
                try place.ended(1, "add", source, "--version", "9", words: more, saying: what)
            }
        }
    }

    @Test("a publisher hears that an origin or a channel is new, in case it mistyped one")
    func newOrigins() throws {
        let first = try place.castree("publish", "1", "site", "--no-packs")
        expect(first.errors, equals: "castree: note: made a new origin at site\n")
        try expect(place.castree("publish", "2", "site", "--no-packs").errors.isEmpty)
        let beta = try place.castree("publish", "2", "site", "--no-packs", "--channel", "beta")
        expect(beta.errors, equals: "castree: note: channel beta is new; the origin had stable\n")
        try expect(place.castree("publish", "2", "other", "--quiet").errors.isEmpty)
    }

    @Test func `publish writes all of the first release and the difference of the next`() throws {
        let first = try publish("1")
        expect(first.objects == 6 && first.reusedObjects == 0)
        expect(first.bytes, equals: Release.first.values.reduce(0) { $0 + $1.utf8.count })
        expect(first.channel == "stable" && first.origin == "site" && first.changed.isTrue)
        let second = try publish("2")
        expect(second.objects, equals: 2)
        expect(second.bytes, equals: "<h1>two</h1>more()".utf8.count)
        expect(second.sequence, equals: first.sequence.number + 1)
        let again = try publish("2")
        expect(again.objects == 0 && again.bytes == 0 && !again.changed)
        expect(again.sequence, equals: second.sequence)
        let address = try place.address(of: "js/more.js", in: "2")
        let object = "site/objects/\(address.prefix(2))/\(address.dropFirst(2))"
        try expect(place.contents(object), equals: "more()")
        try expect(place.release()["version"] as? String == "2")
    }

    @Test func `publish says in words what it did`() throws {
        let first = try place.done("publish", "1", "site", "--no-sync")
        expect(first.text.hasPrefix("Published version 1 to site, channel stable: 6 new objects, "))
        let again = try place.castree("publish", "1", "site", "--no-sync")
        expect(again.text.hasPrefix("Channel stable of site already offers version 1; "))
    }

    @Test func `publish with --dry-run writes nothing`() throws {
        let planned = try publish("1", "--dry-run")
        expect(planned.objects == 6 && planned.dryRun.isTrue)
        expect(!place.exists("site"))
        try expect(
            place.castree("publish", "1", "site", "--dry-run").text.hasPrefix("Would publish"))
    }

    @Test func `publish takes roll-out, requirements, force and channel`() throws {
        _ = try publish(
            "1", "--channel", "beta", "--rollout", "12.5%", "--require", "compatibility=ios-3",
            "--require", "runtimeVersion=2=1", "--mandatory")
        let release = try place.release(of: "beta")
        expect(release["rolloutPerMille"] as? Int == 125)
        expect(release["rolloutSalt"] as? String == "1")
        expect(release["mandatory"] as? Bool == true)
        expect(
            release["requirements"] as? [String: String] == [
                "compatibility": "ios-3", "runtimeVersion": "2=1",
            ])
        _ = try publish("1", "--channel", "beta", "--rollout", "50", "--salt", "s")
        try expect(place.release(of: "beta")["rolloutSalt"] as? String == "s")
        _ = try publish("1", "--channel", "beta", "--rollout", "100")
        try expect(place.release(of: "beta")["rolloutPerMille"] == nil)
        expect(!place.exists("site/channels/stable.json"))
    }

    @Test(arguments: [
        ["--rollout", "101"], ["--rollout", "-1"], ["--rollout", "0.55"], ["--rollout", "x"],
        ["--rollout", ""], ["--require", "compatibility"], ["--require", "=x"], ["--salt", "x"],
        ["--channel", "Stable"], ["--channel", "../x"], ["--no-packs", "--packs-later"],
        ["--no-packs", "--level", "3"], ["--no-packs", "--packs-from", "2"],
        ["--no-packs", "--pack-base", "1"], ["--no-packs", "--keep-packs", "2"],
        ["--level", "0"], ["--level", "20"], ["--keep-packs", "0"], ["--packs-from", "61"],
    ])
    func `publish refuses what makes no sense as a usage error`(_ options: [String]) throws {
        try place.ended(2, "publish", "1", "site", "--json", words: options)
        expect(!place.exists("site"))
    }

    @Test func `publish takes file URLs and refuses servers`() throws {
        let url = "file://" + place.directory.path + "/my%20site"
        try place.done("publish", "1", url, "--no-sync")
        expect(place.exists("my site/origin.json"))
        try expect(place.castree("publish", "1", "site/channels/beta.json").status, equals: 2)
        let answer = try place.ended(1, "publish", "1", "https://cdn.example/x", "--json")
        try expect(answer.error().code, equals: "badOrigin")
    }

    @Test(arguments: [
        ["publish", "1", "S3://updates/app"], ["publish", "1", "s3:/updates/app"],
        ["withdraw", "1", "s3://updates//app"], ["prune", "s3://No/app"],
        ["pack", "1", "s3://updates/e/1"], ["channels", "s3://updates/a b"],
        ["du", "s3://updates/../app"], ["pull", "s3:updates"],
        ["publish", "1", "s3://updates/app/channels/stable.json"],
        ["publish", "1", "s3://updates/app?endpoint=elsewhere"],
        ["du", "s3://updates/app", "--html", "page.html"],
        ["du", "--endpoint", "http://127.0.0.1:1"], ["du", "site", "--anonymous"],
        ["publish", "1", "site", "--retries", "1"], ["publish", "1", "site", "--jobs", "2"],
        ["channels", "http://127.0.0.1:1/x", "--anonymous", "--retries", "0"],
    ])
    func `what names no bucket, or asks for what is not there for it, is a usage error`(
        _ arguments: [String]
    ) throws {
        _ = try publish("1")
        try expect(place.ended(2, words: arguments + ["--json"]).error().code, equals: "usage")
    }

    @Test(arguments: [
        ["publish", "1"], ["withdraw", "1"], ["pack", "1"], ["prune"], ["du"], ["channels"],
    ])
    func `a bucket that does not answer is asked again aloud, as often as it is told`(
        _ verb: [String]
    ) throws {
        let answer = try place.ended(
            1,
            words: verb + ["s3://updates/app", "--endpoint", "http://127.0.0.1:1", "--anonymous"]
                + ["--retries", "1", "--timeout", "2s"])
        let lines = answer.errors.split(separator: "\n").filter { $0.contains("try 2 of 2") }
        expect(lines.count == 1 && answer.errors.contains("in 2 tries"), "\(answer)")
    }

    @Test("a whole origin is copied from one directory to another, and what has come since")
    func wholeCopy() throws {
        func copy() throws -> JSON {
            try place.run(
                .castree, ["publish", "--all-of", "site", "copy", "--no-sync", "--json"]
            ).document(.copied)
        }
        _ = try publish("1")
        let first = try copy()
        expect(first.files > 0 && first.found == 0 && first.channels == 1)
        _ = try publish("2")
        let second = try copy()
        expect(second.files > 0 && second.found > 0)
        try expect(copy().files, equals: 0)
        try place.done("fsck", "copy")
        try place.done("publish", "1", "copy", "--no-sync")
        try expect(place.castree("publish", "--all-of", "site", "copy").status, equals: 1)
        try expect(place.castree("publish", "--all-of", "site", "site").status, equals: 1)
        try expect(place.castree("publish", "--all-of", "nowhere", "new").status, equals: 3)
        for target in ["new", "site/new", "site/new/", "./site/new", "site/objects/new"] {
            if target != "new" {
                try place.ended(
                    1, "publish", "--all-of", "site", target, saying: "one is within the other")
            }
            expect(!place.exists(target), "\(target)")
        }
    }

    @Test func `publish, withdraw and prune tell what is not there by exit status 3`() throws {
        try expect(place.castree("publish", "9", "site").status, equals: 3)
        try expect(place.castree("withdraw", "1", "site").status, equals: 3)
        try expect(place.castree("prune", "site").status, equals: 3)
        _ = try publish("1")
        let answer = try place.ended(3, "withdraw", "2", "site", "--json")
        try expect(answer.error().code, equals: "notOffered")
        try expect(place.castree("withdraw", "1", "site", "--channel", "beta").status, equals: 3)
    }

    @Test("withdraw offers the release before, or sends devices back to the embedded one")
    func withdrawn() throws {
        _ = try publish("1")
        let second = try publish("2")
        let answer = try place.done("withdraw", "2", "site", "--json")
        let document = try answer.document(.withdrawn)
        expect(document.offered == "1" && !document.embedded)
        expect(document.sequence > second.sequence)
        try expect(place.release()["version"] as? String == "1")
        try place.done("withdraw", "1", "site", "--embedded")
        try expect(place.release()["embedded"] as? Bool == true)
    }

    @Test func `prune deletes old releases after their time of grace`() throws {
        _ = try publish("1")
        _ = try publish("2")
        let kept = try place.castree("prune", "site", "--keep", "1", "--json")
            .document(.pruned)
        expect(kept.releases == 1 && kept.files == 0)
        let page = try place.address(of: "index.html", in: "1")
        let object = "site/objects/\(page.prefix(2))/\(page.dropFirst(2))"
        expect(place.exists(object))
        let planned = try place.castree("prune", "site", "--grace", "0s", "--dry-run", "--json")
            .document(.pruned)
        let done = try place.castree("prune", "site", "--grace", "0s", "--json")
            .document(.pruned)
        // What only the first release had: its page, the empty file, its manifest and its packs.
        expect(done.files > 3 && done.bytes > 0 && done.waiting == 0 && !place.exists(object))
        expect(planned.dryRun.isTrue && !done.dryRun)
        try expect(place.castree("prune", "site", "--grace", "soon").status, equals: 2)
        try expect(place.castree("prune", "site").text.hasPrefix("Deleted 0 files, 0 B."))
    }

    @Test func `two programs that publish at once both succeed, with two numbers`() throws {
        let running = try ["1", "2"].map { version in
            try Running(
                .castree, ["publish", version, "site", "--no-sync", "--json"], in: place.directory)
        }
        let numbers = try running.map { program in
            let answer = try program.finished().ended()
            return try answer.document(.published).sequence
        }
        expect(abs(numbers[0].number - numbers[1].number), equals: 1)
        try expect((place.pointer()["releases"] as? [Any])?.count, equals: 2)
    }
}
