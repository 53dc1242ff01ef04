import ProgramTestSupport

@Suite struct SigningTests {
    let place: Workplace

    init() throws {
        place = Workplace(inMemory: true)
        try place.add("1", Release.first)
        try place.add("2", Release.second)
    }

    /// Makes a key; returns its id.
    private func makeKey(_ name: String) throws -> String {
        let made = try place.done("key", "new", name, "--json")
        return try made.document(.key).key.text
    }

    private func publish(
        _ arguments: String..., environment: [String: String] = [:]
    ) throws -> Finished {
        try place.run(
            .castree, ["publish"] + arguments + ["--no-sync", "--no-packs", "--json"],
            environment: environment)
    }

    private func signers(_ finished: Finished) throws -> [String] {
        expect(finished.status, equals: 0, "\(finished)")
        return try finished.document(.signatures).signedBy.map(\.text)
    }

    /// Whether OpenSSL takes the signature of the pointer, by docs/origin-format.md.
    private func isVerified(by key: String) throws -> Bool {
        var pointer = try place.pointer()
        let all = try require(pointer.removeValue(forKey: "signatures") as? [[String: String]])
        let signature = try require(Data(base64Encoded: all.first?["signature"] ?? ""))
        // RFC 8785, for names and texts in ASCII and whole numbers.
        let canonical = try JSONSerialization.data(
            withJSONObject: pointer, options: [.sortedKeys, .withoutEscapingSlashes])
        try (Data("castree-pointer 1\n".utf8) + canonical).write(to: place.url("signed"))
        try signature.write(to: place.url("signature"))
        let said = try place.shell(
            "openssl pkeyutl -verify -rawin -pubin -inkey \(key) -in signed -sigfile signature")
        return said.status == 0 && said.text.contains("Verified Successfully")
    }

    @Test func `a key is made in two files, shown, and never written over`() throws {
        let id = try makeKey("release.key")
        let modes = try ["release.key", "release.key.pub"].map {
            try FileManager.default.attributesOfItem(
                atPath: place.directory.appending(path: $0).path)[.posixPermissions] as? Int
        }
        expect(modes, equals: [0o600, 0o644])
        let shown = try place.castree("key", "show", "release.key")
        try expect(shown.text, equals: place.contents("release.key.pub"))
        expect(shown.errors.contains(id))
        try expect(place.castree("key", "show", "release.key.pub").text, equals: shown.text)
        try expect(place.castree("key", "show", "nope").status, equals: 3)
        try place.ended(1, "key", "new", "release.key", saying: "keys are never overwritten")
        try FileManager.default.removeItem(at: place.directory.appending(path: "release.key"))
        let beside = try place.castree("key", "new", "release.key")
        expect(beside.status == 1 && !place.exists("release.key"))
    }

    @Test("a release is signed by the keys that the command line or the variable names")
    func namedKeys() throws {
        let (one, two) = (try makeKey("one.key"), try makeKey("two.key"))
        try expect(signers(publish("1", "site", "--sign-key", "one.key")), equals: [one])
        try expect(isVerified(by: "one.key.pub") && !isVerified(by: "two.key.pub"))
        let both = try publish(
            "2", "site", "--sign-key", "one.key", "--sign-key", "two.key", "--trust", "one.key.pub")
        try expect(signers(both), equals: [one, two].sorted())
        let withdrawn = try place.castree(
            "withdraw", "2", "site", "--sign-key", "one.key", "--sign-key", "two.key",
            "--valid-for", "30d", "--json")
        try expect(signers(withdrawn), equals: [one, two].sorted())
        try expect(!withdrawn.document(.signatures).expiresAt.isNull)
        let byVariable = try publish("1", "other", environment: ["CASTREE_SIGN_KEY": "one.key"])
        try expect(signers(byVariable), equals: [one])
        let shown = try place.castree("channels", "other")
        expect(shown.text.contains("says it is signed by key \(one) (not verified)"))
        let usage = try place.castree("du", "other")
        expect(usage.text.contains("stable: says it is signed by key \(one) (not verified)"))
        let unsigned = try publish(
            "2", "other", "--unsigned", environment: ["CASTREE_SIGN_KEY": "one.key"])
        try expect(signers(unsigned), equals: [])
    }

