import ProgramTestSupport

/// `castree pull` from servers that mean no good.
@Suite struct HostilePeerTests {
    let place: Workplace

    init() throws { place = Workplace() }

    private func pull(_ url: String, _ more: String...) throws -> Finished {
        try place.run(.castree, ["--store", "device", "pull", url] + more)
    }

    /// The most memory that a pull has had, in bytes.
    private func peak(_ url: String, _ more: String...) throws -> Int {
        let script = """
            import resource, subprocess, sys
            subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
            print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
            """
        let castree = ProgramUnderTest.castree.url.path
        let answer = try place.python(
            ["-c", script, castree, "--store", "device", "pull", url] + more)
        let number = Int(answer.text.trimmingCharacters(in: .whitespacesAndNewlines))
        // Kibibytes on Linux, bytes on macOS (getrusage(2)).
        #if canImport(Darwin)
            return try require(number, "\(answer)")
        #else
            return try require(number, "\(answer)") * 1024
        #endif
    }

    @Test func `pull gives up on an origin that sends hints and no answer`() throws {
        let origin = try HostileOrigin(.dripHints)
        // The server answers after a hundred hints: who waits for it gets 3, that nothing is there. 23: no answer came.
        let answer = try pull(origin.url, "--timeout", "1s", "--retries", "0").ended(23)
        expect(answer.errors.contains("nothing came for 1 s"), "\(answer)")
    }

    @Test(arguments: ["/manifests", "/objects"])
    func `pull and repair give up alike on an origin that drips`(_ path: String) throws {
        let page = String(repeating: "a long page. ", count: 100)
        let many = (0..<50).map { ("\($0).txt", "\($0)") }
        try place.add("1", Dictionary(uniqueKeysWithValues: many + [("index.html", page)]))
        try place.done("publish", "1", "site", "--no-sync", "--no-packs")
        try expect(pull("site").status, equals: 0)
        let lost =
            path == "/manifests" ? "truncate -s 100 other/manifests/*" : "rm -r other/objects/??"
        let script =
            "cp -a device other && chmod -R u+w other && rm -r other/versions/* && \(lost)"
        try expect(place.run(.shell, ["-c", script]).status, equals: 0)
        let origin = try HostileOrigin(.drip(below: path, of: place.url("site")))
        // Who waits for what drips has it after half a minute.
        for (words, status) in [
            (["new", "pull", origin.url], 23),
            (["other", "fsck", "--from", origin.url], path == "/manifests" ? 8 : 4),
        ] as [([String], Int32)] {
            try place.ended(
                status, words: ["--store"] + words + ["--timeout", "1s", "--retries", "0"])
        }
    }

    @Test
    func `pull refuses a version of too many entries, in a dry run too, and says how to take it`()
        throws
    {
        let origin = try HostileOrigin(.manifest(entries: 3000))
        for more in [["--dry-run"], []] {
            let answer = try place.ended(
                1, "--store", "device", "pull", origin.url, "--max-entries", "2999", "--json",
                words: more)
            let message = try answer.error().message
            expect(message.contains("more than 2999 entries"), "\(message)")
            expect(message.contains("--max-entries allows more"), "\(message)")
        }
        try expect(pull(origin.url, "--max-entries", "3000", "--dry-run").status, equals: 0)
        try expect(pull(origin.url, "--max-entries", "0").status, equals: 2)
        let help = try place.castree("pull", "--help").text
        expect(help.contains("--max-entries") && help.contains("250000"))
    }

    @Test func `pull refuses a manifest of more bytes than its entries may need, unread`() throws {
        let origin = try HostileOrigin(.manifest(entries: 20_000))
        expect(origin.packedBytes * 20 < origin.manifestBytes)
        try pull(origin.url, "--max-entries", "100", "--dry-run").ended(
            1, saying: "--max-entries allows more")
    }

    @Test func `pull reads a packed manifest in no more memory than ten times its bytes`() throws {
        let small = try HostileOrigin(.manifest(entries: 1))
        let large = try HostileOrigin(.manifest(entries: 20_000))
        let before = try peak(small.url, "--dry-run")
        let after = try peak(large.url, "--dry-run")
        expect(after - before <= 10 * large.manifestBytes, "\(before), then \(after)")
    }

    @Test func `pull ends with 21 for an older copy, and --force takes it for good`() throws {
        try place.add("1", Release.first)
        try place.done("publish", "1", "site", "--no-sync")
        let older = try place.contents("site/channels/stable.json")
        try expect(pull("site").status, equals: 0)
        try place.add("2", Release.second)
        try place.done("publish", "2", "site", "--no-sync")
        try expect(pull("site").status, equals: 0)
        try Data(older.utf8).write(to: place.directory.appending(path: "site/channels/stable.json"))
        for more in [[], ["--dry-run"]] {
            let answer = try place.ended(
                21, "--store", "device", "pull", "site", "--json", words: more)
            try expect(answer.members().isSuperset(of: ["version", "requests", "reasons"]))
        }
        try expect(pull("site").text.contains("older copy"))
        try expect(pull("site", "--force").status, equals: 0)
        try expect(pull("site").status, equals: 0)
    }

    @Test("one empty pointer with the largest sequence ends neither pulls nor publishing")
    func largestSequence() throws {
        try place.add("1", Release.first)
        try place.done("publish", "1", "site", "--no-sync")
        let pointer =
            #"{"castreeChannel":1,"channel":"stable","createdAt":1,"#
            + #""releases":[],"sequence":9007199254740991}"#
        try Data(pointer.utf8).write(to: place.url("site/channels/stable.json"))
        try expect(pull("site").status, equals: 0)
        try place.done("publish", "1", "site", "--no-sync")
        let answer = try pull("site")
        expect(answer.status == 0 && answer.text.hasPrefix("Pulled version 1"), "\(answer)")
        try place.add("2", Release.second)
        try place.done("publish", "2", "site", "--no-sync")
        try expect(pull("site").text.hasPrefix("Pulled version 2"))
        try place.done("withdraw", "2", "site")
        try expect(pull("site", "--activate").status, equals: 0)
    }
}
