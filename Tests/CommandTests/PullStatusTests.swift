import Foundation
import ProgramTestSupport
import Testing

/// What `castree pull` ends with, so that cron need not alarm for everything; and who gets a release.
@Suite struct PullStatusTests {
    let place: Workplace

    init() throws {
        place = Workplace()
        try place.add("1", Release.first)
        try place.add("2", Release.second)
        try publish("1")
    }

    private func publish(_ arguments: String...) throws {
        let answer = try place.run(
            .castree, ["publish"] + arguments + ["site", "--no-sync", "--no-packs"])
        #expect(answer.status == 0, "\(answer)")
    }

    private func device(_ arguments: String...) throws -> Finished {
        try place.run(.castree, ["--store", "device"] + arguments)
    }

    /// Starts what waits and vouches for it.
    private func start() throws {
        let boot = try device("boot", "--json").document(BootDocument.self)
        #expect(try device("confirm", boot.version, "--token", boot.token).status == 0)
    }

    @Test func `an origin that is away is 23`() throws {
        for url in ["http://127.0.0.1:9/app", "http://nowhere.invalid/app"] {
            let answer = try device("pull", url, "--retries", "0", "--json")
            #expect(answer.status == 23, "\(answer)")
            #expect(try answer.error().code == "network")
        }
    }

    @Test func `a banned release is 20, and forgiven it is none`() throws {
        #expect(try device("pull", "site", "--activate").status == 0)
        try start()
        try publish("2")
        #expect(try device("pull", "site", "--activate").status == 0)
        #expect(try device("rollback").status == 0)
        let answer = try device("pull", "site", "--json")
        #expect(answer.status == 20, "\(answer)")
        #expect(try answer.error().code == "bannedVersion")
        #expect(try device("forgive", "2").status == 0)
        #expect(try device("pull", "site").status == 0)
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
        let answer = try device("pull", "site", "--retries", "0")
        #expect(answer.status == 22, "\(answer)")
    }

    @Test func `a mandatory release that waits is 25, and boot obeys it`() throws {
        #expect(try device("pull", "site").status == 0)
        // Version 1 has started, and nobody has confirmed it.
        let first = try device("boot", "--json").document(BootDocument.self)
        #expect(first.version == "1" && !first.mandatory)
        try publish("2", "--mandatory")
        let answer = try device("pull", "site", "--json")
        #expect(answer.status == 25, "\(answer)")
        #expect(answer.text.contains("\"mandatory\":true"))
        let again = try device("pull", "site")
        #expect(again.status == 25 && again.text.contains("mandatory"), "\(again)")
        let boot = try device("boot", "--json").document(BootDocument.self)
        #expect(boot.version == "2" && boot.mandatory && boot.rolledBackFrom == nil)
        #expect(try device("confirm", "2", "--token", boot.token).status == 0)
        #expect(try device("pull", "site").status == 0)
        // Version 1 was left before it could prove itself: neither good nor bad.
        let after: LifecycleDocument = try device("lifecycle", "--json").document()
        #expect(after.knownGood == ["2"] && after.bad.isEmpty)
        #expect(try !device("boot", "--json").document(BootDocument.self).mandatory)
    }

    @Test func `what replaces a mandatory release that was never shown is mandatory`() throws {
        #expect(try device("pull", "site", "--switch", "now").status == 0)
        try start()
        try publish("2", "--mandatory")
        #expect(try device("pull", "site").status == 25)
        try place.add("3", ["index.html": "three"])
        #expect(try place.castree("withdraw", "2", "site", "--no-sync").status == 0)
        try publish("3")
        #expect(try device("pull", "site").status == 25)
        #expect(try device("boot", "--json").document(BootDocument.self).mandatory)
    }

    @Test func `a group's release is for its devices, and of several groups one is enough`() throws
    {
        try publish("2", "--group", "testers", "--group", "staff")
        #expect(try device("pull", "site", "--json").text.contains("\"version\":\"1\""))
        for arguments in [["--group", "staff"], ["--app", "group=testers"]] {
            let answer = try place.run(
                .castree,
                ["--store", "device-\(arguments[1])", "pull", "site", "--json"] + arguments)
            #expect(answer.text.contains("\"version\":\"2\""), "\(answer)")
        }
        let channels = try place.castree("channels", "site", "--json").text
        #expect(channels.contains("group") && channels.contains("staff"))
    }

    @Test(arguments: [
        ["--require", "grup=beta"], ["--require", "minimumAppVersion=abc"],
        ["--require", "appVersionRange=later"], ["--require", "minimumNativeInterface=x"],
        ["--require", "compatibility="], ["--require", "group="],
    ])
    func `a requirement that no app could meet is refused with a sentence`(
        _ arguments: [String]
    ) throws {
        let answer = try place.run(.castree, ["publish", "2", "site"] + arguments)
        #expect(answer.status == 2, "\(answer)")
        #expect(answer.errors.contains("--require: "), "\(answer)")
    }

    @Test(arguments: [["--activate"], ["--keep"]])
    func `--switch excludes what says the same`(_ arguments: [String]) throws {
        let answer = try place.run(.castree, ["pull", "site", "--switch", "now"] + arguments)
        #expect(answer.status == 2, "\(answer)")
    }

    @Test func `a program reads lines: what is found, how far it is, and last the result`() throws {
        try place.add("4", ["index.html": "four", "large": PullTests.large])
        try publish("4")
        let answer = try device("pull", "site", "--json-lines", "--limit-rate", "2M")
        #expect(answer.status == 0, "\(answer)")
        let lines = answer.text.split(separator: "\n")
        let documents = try lines.map {
            try #require(
                JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        let offer = try #require(documents.first?["offer"] as? [String: Any])
        #expect(offer["version"] as? String == "4" && offer["mandatory"] as? Bool == false)
        #expect(documents.last?["version"] as? String == "4")
        #expect(documents.contains { $0["progress"] != nil })
    }
}