    @Test func `what is not trusted ends with status 22, and what helps is said`() throws {
        _ = try makeKey("one.key")
        _ = try makeKey("two.key")
        try expect(publish("1", "site").status, equals: 0)
        let refusals = [
            (["2", "site", "--sign-key", "one.key"], "--adopt"),
            (["1", "site", "--sign-key", "one.key"], "--adopt"),
            (["2", "signed"], "--unsigned"),
            (["2", "signed", "--sign-key", "two.key"], "--trust"),
        ]
        try expect(publish("1", "signed", "--sign-key", "one.key").status, equals: 0)
        for (arguments, remedy) in refusals {
            let refused = try place.ended(
                22, "publish", words: arguments + ["--no-sync", "--no-packs", "--json"])
            let error = try refused.error()
            expect(error.code == "untrusted" && error.message.contains(remedy), "\(error)")
            try place.ended(
                22, "publish", words: arguments + ["--dry-run", "--no-packs", "--json"])
        }
        try expect(publish("2", "site", "--sign-key", "one.key", "--adopt").status, equals: 0)
        for arguments in [
            ["--valid-for", "3d"], ["--origin-id", String(repeating: "0", count: 32)],
            ["--sign-command", "true"], ["--sign-key", "one.key", "--valid-for", "0s"],
            ["--sign-key", "one.key", "--sign-key", "one.key"],
            ["--sign-key", "one.key", "--origin-id", "x"],
        ] {
            try place.ended(2, words: ["publish", "2", "site"] + arguments)
        }
    }

    /// What a key service does: signs what stands on its standard input.
    private static let signing = """
        cat > to-sign && openssl pkeyutl -sign -rawin -inkey one.key -in to-sign | base64 -w 40
        """

    @Test func `a command signs in the place of a key, and its failures are told`() throws {
        let one = try makeKey("one.key")
        _ = try makeKey("two.key")
        let signed = try publish(
            "1", "site", "--sign-command", Self.signing, "--sign-command-key", "one.key.pub")
        try expect(signers(signed), equals: [one])
        let verified = try place.castree("resign", "site", "--sign-key", "one.key", "--json")
        try expect(verified.document(.resigned).channels.map(\.signedBy), equals: [[one]])
        // A parent may ignore the ends of children, and whoever it starts inherits that.
        let castree = ProgramUnderTest.castree.url.path
        try place.run(
            .shell,
            [
                "-c",
                """
                exec env --ignore-signal=CHLD '\(castree)' resign site --sign-command-key one.key.pub \
                    --sign-command "$1"
                """, "sh", Self.signing,
            ]
        ).ended()
        let before = try place.contents("site/channels/stable.json")
        let failures = [
            ("exit 3", "ended with status 3"), ("kill -9 $$", "was ended by a signal"),
            ("exec sleep 100", "did not end within --sign-timeout"),
            ("exec >&-; exec sleep 100", "did not end within --sign-timeout"),
            ("echo hello", "not a signature"), ("cat /dev/zero", "answered more than"),
            (":", "answered 0 bytes"), ("PIN=1234 false", "ended with status 1"),
        ]
        for (command, problem) in failures {
            let failed = try publish(
                "2", "site", "--sign-command", command, "--sign-command-key", "one.key.pub",
                "--sign-timeout", "300ms")
            let error = try failed.error()
            expect(failed.status == 1 && error.code == "signingFailed", "\(error)")
            expect(error.message.contains(problem), "\(error)")
            // It may hold a PIN, and logs keep messages.
            expect(!error.message.contains(command) || command == ":", "\(error)")
            expect(error.message.contains("key \(one)"), "\(error)")
        }
        // What it leaves behind, with its output open, is not waited for. (This test waits for it: it has inherited what
        // tells the test of castree's end.)
        for command in ["sleep 4 2> /dev/null & exit 4", "setsid sleep 4 2> /dev/null & exit 4"] {
            let failed = try publish(
                "2", "site", "--sign-command", command, "--sign-command-key", "one.key.pub",
                "--sign-timeout", "2s")
            try expect(failed.error().message.contains("ended with status 4"), "\(failed)")
        }
        // Its key is another one than it was said to be.
        let other = try publish(
            "2", "site", "--sign-command", Self.signing, "--sign-command-key", "two.key.pub",
            "--trust", "one.key.pub")
        try expect(other.error().code, equals: "badKey")
        try expect(place.contents("site/channels/stable.json"), equals: before)
    }

