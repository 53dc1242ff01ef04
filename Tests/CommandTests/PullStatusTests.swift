import ProgramTestSupport

/// What `castree pull` ends with, so that cron need not alarm for everything; and who gets a release.
@Suite struct PullStatusTests {
    let place: Workplace

    init() throws { place = try .offeringFirst() }

    /// Starts what waits and confirms it.
    private func start() throws {
        let boot = try place.device("boot", "--json").document(.boot)
        try expect(
            place.device("confirm", boot.version.text, "--token", boot.token.text).status, equals: 0
        )
    }

    @Test func `an origin that is away is 23`() throws {
        for url in ["http://127.0.0.1:9/app", "http://nowhere.invalid/app"] {
            let answer = try place.device("pull", url, "--retries", "0", "--json").ended(23)
            try expect(answer.error().code, equals: "network")
        }
    }

    @Test func `what is not in a directory is not there, whatever stands in its place`() throws {
        try place.write(["plain": "x"], to: ".")
        for origin in ["plain", "nowhere", "./site/origin.json"] {
            for words in [["pull", origin], ["channels", origin]] {
                let answer = try place.ended(3, words: ["--store", "device"] + words)
                expect(!answer.errors.contains("move it away"), "\(answer)")
            }
        }
        for name in ["manifests", "objects"] {
            let directory = place.directory.appending(path: "site/\(name)")
            let aside = place.directory.appending(path: "aside")
            try FileManager.default.moveItem(at: directory, to: aside)
            let answer = try place.device("pull", "site", "--retries", "0")
            expect(answer.status != 0 && answer.errors.contains("not"), "\(answer)")
            // Nobody answers.
            expect(!answer.errors.contains(" 404"), "\(answer)")
            try FileManager.default.moveItem(at: aside, to: directory)
        }
    }

