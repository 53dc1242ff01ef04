import ProgramTestSupport

/// `castree pull` as a user has it: two stores, an origin between them.
@Suite struct PullTests {
    let place: Workplace
    static let large = String(repeating: "0123456789abcdef", count: 100_000)

    init() throws {
        place = try Workplace(adding: "1", Release.first)
        try place.add("2", Release.second)
    }

    private func pull(_ arguments: String...) throws -> Finished {
        try place.run(.castree, ["--store", "device", "pull"] + arguments)
    }

    private func served() throws -> WebOrigin { try place.origin() }

    private func lifecycle() throws -> JSON {
        try place.castree("--store", "device", "lifecycle", "--json").document(.lifecycle)
    }

    @Test("pull --release takes a certain one of the releases, or says which there are")
    func certainRelease() throws {
        try place.publish("1")
        try place.publish("2")
        let answer = try pull("site", "--release", "1", "--keep", "--json").ended()
        try expect(answer.document(.pulled).version, equals: "1")
        try expect(lifecycle().pending.isNull)
        let absent = try pull("site", "--release", "3")
        // What was named is not there; that is neither a ban (20) nor an origin that is not reached (23).
        expect(absent.status, equals: 3)
        try expect(pull("site", "--release", "3", "--json").error().code, equals: "notOffered")
        expect(absent.errors.contains("it offers 2, 1"), "\(absent)")
        try expect(pull("site", "--release", "../3").status, equals: 2)
    }

    @Test func `pull fetches a version from a web server, and then only the difference`() throws {
        try place.publish("1")
        let origin = try served()
        let answer = try pull(origin.url, "--json").ended()
        try expect(
            answer.members().isSuperset(of: [
                "version", "files", "objects", "bytes", "reusedObjects", "reusedBytes",
                "resumedBytes", "requests",
            ]))
        let first = try answer.document(.pulled)
        expect(first.version == "1" && first.files == 6 && first.objects == 6)
        expect(first.bytes, equals: Release.first.values.reduce(0) { $0 + $1.utf8.count })
        expect(first.reusedObjects == 0 && first.resumedBytes == 0)
        expect(first.requests, equals: (try origin.requests().count))
        expect(first.pending.isTrue && !first.current)
        try place.publish("2")
        let second = try pull(origin.url, "--json").document(.pulled)
        expect(second.objects == 2 && second.bytes == "<h1>two</h1>more()".utf8.count)
        expect(second.reusedObjects, equals: 4)
        let count = try origin.requests().count
        let again = try pull(origin.url, "--json").document(.pulled)
        expect(again.objects == 0 && again.requests == 1)
        try expect(origin.requests().count, equals: count + 1)
        let boot = try place.castree("--store", "device", "boot")
        expect(boot.status == 0 && boot.text.contains("2"))
        try expect(place.contents("device/current/new/name.txt"), equals: "moves along")
        try place.done("--store", "device", "fsck", "--deep")
    }

    @Test func `pull takes a directory, and says in words what it did and what comes next`() throws
    {
        try place.publish("1")
        let answer = try pull("site").ended()
        expect(answer.text.hasPrefix("Pulled version 1: 6 files; fetched 6 objects, "))
        expect(answer.text.contains("pending"))
        let again = try pull("site")
        expect(again.status == 0 && again.text.hasPrefix("The store already has version 1."))
    }

    @Test func `channels lists what an origin offers, on a server and in a directory`() throws {
        try place.publish("1")
        try place.publish("2", "--channel", "beta", "--mandatory")
        let origin = try served()
        for url in [origin.url, "site"] {
            let answer = try place.done("channels", url, "--json")
            let channels = try answer.document(.channels)
            expect(channels.map(\.channel), equals: ["beta", "stable"])
            expect(channels.map { $0.releases.map(\.version) }, equals: [["2"], ["1"]])
            expect(channels.map { $0.releases.map(\.mandatory) }, equals: [[true], [false]])
            expect(channels.map { $0.releases.map(\.perMille) }, equals: [[1000], [1000]])
            let text = try place.run(.castree, ["channels", url]).text
            expect(text.contains("beta") && text.contains("version 2"))
        }
        expect(!place.exists("device"))
        try expect(place.run(.castree, ["channels", "nowhere"]).status, equals: 3)
    }

