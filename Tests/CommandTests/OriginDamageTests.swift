import ProgramTestSupport

/// What one system is told is damaged: the others know nothing of it.
@Suite struct OriginDamageTests {
    let place: Workplace

    init() throws {
        place = Workplace()
        for version in ["1", "2", "3"] {
            try place.add(version, ["index.html": "<h1>\(version)</h1>"])
        }
        for version in ["1", "2"] {
            try place.castree("publish", version, "site", "--no-sync", "--no-packs")
        }
        for (system, name) in [("codepush", "KEY"), ("chcp", "web")] {
            try place.enable(system, "\(name)=stable")
        }
    }

    private func damage(_ path: String) throws {
        try place.write(["site/\(path)": "{\"half\":"], to: ".")
    }

    private func serve() throws -> Served { try Served(origin: "site", place) }

    private static let check =
        "/v0.1/public/codepush/update_check?deployment_key=KEY&app_version=1.0.0"

    private func statuses(_ served: Served) throws -> [Int] {
        try [Self.check, "/for/chcp/web/chcp.json"].map { try served.get($0, [:]).status }
    }

    @Test func `a server starts with a damaged configuration, says so, and sees it mended`() throws
    {
        let path = "for/codepush/config.json"
        let sound = try place.contents("site/\(path)")
        try damage(path)
        let served = try serve()
        expect(served.ready.hasSuffix("to clients of chcp\n"), "\(served.ready)")
        try expect(statuses(served), equals: [503, 200])
        let status = try place.ended(1, "origin", "status", "site")
        expect(status.text.contains("  no answers: \(path) differs from the log"), "\(status)")
        expect(status.text.contains("chcp: http://u.example.org\n"), "\(status)")
        try place.write(["site/\(path)": sound], to: ".")
        try expect(statuses(served), equals: [200, 200])
        try expect(place.run(.castree, ["origin", "status", "site"]).status, equals: 0)
        let errors = try served.end().ended(saying: path).errors
        expect(errors.contains("castree fsck --repair writes it again from the log"), "\(errors)")
    }

