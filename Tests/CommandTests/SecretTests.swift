import ProgramTestSupport
import StorageTestSupport

/// What must be read by nobody else is in no message, no log, no report, no file that others can read and no command line.
@Suite struct SecretTests {
    let place = Workplace(inMemory: true)

    init() throws {
        try place.add("1", Release.first)
        try place.castree("activate", "1")
        try place.castree("publish", "1", "origin", "--no-packs")
    }

    static let secret = "S3CRETPW"

    /// Addresses as people mistype them; nobody listens on port 1.
    static let addresses = [
        "https://kiosk:\(secret)@localhost:1/app", "https//kiosk:\(secret)@localhost/app",
        "//kiosk:\(secret)@localhost/app", "https:/kiosk:\(secret)@localhost/app",
        "https:kiosk:\(secret)@localhost/app", "kiosk:\(secret)@localhost/app",
        "https://kiosk:a/\(secret)@localhost:1/app", "htps://kiosk:\(secret)@localhost/app",
        "s3//KEY:\(secret)@bucket/app", "s3://KEY:\(secret)@bucket/app",
    ]

    /// Every command that takes an origin.
    static let commands: [[String]] = [
        ["pull", "ADDRESS", "--retries", "0"], ["pull", "ADDRESS", "--json", "--retries", "0"],
        ["pull", "ADDRESS", "--dry-run", "--retries", "0"],
        ["channels", "ADDRESS"], ["missing", "1", "ADDRESS"],
        ["fsck", "--repair", "--from", "ADDRESS"], ["fsck", "ADDRESS"], ["du", "ADDRESS"],
        ["publish", "1", "ADDRESS"], ["publish", "--all-of", "ADDRESS", "elsewhere"],
        ["pack", "1", "ADDRESS"], ["withdraw", "1", "ADDRESS"], ["prune", "ADDRESS"],
        ["resign", "ADDRESS"], ["trust", "add", "key.pub", "--origin", "ADDRESS"],
        ["trust", "remove", "ADDRESS"], ["trust", "list"],
        ["origin", "status", "ADDRESS"],
        ["origin", "enable", "ADDRESS", "chcp", "--base-url", "ADDRESS"],
        ["origin", "answer", "ADDRESS", "GET", "/"], ["origin", "serve", "ADDRESS"],
        ["serve", "--proxy", "/api=ADDRESS", "--port", "0"], ["status"], ["log"],
        ["log", "--json"],
    ]

    @Test(arguments: addresses)
    func `a mistyped address shows no password anywhere`(_ address: String) throws {
        try place.castree("key", "new", "key")
        for command in Self.commands {
            let done = try place.run(
                .castree, command.map { $0.replacingOccurrences(of: "ADDRESS", with: address) })
            expect(!done.errors.contains(Self.secret), "\(command): \(done.errors)")
            expect(!done.text.contains(Self.secret), "\(command): \(done.text)")
        }
        try expect(!place.castree("report").text.contains(Self.secret))
        // What a command may have kept or made.
        let found = try place.shell("grep -rlF \(Self.secret) . ; find . -name '*\(Self.secret)*'")
        expect(found.text, equals: "")
    }

    /// Values that are mistyped, and what of them may be shown.
    @Test func `a malformed option shows no value`() throws {
        for (options, shown) in [
            (["--header", "X-Api-Key \(Self.secret)"], "--header"),
            (["--header", "X-Api-Key \(Self.secret):x"], "\"X-Api-Key …\""),
            (["--header", "/models X-Api-Key \(Self.secret)"], "--header"),
            (["--header", "X-Api-Key: \(Self.secret)\u{7f}"], "X-Api-Key"),
            (["--updates", "origin", "--pull-option", "--bogus=\(Self.secret)"], "--bogus"),
            (["--updates", "origin", "--pull-option", "--cacert \(Self.secret)"], "--cacert"),
            (["--updates", "origin", "--pull-option", Self.secret], "--pull-option"),
        ] {
            let done = try place.ended(2, words: ["serve"] + options, saying: shown)
            expect(!done.errors.contains(Self.secret), "\(options): \(done.errors)")
        }
    }

    @Test("--open gives a token to nobody else: neither by a command line nor by a file")
    func openWithToken() throws {
        let opener = "#!/bin/sh\nstat -c %a \"$1\" >opened.new\ncat \"$1\" >>opened.new\n"
        let end = "printf '%s' \"$1\" >argument\nmv opened.new opened\n"
        try place.write(["xdg-open": opener + end], to: "bin")
        let environment = [
            "PATH": "\(place.directory.path)/bin:/usr/bin:/bin", "TMPDIR": place.directory.path,
        ]
        let served = try Served(place, ["--token", "--open"], environment: environment)
        try expect(served.get { place.exists("opened") })
        let (argument, opened) = (try place.contents("argument"), try place.contents("opened"))
        try expect(!argument.contains(require(served.url.split(separator: "=").last)))
        expect(opened.hasPrefix("600\n"))
        expect(opened.contains("url=\(served.url)\""))
        _ = try served.end()
        expect(!FileManager.default.fileExists(atPath: argument))
    }

    @Test func `the file with the token is taken from other users, and that is said`() throws {
        func serve() throws -> String {
            let served = try Served(place, ["--token"])
            return try served.end().errors
        }
        expect(try serve().contains("server.json"), equals: false)
        let file = place.directory.appending(path: ".castree/server.json").path
        try expect(Damage.mode(file), equals: 0o600)
        expect(chmod(file, 0o644), equals: 0)
        let said = try serve()
        expect(said.contains("other users could read server.json"), "\(said)")
        try expect(Damage.mode(file), equals: 0o600)
        expect(try serve().contains("server.json"), equals: false)
    }

    @Test func `--new-token refuses what has the old one`() throws {
        func token(_ options: String...) throws -> (Served, String) {
            let served = try Served(place, options)
            return (served, String(try require(served.url.split(separator: "=").last)))
        }
        func status(_ served: Served, _ token: String) throws -> Int {
            try served.get("/?castree_token_\(served.port)=\(token)").status
        }
        let (first, old) = try token("--token")
        _ = try first.end()
        let (again, same) = try token("--token")
        expect(same, equals: old)
        _ = try again.end()
        let (served, new) = try token("--new-token")
        expect(new != old)
        try expect(status(served, old), equals: 403)
        try expect(status(served, new), equals: 200)
        _ = try served.end()
        // It is remembered.
        let (_, later) = try token("--token")
        expect(later, equals: new)
    }
}