    @Test func `pull with --dry-run says what would come, and brings nothing`() throws {
        try place.publish("1")
        let origin = try served()
        let answer = try pull(origin.url, "--dry-run", "--json")
        let plan = try answer.document(.pullPlan)
        expect(plan.version == "1" && plan.files == 6 && plan.objects == 6 && plan.dryRun.isTrue)
        try expect(!origin.requests().contains { $0.hasPrefix("/objects/") })
        try expect(pull(origin.url, "--dry-run").text.hasPrefix("Would pull version 1: "))
        expect(!place.exists("device"))
        let done = try pull(origin.url, "--json").document(.pulled)
        expect(done.bytes == plan.bytes && done.objects == plan.objects)
    }

    @Test func `pull makes a version current, pending or neither`() throws {
        try place.publish("1")
        try place.publish("2", "--channel", "beta")
        try expect(pull("site", "--keep").status, equals: 0)
        try expect(lifecycle().current.isNull && lifecycle().pending.isNull)
        try expect(pull("site", "--activate").status, equals: 0)
        try expect(lifecycle().current, equals: "1")
        try expect(pull("site", "--channel", "beta").status, equals: 0)
        try expect(lifecycle().current == "1" && lifecycle().pending == "2")
        try expect(pull("site", "--keep", "--activate").status, equals: 2)
    }

    @Test func `pull calls a version as it is told, also if its content is here already`() throws {
        try place.publish("1")
        try expect(pull("site").status, equals: 0)
        let named = try pull("site", "--version", "app", "--json").document(.pulled)
        expect(named.version == "app" && named.objects == 0 && named.pending.isTrue)
        try expect(lifecycle().pending, equals: "app")
    }

    @Test func `pull says why an app that was shipped with nothing cannot go back to it`() throws {
        try place.publish("1")
        try expect(pull("site", "--activate").status, equals: 0)
        try place.done("withdraw", "1", "site", "--embedded")
        let answer = try pull("site", "--json").ended()
        let nothing = try answer.document(.nothingPulled)
        expect(nothing.version.isNull && nothing.reasons.count == 1)
        try expect(lifecycle().current == "1" && lifecycle().pending.isNull)
    }

    @Test func `pull keeps to roll-outs and requirements, unless it is forced`() throws {
        try place.publish("1")
        try place.publish("2", "--rollout", "0", "--require", "minimumAppVersion=2.0")
        // What is offered to everybody is the release before.
        try expect(
            pull("site", "--device", "d", "--app", "version=1.0", "--json")
                .document(.pulled).version, equals: "1")
        try place.publish("2", "--channel", "beta", "--rollout", "0", "--salt", "s")
        let answer = try pull("site", "--channel", "beta", "--device", "d", "--json").ended()
        let nothing = try answer.document(.nothingPulled)
        expect(nothing.version.isNull && nothing.reasons.count == 1)
        try expect(
            pull("site", "--channel", "beta").text.hasPrefix("The origin offers nothing for"))
        try expect(pull("site", "--channel", "beta", "--force").text.contains("version 2"))
        try place.publish("1", "--channel", "old", "--require", "minimumAppVersion=2.0")
        try expect(
            pull("site", "--channel", "old", "--app", "version=1.9", "--json")
                .document(.nothingPulled).reasons.count, equals: 1)
        try expect(
            pull("site", "--channel", "old", "--app", "version=2.0", "--json")
                .document(.pulled).version, equals: "1")
    }