    @Test(
        arguments: [
            ["publish", "3", "site", "--no-packs"], ["withdraw", "2", "site"], ["prune", "site"],
            ["origin", "enable", "site", "codepush"], ["origin", "enable", "site", "chcp"],
        ], ["stable", "config"])
    func `what is damaged holds nothing up, and every command writes it again`(
        _ words: [String], _ name: String
    ) throws {
        let path = "for/codepush/\(name).json"
        try damage(path)
        let served = try serve()
        try expect(statuses(served), equals: [503, 200])
        let status = try place.run(.castree, ["origin", "status", "site", "--json"])
        expect(status.status == 1 && status.text.contains(#""code":"badClients""#), "\(status)")
        try place.done(words: words + ["--no-sync"])
        try expect(place.run(.castree, ["origin", "status", "site"]).status, equals: 0)
        try expect(statuses(served), equals: [200, 200])
        let newest = ["publish": "3", "withdraw": "1"][words[0]] ?? "2"
        try expect(served.get(Self.check, [:]).body.contains(#""description":"\#(newest)""#))
        try expect(
            served.get("/for/chcp/web/chcp.json", [:]).body.contains(#""release":"\#(newest)""#))
        _ = try served.end()
    }

    @Test(
        "a lost history is no answer that there is no update, also of a channel that was there before"
    )
    func lostHistory() throws {
        try place.castree(
            "publish", "2", "site", "--channel", "beta", "--no-sync", "--no-packs")
        try place.castree(
            "origin", "enable", "site", "chcp", "--deployment", "test=beta", "--no-sync")
        let files = FileManager.default
        let served = try serve()
        for (path, request) in [
            ("codepush/stable.json", Self.check), ("chcp/beta.json", "/for/chcp/test/chcp.json"),
        ] {
            try expect(served.get(request, [:]).status, equals: 200)
            try files.removeItem(at: place.directory.appending(path: "site/for/\(path)"))
            for _ in 1...2 { try expect(served.get(request, [:]).status, equals: 503) }
            try expect(served.get("/for/chcp/web/chcp.json", [:]).status, equals: 200)
            try place.ended(1, "origin", "status", "site")
            _ = try place.run(.castree, ["fsck", "site", "--repair"])
            try expect(served.get(request, [:]).status, equals: 200)
        }
        // Where the log is not, nothing is known to be lost.
        try files.removeItem(at: place.directory.appending(path: "site/for/chcp/beta.json"))
        try files.removeItem(at: place.directory.appending(path: "site/log"))
        try expect(served.get("/for/chcp/test/chcp.json", [:]).status, equals: 404)
        try served.end().ended(saying: "has lost for/codepush/stable.json")
    }

    @Test(arguments: [false, true])
    func `a document that is lost or cut is no answer that there is no update`(
        _ isCut: Bool
    ) throws {
        try place.enable("hot-updater", "ios/production=stable")
        let zero = "00000000-0000-0000-0000-000000000000"
        let check = "/for/hot-updater/app-version/ios/1.0.0/production/\(zero)/\(zero)"
        let served = try serve()
        try expect(served.get(check, [:]).status, equals: 200)
        _ = try served.end()
        let folder = "site/for/hot-updater/documents"
        let directory = place.directory.appending(path: folder)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        try require(!names.isEmpty)
        for name in names {
            try FileManager.default.removeItem(at: directory.appending(path: name))
            if isCut { try place.write([name: "{"], to: folder) }
        }
        let again = try serve()
        try expect(again.get(check, [:]).status, equals: 503)
        try expect(statuses(again), equals: [200, 200])
        let status = try place.ended(1, "origin", "status", "site")
        expect(status.text.contains("lost a document of hot-updater"), "\(status)")
        try place.done("publish", "2", "site", "--verify", "--no-sync", "--no-packs")
        try expect(again.get(check, [:]).status, equals: 200)
        try place.ended(0, "origin", "status", "site")
        _ = try again.end()
    }

    @Test(arguments: ["for/codepush/config.json", "channels/stable.json"])
    func `a lost configuration or pointer is no answer that there is no update`(
        _ path: String
    ) throws {
        let lost = path.hasPrefix("for/") ? [503, 200] : [503, 503]
        let file = place.directory.appending(path: "site/\(path)")
        let served = try serve()
        try expect(statuses(served), equals: [200, 200])
        try FileManager.default.removeItem(at: file)
        for _ in 1...2 { try expect(statuses(served), equals: lost) }
        let later = try serve()
        try expect(statuses(later), equals: lost)
        _ = try later.end()
        try place.ended(1, "origin", "status", "site")
        try place.ended(1, "fsck", "site", "--repair")
        try expect(statuses(served), equals: [200, 200])
        // Nobody misses what a system was told that has ended.
        try place.castree("origin", "enable", "site", "codepush", "--disable", "--no-sync")
        try FileManager.default.removeItem(
            at: place.directory.appending(path: "site/for/codepush/config.json"))
        try expect(statuses(served), equals: [404, 200])
        try served.end().ended(saying: "has lost \(path)")
    }

    @Test func `channels names a channel whose pointer is lost, and what to do`() throws {
        try place.castree("publish", "2", "site", "--channel", "beta", "--no-sync", "--no-packs")
        let path = place.directory.appending(path: "site/channels")
        for (name, status) in [("beta", 0), ("stable", 3)] as [(String, Int32)] {
            try FileManager.default.removeItem(at: path.appending(path: "\(name).json"))
            let listed = try place.ended(
                status, "channels", "site", saying: "lost channels/\(name).json")
            expect(listed.errors.contains("castree fsck --repair"), "\(listed)")
            expect(listed.text.contains("stable"), equals: status == 0)
        }
        try place.ended(3, "channels", "site/channels/beta.json", saying: "lost channels/beta.json")
        try place.ended(1, "fsck", "site", "--repair")
        try expect(place.castree("channels", "site").text.contains("beta"))
    }

    @Test(arguments: ["channels/stable.json", "origin.json"], [true, false])
    func `a lost file on which all clients depend is said`(_ path: String, _ isGone: Bool) throws {
        try expect(place.run(.castree, ["origin", "status", "site"]).status, equals: 0)
        try damage(path)
        if isGone {
            try FileManager.default.removeItem(at: place.directory.appending(path: "site/\(path)"))
        }
        let status = try place.ended(1, "origin", "status", "site")
        let said = "  no answers: \(path) differs from the log"
        expect(status.text.split(separator: said).count, equals: 3, "\(status)")
        try place.done("publish", "3", "site", "--no-packs", "--no-sync")
        try expect(place.run(.castree, ["origin", "status", "site"]).status, equals: 0)
    }

    @Test(
        "what describes an offered release is lost: no client is told that there is no update",
        arguments: ["facts", "manifests"], [true, false])
    func lostDocuments(_ kind: String, _ isAll: Bool) throws {
        try place.enable("hot-updater", "ios/production=stable")
        let archive = try require(
            served(Self.check).body.split(separator: "\"").first { $0.hasSuffix(".zip") })
        let path = try require(archive.split(separator: "org").last).description
        let ids = "00000000-0000-0000-0000-000000000000"
        let requests = [
            Self.check, path, "/for/hot-updater/app-version/ios/1.0.0/production/\(ids)/\(ids)",
        ]
        for request in requests { try expect(served(request).status, equals: 200, "\(request)") }
        let directory = place.directory.appending(path: "site/\(kind)")
        let files = FileManager.default
        // The newest release, or all of them.
        let names = try files.contentsOfDirectory(atPath: directory.path)
        let key = kind == "facts" ? "facts" : "manifest"
        let newest = try require(try place.release()[key] as? String)
        for name in names where isAll || name.hasPrefix(newest) {
            try files.removeItem(at: directory.appending(path: name))
        }
        if isAll { try files.removeItem(at: directory) }
        for request in requests {
            let answer = try served(request)
            expect(answer.status, equals: 503, "\(request): \(answer)")
        }
        let status = try place.run(.castree, ["origin", "status", "site"])
        expect(status.status == 1 && status.text.contains("\(kind)/\(newest)"), "\(status)")
        try place.castree("publish", "2", "site", "--verify", "--no-packs", "--no-sync")
        for request in requests { try expect(served(request).status, equals: 200, "\(request)") }
    }

    /// What a new server answers.
    private func served(_ request: String) throws -> (status: Int, body: String) {
        let served = try serve()
        let answer = try served.get(request, [:])
        let ended = try served.end()
        expect(answer.status == 200 || ended.errors.contains("has lost"), "\(ended)")
        return (answer.status, answer.body)
    }
}