    @Test func `keys are changed, and every channel is signed by the new ones`() throws {
        let one = try makeKey("one.key")
        let two = try makeKey("two.key")
        for channel in ["stable", "beta"] {
            let published = try publish("1", "site", "--channel", channel, "--sign-key", "one.key")
            try expect(signers(published), equals: [one])
        }
        // Who must sign besides is named, and how.
        for (keys, missing) in [(["one.key"], two), (["two.key"], nil)] as [([String], String?)] {
            let lacking = try place.run(
                .castree,
                ["trust", "rotate", "site", "--add", "two.key.pub", "--remove", one]
                    + keys.flatMap { ["--sign-key", $0] })
            expect(lacking.status != 0 && lacking.errors.contains("--sign-key"), "\(lacking)")
            expect(lacking.errors.contains(missing ?? "version before"), "\(lacking)")
            expect(!lacking.errors.contains("trust/2.json"), "\(lacking)")
            expect(!place.exists("site/trust/2.json"))
        }
        let rotated = try place.done(
            "trust", "rotate", "site", "--add", "two.key.pub", "--remove", one, "--sign-key",
            "one.key", "--sign-key", "two.key", "--json")
        let document = try rotated.document(.rotated)
        expect(document.version == 2 && document.keys == [two] && document.threshold == 1)
        expect(document.channels.map(\.signedBy), equals: [[two], [two]])
        expect(document.channels.map(\.trustVersion), equals: [2, 2])
        expect(place.exists("site/trust/2.json"))
        try expect(publish("2", "site", "--sign-key", "one.key").status, equals: 22)
        try expect(signers(publish("2", "site", "--sign-key", "two.key")), equals: [two])
        let again = try place.done(
            "trust", "rotate", "site", "--add", "two.key.pub", "--remove", one, "--sign-key",
            "one.key", "--sign-key", "two.key")
        expect(again.text.contains("nothing changes"), "\(again)")
        let usage = try place.originUsage()
        expect(usage.trust.files, equals: 1)
        try expect(usage.trust.bytes, equals: place.contents("site/trust/2.json").utf8.count)
        // In words.
        let third = try place.castree(
            "trust", "rotate", "site", "--add", "one.key.pub", "--sign-key", "two.key")
        let lines = third.text.split(separator: "\n").map(String.init)
        expect(
            lines.first == "Version 3 of the trust of site: one of \(two), \(one) must sign."
                || lines.first
                    == "Version 3 of the trust of site: one of \(one), \(two) must sign.",
            "\(third)")
        expect(lines.dropFirst().first, equals: "No other key counts from now on.")
        expect(lines.suffix(2).allSatisfy { $0.hasPrefix("Channel ") && $0.contains(two) })
    }

    @Test func `channels says of a signature whether it is verified, and by which keys`() throws {
        let (one, two) = (try makeKey("one.key"), try makeKey("two.key"))
        _ = try signers(publish("1", "site", "--sign-key", "one.key", "--sign-key", "two.key"))
        let keys = [one, two].sorted()
        for (options, verified) in [
            ([], []), (["--trust", "one.key.pub"], [one]),
            (["--trust", "one.key.pub", "--trust", "two.key.pub"], keys),
        ] as [([String], [String])] {
            let arguments = ["channels", "site"] + options
            let answer = try place.run(.castree, arguments + ["--json"])
            let document = try answer.document(.channels)[0]
            expect(document.signedBy == verified && document.saysSignedBy == keys)
            let text = try place.run(.castree, arguments).text
            expect(text.contains("(verified)"), equals: !verified.isEmpty, "\(text)")
            expect(text.contains("(not verified)"), equals: (verified.count < 2), "\(text)")
        }
        // Who can write there can write that a key has signed.
        let pointer = place.directory.appending(path: "site/channels/stable.json")
        let text = try String(contentsOf: pointer, encoding: .utf8)
        let forged = text.replacing(/"signature":"(.)/) {
            "\"signature\":\"\($0.1 == "A" ? "B" : "A")"
        }
        try Data(forged.utf8).write(to: pointer)
        let junk = try place.castree("channels", "site", "--trust", "one.key.pub")
        expect(junk.status == 0 && junk.text.contains("not verified"), "\(junk)")
        expect(!junk.text.contains("(verified)"), "\(junk)")
    }

    @Test func `no command prints a private key`() throws {
        _ = try makeKey("one.key")
        let file = try place.contents("one.key")
        let secret = file.split(separator: "\n")[1]
        var printed = ""
        // Who gives its text in place of its name hears of it, and no log does.
        for arguments in [
            ["publish", "1", "site", "--sign-key", file],
            ["publish", "1", "site", "--sign-key", file, "--json"],
            ["trust", "add", file, "--origin", "site"], ["key", "show", file],
            ["publish", "1", "site"], ["resign", "site", "--json"],
        ] {
            let environment = arguments.contains(file) ? [:] : ["CASTREE_SIGN_KEY": file]
            let refused = try place.run(.castree, arguments, environment: environment)
            expect([1, 2].contains(refused.status), "\(refused)")
            expect((refused.text + refused.errors).contains("name of its file"), "\(refused)")
            printed += refused.text + refused.errors
        }
        for arguments in [
            ["key", "show", "one.key"], ["publish", "1", "site", "--sign-key", "one.key"],
            ["resign", "site", "--sign-key", "one.key"], ["report"], ["log"], ["channels", "site"],
        ] {
            let finished = try place.done(words: arguments)
            printed += finished.text + finished.errors
        }
        expect(!printed.contains(secret) && !printed.contains("PRIVATE KEY"))
    }
}
