import ProgramTestSupport

/// What publishing says and refuses where clients of other systems are told, and who may ask for it.
@Suite struct ClientPublishingTests {
    let place: Workplace

    init() throws {
        place = try Workplace(adding: "1.0.0", ["index.html": "one", "index.ios.bundle": "ios"])
        try place.add("2.0.0", ["index.html": "two", "index.ios.bundle": "ios 2"])
    }

    private static let deployments = [
        "codepush": "KEY=stable", "hot-updater": "ios/production=stable", "expo": "=stable",
        "capgo": "com.example=stable", "chcp": "web=stable", "meteor": "web=stable",
    ]

    private func enable(_ system: String, of origin: String) throws {
        try place.enable(system, require(Self.deployments[system]), of: origin)
    }

    private func publish(_ version: String, _ origin: String, _ more: [String]) throws -> Finished {
        try place.run(.castree, ["publish", version, origin, "--no-sync", "--no-packs"] + more)
    }

    private func pointer(_ origin: String) throws -> String {
        try place.contents("\(origin)/channels/stable.json")
    }

    @Test(
        "A system that cannot have a release is warned of, and with --strict nobody is offered it")
    func warned() throws {
        for system in Self.deployments.keys.sorted() {
            let origin = "of-\(system)"
            expect(try publish("1.0.0", origin, []).status, equals: 0)
            try enable(system, of: origin)
            let before = try pointer(origin)
            // No client of any of them says this of itself.
            let more = ["--require", "fingerprint=k", "--require", "compatibility=k"]
            for dry in [[], ["--dry-run"]] {
                let strict = try publish("2.0.0", origin, more + ["--strict"] + dry)
                expect(strict.status != 0, "\(system): \(strict)")
                expect(strict.errors.contains("--strict") && strict.errors.contains(system))
                try expect(pointer(origin), equals: before)
            }
            let published = try publish("2.0.0", origin, more).ended(in: "\(system)")
            expect(
                published.errors.contains("warning")
                    && published.errors.contains(
                        "version 2.0.0 is not offered to the clients of \(system): "),
                "\(system): \(published)")
            try expect(pointer(origin) != before)
        }
    }

    @Test func `A smaller share than before is refused, until the version is withdrawn`() throws {
        for system in ["capgo", "codepush", "hot-updater"] {
            let origin = "of-\(system)"
            expect(try publish("1.0.0", origin, []).status, equals: 0)
            try enable(system, of: origin)
            for (share, isTaken) in [
                ("20", true), ("50", true), ("40", false), ("0", false), ("100", true),
                ("99", false),
            ] {
                for dry in [["--dry-run"], []] {
                    let outcome = try publish("2.0.0", origin, ["--rollout", share] + dry)
                    expect((outcome.status == 0) == isTaken, "\(system) \(share): \(outcome)")
                    expect(isTaken || outcome.errors.contains("withdraw"), "\(outcome)")
                }
            }
            try place.done("withdraw", "2.0.0", origin, "--no-sync")
            expect(try publish("2.0.0", origin, ["--rollout", "10"]).status, equals: 0)
        }
        // Castree's own devices go by what is offered now.
        for share in ["50", "10"] {
            expect(try publish("2.0.0", "own", ["--rollout", share]).status, equals: 0)
        }
    }

    /// A candidate for some clients, then the same files under their final name for all.
    private func finish(_ origin: String, _ keys: [String] = []) throws {
        try place.add("2.0.0-rc1", ["index.html": "two", "index.ios.bundle": "ios 2"])
        try publish("1.0.0", origin, keys).ended()
        try place.done(
            "origin", "enable", origin, "codepush", "--base-url", "http://u.example.org",
            "--deployment", "KEY=stable", "--no-sync", words: keys)
        try publish("2.0.0-rc1", origin, keys + ["--rollout", "10"]).ended()
        try publish("2.0.0", origin, keys).ended()
    }