    @Test(arguments: [
        ["site", "--jobs", "0"], ["site", "--format", "zip"], ["site", "--app", "colour=red"],
        ["site", "--app", "version"], ["site", "--limit-rate", "fast"], ["site", "--timeout", "x"],
        ["site", "--channel", "../x"], ["site", "--version", "../x"], [], ["site", "--colour"],
        ["site", "more"], ["site", "--proxy", "x://127.0.0.1:9"],
    ])
    func `pull refuses what makes no sense as a usage error`(_ arguments: [String]) throws {
        try place.ended(2, "--store", "device", "pull", "--json", words: arguments)
        expect(!place.exists("device"))
    }

    @Test func `a store in place of an origin is called one, and how it is named`() throws {
        let place = try Workplace(adding: "1", Release.first)
        for words in [["fsck"], ["fsck", "--repair"], ["du"], ["channels"]] {
            let finished = try place.run(.castree, [words[0]] + words.dropFirst() + ["./.castree"])
            expect(finished.status != 0, "\(words): \(finished)")
            expect(
                finished.errors.contains("is a store and no origin: name it with --store"),
                "\(words): \(finished)")
        }
        try place.write(["taken": ""], to: "plain")
        for name in ["plain", "nowhere"] {
            try place.ended(
                3, "du", name,
                saying: "(--store DIR), or the directory of an origin, and \(name) is no origin")
        }
    }

    @Test func `pull says by its exit status that there is no origin or channel`() throws {
        try place.publish("1")
        let origin = try served()
        for url in [origin.url, origin.url + "/wrong", "site", "nowhere"] {
            let answer = try pull(url, "--channel", "beta", "--json").ended(3)
            try expect(!answer.error().message.isEmpty)
            expect(answer.output.isEmpty)
        }
        try expect(pull(origin.url, "--format", "castree", "--channel", "beta").status, equals: 3)
        try expect(pull("ftp://127.0.0.1/x").status, equals: 1)
    }

    @Test("pull that is missing a file of the release fails, shows nothing, and can be repeated")
    func lackingFile() throws {
        try place.publish("1")
        let origin = try served()
        let address = try place.address(of: "js/app.js", in: "1")
        let object = place.url(place.object(address, in: "site"))
        let aside = place.url("aside")
        try FileManager.default.moveItem(at: object, to: aside)
        try pull(origin.url, "--retries", "0", "--json").ended(1)
        try expect(lifecycle().pending.isNull)
        try FileManager.default.moveItem(at: aside, to: object)
        let again = try pull(origin.url, "--json").document(.pulled)
        expect(again.pending.isTrue && again.objects.number <= 6)
    }

    @Test(.timeLimit(.minutes(60)), arguments: [SIGINT, SIGKILL])
    func `pull that ends early keeps what has come, status says so, and the next one continues`(
        _ signal: Int32
    ) throws {
        try place.add("3", ["index.html": "3", "large": Self.large])
        try place.publish("3")
        let origin = try served()
        let running = try Running(
            .castree, ["--store", "device", "pull", origin.url, "--limit-rate", "200K", "--json"],
            in: place.directory)
        // The small file and a part of the large one are there, or will be.
        try waitForStaged(atLeast: 300_000)
        let status = ["--store", "device", "status", "--json"]
        let during = try place.run(.castree, status).document(.status)
        expect(during.downloads.map(\.version), equals: ["3"])
        expect(during.downloads[0].stagedBytes.number >= 300_000)
        #if os(Linux)
            expect(during.downloads[0].fetched, equals: true)
        #endif
        running.signal(signal)
        let answer = try running.finished()
        expect(answer.status, equals: (signal == SIGKILL ? -SIGKILL : 130), "\(answer)")
        expect(answer.output.isEmpty)
        try expect(lifecycle().pending.isNull)
        // Whoever started it may repeat it; a day later, or since a clock that was ahead, nobody has.
        let after = try place.done(words: status)
        let left = try after.document(.status)
        expect(left.downloads[0].fetched == false && !left.downloads[0].at.isNull)
        let waits = try place.castree("--store", "device", "status").text.split(separator: "\n")
            .first { $0.hasPrefix("waits") }
        expect(waits?.contains("3 is missing "), equals: true, "\(waits ?? "")")
        expect(waits?.contains("; no download since 2"), equals: true, "\(waits ?? "")")
        let log = place.directory.appending(path: "device/events.jsonl")
        let events = try String(contentsOf: log, encoding: .utf8)
        for shift: Int64 in [-90_000, 400_000_000] {
            let moved = events.replacing(/"at":(\d+)/) { "\"at\":\((Int64($0.1) ?? 0) + shift)" }
            try Data(moved.utf8).write(to: log)
            let later = try place.run(.castree, status).document(.status)
            expect(later.problems.map(\.code), equals: ["stoppedDownload"], "\(shift)")
        }
        try Data(events.utf8).write(to: log)
        let again = try pull(origin.url, "--json").document(.pulled)
        expect(again.resumedBytes.number >= 300_000)
        expect(again.bytes.number + again.resumedBytes.number >= Self.large.utf8.count)
        expect(again.bytes.number <= Self.large.utf8.count + 1 - 300_000)
        try expect(origin.requests().filter { $0.contains(" bytes=") }.count, equals: 1)
        try place.done("--store", "device", "fsck", "--deep")
    }