    @Test func `a store draws its device once, and a roll-out that passes it over says so`() throws
    {
        try expect(place.device("pull", "site", "--activate").status, equals: 0)
        let file = place.directory.appending(path: "device/device.json")
        expect(!FileManager.default.fileExists(atPath: file.path))
        try place.publish("2", "--rollout", "0")
        let answer = try place.device("pull", "site", "--json")
        let passedOver = #""passedOver":[{"version":"2","perMille":0}]"#
        expect(answer.text.filter { !$0.isWhitespace }.contains(passedOver), "\(answer)")
        let drawn = try Data(contentsOf: file)
        try place.publish("2", "--rollout", "99.9")
        // One of a thousand stores draws an id that this misses.
        let second = try place.device("pull", "site", "--json")
        expect(second.text.filter { !$0.isWhitespace }.contains(#""version":"2""#), "\(second)")
        try expect(Data(contentsOf: file), equals: drawn)
        try expect(place.device("fsck").status, equals: 0)
    }

    @Test func `channels says whether a roll-out reaches this device`() throws {
        func told(_ arguments: String...) throws -> (text: String, reaches: JSON) {
            let words = ["channels", "site"] + arguments
            let text = try place.run(.castree, ["--store", "device"] + words).text
            let answer = try place.run(.castree, ["--store", "device"] + words + ["--json"])
            let offers = try answer.document(.channels)
            return (text, offers[0].releases[0].reachesDevice)
        }
        try place.publish("2", "--rollout", "0")
        // Nobody has drawn one yet, and asking draws none.
        let unknown = try told()
        expect(unknown.reaches.isNull && unknown.text.contains("--device ID tells"), "\(unknown)")
        expect(!place.exists("device"))
        // A name that cannot be read is no reason to say nothing of the origin.
        try expect(place.device("init", "--no-sync").status, equals: 0)
        try place.write(["device.json": String(repeating: " ", count: 5000)], to: "device")
        try expect(told().reaches.isNull)
        try FileManager.default.removeItem(at: place.directory.appending(path: "device"))
        try expect(place.device("pull", "site").status, equals: 0)
        let passedOver = try told()
        expect(
            passedOver.reaches == false && passedOver.text.contains("devices, not this one"),
            "\(passedOver)")
        try place.publish("2", "--rollout", "50")
        let named = try (0..<20).map { try told("--device", "kiosk-\($0)").reaches }
        expect(Set(named) == [true, false], "\(named)")
        try place.publish("2", "--rollout", "99.9")
        // One of a thousand stores draws an id that this misses.
        let reached = try told()
        expect(
            reached.reaches == true && reached.text.contains("devices, this one too"), "\(reached)")
        // It is what a pull of that device does.
        try expect(place.device("pull", "site", "--json").text.contains("\"version\":\"2\""))
        try place.publish("2")
        try expect(told().reaches.isNull)
    }

    @Test func `a banned release is 20, and unbanned it is none`() throws {
        try expect(place.device("pull", "site", "--activate").status, equals: 0)
        try start()
        try place.publish("2")
        try expect(place.device("pull", "site", "--activate").status, equals: 0)
        try expect(place.device("rollback").status, equals: 0)
        // A dry run says what a pull would, whether the version is here or its content alone is known.
        for name in ["2", "3"] {
            for more in [[], ["--dry-run"], ["--activate"], ["--activate", "--dry-run"]] {
                let answer = try place.run(
                    .castree, ["--store", "device", "pull", "site", "--json"] + more
                ).ended(20, in: "\(name), \(more)")
                try expect(answer.error().code, equals: "bannedVersion")
            }
            if name == "2" { try place.add("3", Release.second) }
            try place.publish("3")
        }
        try expect(place.device("pull", "site", "--force", "--dry-run").status, equals: 0)
        try expect(place.device("forgive", "2").status, equals: 0)
        try expect(place.device("pull", "site", "--dry-run").status, equals: 0)
        try expect(place.device("pull", "site").status, equals: 0)
    }

    @Test("what was taken back no longer waits, even while what is offered is banned here")
    func takenBack() throws {
        try expect(place.device("pull", "site", "--activate").status, equals: 0)
        try start()
        try place.add("3", ["index.html": "three"])
        try place.publish("3")
        try expect(place.device("pull", "site").status, equals: 0)
        try place.reject("3")
        try place.publish("2")
        try expect(place.device("pull", "site").status, equals: 0)
        // What another release has replaced is still there to be had.
        try place.publish("3")
        try expect(place.device("pull", "site").status, equals: 20)
        try expect(place.device("status").text.contains("is not taken: it is banned"))
        try expect(place.deviceLifecycle().pending, equals: "2")
        try place.withdraw("2")
        try expect(place.device("pull", "site").status, equals: 20)
        let after = try place.deviceLifecycle()
        expect(after.pending.isNull && after.current == "1")
        let log = try place.device("log").text
        expect(log.contains("version 2 is no longer pending"), "\(log)")
    }

    @Test func `bytes that are not what was promised are 22`() throws {
        let site = place.directory.appending(path: "site/objects")
        let files = try FileManager.default.subpathsOfDirectory(atPath: site.path)
        for path in files {
            let file = site.appending(path: path)
            var isDirectory: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: file.path, isDirectory: &isDirectory)
            guard !isDirectory.boolValue else { continue }
            let size = try Data(contentsOf: file).count
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o644], ofItemAtPath: file.path)
            try Data(repeating: 120, count: size).write(to: file)
        }
        try place.device("pull", "site", "--retries", "0").ended(22)
    }

    @Test func `a mandatory release that waits is 25, and boot obeys it`() throws {
        try expect(place.device("pull", "site").status, equals: 0)
        // Version 1 has started, and nobody has confirmed it.
        let first = try place.device("boot", "--json").document(.boot)
        expect(first.version == "1" && !first.mandatory)
        try place.publish("2", "--mandatory")
        let answer = try place.device("pull", "site", "--json").ended(25)
        expect(answer.text.contains("\"mandatory\":true"))
        let again = try place.device("pull", "site")
        expect(again.status == 25 && again.text.contains("mandatory"), "\(again)")
        let status = try place.device("status")
        expect(status.status == 0 && status.text.contains("2, mandatory"), "\(status)")
        try expect(place.device("status", "--json").text.contains("\"mandatory\":true"))
        let boot = try place.device("boot", "--json").document(.boot)
        expect(boot.version == "2" && boot.mandatory.isTrue && boot.rolledBackFrom.isNull)
        try expect(place.device("confirm", "2", "--token", boot.token.text).status, equals: 0)
        try expect(place.device("pull", "site").status, equals: 0)
        try expect(place.device("status", "--json").text.contains("\"mandatory\":false"))
        // Version 1 was left before it could prove itself: neither good nor bad.
        let after = try place.device("lifecycle", "--json").document(.lifecycle)
        expect(after.knownGood == ["2"] && after.bad.isEmpty)
        try expect(!place.device("boot", "--json").document(.boot).mandatory)
    }

    @Test func `what replaces a mandatory release that was never shown is mandatory`() throws {
        try expect(place.device("pull", "site", "--switch", "now").status, equals: 0)
        try start()
        try place.publish("2", "--mandatory")
        try expect(place.device("pull", "site").status, equals: 25)
        try place.add("3", ["index.html": "three"])
        try place.withdraw("2")
        try place.publish("3")
        try expect(place.device("pull", "site").status, equals: 25)
        try expect(place.device("boot", "--json").document(.boot).mandatory.isTrue)
    }

    @Test(arguments: [["2"], ["2", "1"]])
    func `a mandatory release that was taken back makes none mandatory that comes later`(
        _ withdrawn: [String]
    ) throws {
        try expect(place.device("pull", "site", "--switch", "now").status, equals: 0)
        try start()
        try place.publish("2", "--mandatory")
        try expect(place.device("pull", "site").status, equals: 25)
        for version in withdrawn { try place.withdraw(version) }
        try expect(place.device("pull", "site").status, equals: 0)
        expect(!place.exists("device/owed.json"))
        try place.add("3", ["index.html": "three"])
        try place.publish("3")
        try expect(place.device("pull", "site").status, equals: 0)
        try expect(!place.device("boot", "--json").document(.boot).mandatory.isTrue)
    }

    @Test func `a group's release is for its devices, and of several groups one is enough`() throws
    {
        try place.publish("2", "--group", "testers", "--group", "staff")
        try expect(place.device("pull", "site", "--json").text.contains("\"version\":\"1\""))
        for arguments in [["--group", "staff"], ["--app", "group=testers"]] {
            let answer = try place.run(
                .castree,
                ["--store", "device-\(arguments[1])", "pull", "site", "--json"] + arguments)
            expect(answer.text.contains("\"version\":\"2\""), "\(answer)")
        }
        let channels = try place.castree("channels", "site", "--json").text
        expect(channels.contains("group") && channels.contains("staff"))
    }

    @Test(arguments: [
        ["--require", "grup=beta"], ["--require", "minimumAppVersion=abc"],
        ["--require", "appVersionRange=later"], ["--require", "minimumNativeInterface=x"],
        ["--require", "compatibility="], ["--require", "group="],
    ])
    func `a requirement that no app could meet is refused with a sentence`(
        _ arguments: [String]
    ) throws {
        try place.ended(2, "publish", "2", "site", words: arguments, saying: "--require: ")
    }

    @Test(arguments: [["--activate"], ["--keep"]])
    func `--switch excludes what says the same`(_ arguments: [String]) throws {
        try place.ended(2, "pull", "site", "--switch", "now", words: arguments)
    }

    @Test func `a program reads lines: what is found, how far it is, and last the result`() throws {
        try place.add("4", ["index.html": "four", "large": PullTests.large])
        try place.publish("4")
        let answer = try place.device("pull", "site", "--json-lines", "--limit-rate", "2M").ended()
        let lines = answer.text.split(separator: "\n")
        let documents = try lines.map {
            try require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        let offer = try require(documents.first?["offer"] as? [String: Any])
        expect(offer["version"] as? String == "4" && offer["mandatory"] as? Bool == false)
        expect(documents.last?["version"] as? String == "4")
        expect(documents.contains { $0["progress"] != nil })
    }
}