    @Test func `A candidate whose files all were offered since stops no later command`() throws {
        for name in ["a.key", "b.key"] { try place.done("key", "new", name) }
        let (old, new) = (["--sign-key", "a.key"], ["--sign-key", "b.key"])
        try finish("origin", old)
        try place.done(
            "pack", "2.0.0", "origin", "--no-sync", words: old)
        try place.done("resign", "origin", "--valid-for", "30d", "--no-sync", words: old)
        try place.add("3.0.0", ["index.html": "three", "index.ios.bundle": "ios 3"])
        for dry in [["--dry-run"], []] { try publish("3.0.0", "origin", old + dry).ended() }
        try place.done(
            "trust", "rotate", "origin", "--add", "b.key.pub", "--remove", "a.key.pub", "--no-sync",
            words: old + new)
        try publish("1.0.0", "origin", new).ended()
        // A smaller share of what all were offered, under whatever name.
        let narrowed = try publish("2.0.0-rc1", "origin", new + ["--rollout", "20"])
        expect(narrowed.status == 1 && narrowed.errors.contains("withdraw"), "\(narrowed)")
    }

    @Test func `A release for some systems stays theirs until it is published again`() throws {
        try place.done("key", "new", "a.key")
        let key = ["--sign-key", "a.key"]
        try publish("1.0.0", "origin", key).ended()
        for system in ["codepush", "capgo"] {
            try place.done(
                "origin", "enable", "origin", system, "--base-url", "http://u.example.org",
                "--deployment", require(Self.deployments[system]), "--no-sync", words: key)
        }
        try publish("2.0.0", "origin", key + ["--for", "capgo"]).ended()
        try place.add("3.0.0", ["index.html": "three", "index.ios.bundle": "ios 3"])
        func isOffered(_ system: String) throws -> Bool {
            try place.contents("origin/for/\(system)/stable.json").contains(#""2.0.0""#)
        }
        for verb in [
            ["pack", "2.0.0", "origin"], ["resign", "origin"], ["publish", "3.0.0", "origin"],
            ["withdraw", "3.0.0", "origin"], ["withdraw", "1.0.0", "origin"],
        ] {
            try place.done(words: verb + key + ["--no-sync"])
            try expect(isOffered("capgo") && !isOffered("codepush"), "\(verb)")
        }
        try publish("2.0.0", "origin", key).ended()
        try expect(isOffered("codepush"))
    }

    @Test func `A release that a signed system was left out of stops only itself`() throws {
        for name in ["a.key", "b.key"] { try place.done("key", "new", name) }
        expect(try place.shell("openssl genrsa -out rsa.pem 2048").status, equals: 0)
        let (old, new) = (["--sign-key", "a.key"], ["--sign-key", "b.key"])
        try publish("1.0.0", "origin", old).ended()
        for (system, more) in [("codepush", ["--client-key", "codepush=rsa.pem"]), ("capgo", [])] {
            try place.done(
                "origin", "enable", "origin", system, "--base-url", "http://u.example.org",
                "--deployment", require(Self.deployments[system]), "--no-sync", words: old + more)
        }
        try publish("2.0.0", "origin", old + ["--for", "capgo"]).ended()
        try place.done("resign", "origin", "--no-sync", words: old)
        try place.done(
            "trust", "rotate", "origin", "--add", "b.key.pub", "--remove", "a.key.pub", "--no-sync",
            words: old + new)
        try place.done("withdraw", "1.0.0", "origin", "--no-sync", words: new)
        let unsigned = try publish("2.0.0", "origin", new)
        expect(
            unsigned.status == 1 && unsigned.errors.contains("--client-key"), "\(unsigned)")
        try publish("2.0.0", "origin", new + ["--client-key", "codepush=rsa.pem"]).ended()
    }

    @Test func `A withdrawal takes the same files back under every name`() throws {
        try finish("origin")
        func answers(_ more: String) throws -> [String] {
            try (1...10).map {
                try place.done(
                    "origin", "answer", "origin", "GET",
                    "/v0.1/public/codepush/update_check?deployment_key=KEY&app_version=1.0.0"
                        + "&client_unique_id=u\($0)\(more)"
                ).text
            }
        }
        let last = try require(answers("").first?.components(separatedBy: #"package_hash":""#).last)
        let hash = try require(last.components(separatedBy: "\"").first)
        let withdrawn = try place.done("withdraw", "2.0.0", "origin", "--no-sync")
        expect(withdrawn.text.contains("version 1.0.0 is offered first"), "\(withdrawn)")
        expect(withdrawn.errors.contains("version 2.0.0-rc1"), "\(withdrawn)")
        for answer in try answers("&package_hash=\(hash)&label=v2") + answers("") {
            expect(answer.contains(#""is_available":true"#) && !answer.contains(hash), "\(answer)")
        }
        try place.ended(3, "withdraw", "2.0.0-rc1", "origin", "--no-sync")
    }

    @Test(
        "Other terms for some systems alone are refused where others were offered the same version")
    func otherTerms() throws {
        expect(try publish("1.0.0", "origin", []).status, equals: 0)
        for system in ["capgo", "codepush"] { try enable(system, of: "origin") }
        expect(try publish("2.0.0", "origin", []).status, equals: 0)
        let before = try pointer("origin")
        for dry in [["--dry-run"], []] {
            let refused = try publish("2.0.0", "origin", ["--mandatory", "--for", "capgo"] + dry)
            expect(refused.status != 0 && refused.errors.contains("codepush"), "\(refused)")
        }
        try expect(pointer("origin"), equals: before)
        for terms in [["--for", "capgo"], ["--mandatory", "--for", "capgo,codepush"], []] {
            expect(try publish("2.0.0", "origin", terms).status, equals: 0, "\(terms)")
        }
        // What they were never offered is taken back from nobody.
        try place.add("3.0.0", ["index.html": "three", "index.ios.bundle": "ios 3"])
        for terms in [[], ["--mandatory"]] {
            try publish("3.0.0", "origin", terms + ["--for", "capgo"]).ended()
        }
    }

    @Test("Pages of any origin may ask all routes of systems in web views, and read errors")
    func crossOrigin() throws {
        expect(try publish("1.0.0", "origin", []).status, equals: 0)
        for system in ["capgo", "chcp", "codepush", "hot-updater"] {
            try enable(system, of: "origin")
        }
        let routes = [
            "/v0.1/public/codepush/update_check?deployment_key=KEY&app_version=1.0.0",
            "/v0.1/public/codepush/update_check", "/updateCheck?deploymentKey=NO&appVersion=1.0.0",
            "/v0.1/public/codepush/report_status/deploy",
            "/v0.1/public/codepush/report_status/download", "/reportStatus/deploy",
            "/reportStatus/download", "/for/codepush/archives/no.zip", "/for/capgo/updates",
            "/for/capgo/stats", "/for/capgo/channel_self", "/for/chcp/web/chcp.json",
            "/for/chcp/none", "/for/meteor/web/__cordova/manifest.json",
        ]
        for route in routes {
            for method in ["OPTIONS", "GET", "POST", "PATCH"] {
                let answer = try place.castree(
                    "origin", "answer", "origin", method, route, "--header", "origin: null",
                    "--header", "access-control-request-headers: x-codepush-sdk-version"
                ).text.lowercased()
                expect(
                    answer.contains("access-control-allow-origin: *"),
                    "\(method) \(route): \(answer)"
                )
                guard method == "OPTIONS" else { continue }
                expect(
                    answer.hasPrefix("http/1.1 204")
                        && answer.contains("access-control-allow-headers: x-codepush-sdk-version"),
                    "\(route): \(answer)")
            }
        }
        let native = try place.castree(
            "origin", "answer", "origin", "GET", "/for/hot-updater/x", "--header", "origin: null")
        expect(!native.text.lowercased().contains("access-control"))
    }
}