    /// Waits until a file in the device's staging directory has so many bytes.
    private func waitForStaged(atLeast count: Int) throws {
        let staging = place.directory.appending(path: "device/staging").path
        let end = ContinuousClock.now + .seconds(300)
        while ContinuousClock.now < end {
            // It may not be there yet, or not any more.
            for path in (try? FileManager.default.subpathsOfDirectory(atPath: staging)) ?? [] {
                let size = try? FileManager.default.attributesOfItem(
                    atPath: staging + "/" + path)[.size]
                if let size = size as? Int, size >= count { return }
            }
        }
        Issue.record("nothing was staged")
    }

    @Test func `two pulls at once into one store both succeed`() throws {
        try place.publish("2")
        let origin = try served()
        let running = try (0..<2).map { _ in
            try Running(
                .castree, ["--store", "device", "pull", origin.url, "--json"], in: place.directory)
        }
        for program in running {
            try expect(program.finished().ended().document(.pulled).version, equals: "2")
        }
        try expect(lifecycle().pending, equals: "2")
        try place.done("--store", "device", "fsck", "--deep")
    }

    @Test func `pull into a place that cannot be written says so`() throws {
        try place.publish("1")
        try place.write(["file": ""], to: "taken")
        let answer = try place.ended(1, "--store", "taken/file/store", "pull", "site", "--json")
        try expect(answer.error().message.contains("taken/file"))
    }

    @Test func `without libcurl a directory is pulled from, and a server is not`() throws {
        try place.publish("1")
        let environment = try place.lacking(["libcurl.so.4"])
        let refused = try place.ended(
            1, "pull", "http://127.0.0.1:9", "--json", environment: environment)
        let said = try refused.error()
        expect(said.code, equals: "transport")
        expect(said.message.contains("libcurl") && said.message.contains("apt install libcurl4"))
        try place.ended(0, "--store", "other", "pull", "site", environment: environment)
    }

    @Test func `report tells what pulls have asked, planned, fetched and failed`() throws {
        try place.publish("1")
        let origin = try served()
        try expect(pull(origin.url).status, equals: 0)
        try expect(pull(origin.url).status, equals: 0)
        try expect(pull(origin.url, "--channel", "beta").status, equals: 3)
        let text = try place.castree("--store", "device", "report").text
        for sentence in [
            "version 1 is available", "version 1 would take 6 files",
            "began to download version 1", "download of version 1 finished: 6 files",
            "nothing new", "no answer",
        ] {
            expect(text.contains(sentence), "\(sentence) is not in \(text)")
        }
    }
}
