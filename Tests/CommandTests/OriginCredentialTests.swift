import ProgramTestSupport

/// An origin that requires authentication (docs/serving.md), and each way to provide it.
@Suite struct OriginCredentialTests {
    let place: Workplace
    private let web: WebOrigin

    private static let secret = "S3CRETPW"
    private static let login = "kiosk:\(secret)"
    private static let basic = "Basic \(Data(login.utf8).base64EncodedString())"

    init() throws {
        place = try Workplace(adding: "1", Release.first)
        try place.castree("publish", "1", "origin", "--no-sync", "--no-packs")
        web = try WebOrigin(
            place.directory, environment: ["AUTHORIZATION": Self.basic + "|Bearer \(Self.secret)"])
        try place.write(
            [
                "right": "machine 127.0.0.1 login kiosk password \(Self.secret)\n",
                "wrong": "machine 127.0.0.1 login kiosk password none\n",
                "home/.netrc": "machine 127.0.0.1 login kiosk password \(Self.secret)\n",
                "wrong-home/.netrc": "machine 127.0.0.1 login kiosk password none\n",
                "login/castree-origin-user": "kiosk\n",
                "login/castree-origin-password": "\(Self.secret)\n",
                "token/castree-origin-token": Self.secret,
                "wrong-token/castree-origin-token": "none\n",
            ], to: ".")
        // As Kubernetes mounts a secret.
        mkdir(path("mounted"), 0o755)
        expect(
            symlink("../token/castree-origin-token", path("mounted/castree-origin-token")),
            equals: 0)
        for name in ["right", "wrong", "home/.netrc", "wrong-home/.netrc"] {
            try protect(name, 0o600)
        }
    }

    private func protect(_ name: String, _ mode: Int) throws {
        try FileManager.default.setAttributes(
            [.posixPermissions: mode], ofItemAtPath: place.url(name).path(percentEncoded: false))
    }

    private func path(_ name: String) -> String {
        place.directory.appending(path: name).path(percentEncoded: false)
    }

    /// Each with what it sets; the paths are of files here.
    private struct Way {
        var environment: [String: String] = [:]
        var arguments: [String] = []
        var user: String?
    }

    private func run(_ way: Way, _ command: [String]) throws -> Finished {
        let user = way.user.map { $0 + "@" } ?? ""
        let url = "http://\(user)" + web.url.dropFirst("http://".count) + "/origin"
        return try place.run(
            .castree,
            command.map { $0 == "ORIGIN" ? url : $0 } + way.arguments + ["--retries", "0"],
            environment: ["HOME": path("nowhere")].merging(way.environment) { $1 })
    }

    private var ways: [(name: String, way: Way)] {
        [
            ("a token", Way(environment: ["CASTREE_ORIGIN_TOKEN": Self.secret])),
            (
                "a user",
                Way(environment: [
                    "CASTREE_ORIGIN_USER": "kiosk", "CASTREE_ORIGIN_PASSWORD": Self.secret,
                ])
            ),
            ("systemd's token", Way(environment: ["CREDENTIALS_DIRECTORY": path("token")])),
            ("a mounted secret", Way(environment: ["CREDENTIALS_DIRECTORY": path("mounted")])),
            ("systemd's user", Way(environment: ["CREDENTIALS_DIRECTORY": path("login")])),
            ("NETRC", Way(environment: ["NETRC": path("right")])),
            ("~/.netrc", Way(environment: ["HOME": path("home")])),
            ("--netrc-file", Way(arguments: ["--netrc-file", path("right")])),
            ("the URL", Way(user: Self.login)),
        ]
    }

    @Test func `each way to say who asks is taken by pull and channels`() throws {
        for (name, way) in ways {
            for command in [["--store", "device", "pull", "ORIGIN"], ["channels", "ORIGIN"]] {
                let outcome = try run(way, command).ended(in: "\(name), \(command)")
                expect(!outcome.errors.contains("warning"), "\(name), \(command): \(outcome)")
            }
            try FileManager.default.removeItem(at: place.directory.appending(path: "device"))
        }
        for (name, way) in [
            ("nothing", Way()), ("another file", Way(environment: ["NETRC": path("wrong")])),
        ] {
            try expect(run(way, ["channels", "ORIGIN"]).status != 0, "\(name)")
        }
    }

    /// The URL, the option, the environment, systemd, `$NETRC`, `~/.netrc`: the first of them that is set counts alone.
    @Test func `the first way counts, whatever the later ones say`() throws {
        let order: [(right: Way, wrong: Way)] = [
            (Way(user: Self.login), Way(user: "kiosk:none")),
            (
                Way(arguments: ["--netrc-file", path("right")]),
                Way(arguments: ["--netrc-file", path("wrong")])
            ),
            (
                Way(environment: ["CASTREE_ORIGIN_TOKEN": Self.secret]),
                Way(environment: ["CASTREE_ORIGIN_TOKEN": "none"])
            ),
            (
                Way(environment: ["CREDENTIALS_DIRECTORY": path("login")]),
                Way(environment: ["CREDENTIALS_DIRECTORY": path("wrong-token")])
            ),
            (
                Way(environment: ["NETRC": path("right")]),
                Way(environment: ["NETRC": path("wrong")])
            ),
            (
                Way(environment: ["HOME": path("home")]),
                Way(environment: ["HOME": path("wrong-home")])
            ),
        ]
        for (first, earlier) in order.enumerated() {
            for later in order[(first + 1)...] {
                for (one, other, isTaken) in [
                    (earlier.right, later.wrong, true), (earlier.wrong, later.right, false),
                ] {
                    let both = Way(
                        environment: one.environment.merging(other.environment) { $1 },
                        arguments: one.arguments + other.arguments, user: one.user ?? other.user)
                    let outcome = try run(both, ["channels", "ORIGIN"])
                    expect((outcome.status == 0) == isTaken, "\(both): \(outcome)")
                }
            }
        }
    }

    @Test func `it is in no output, event, report or file, and goes to no other server`() throws {
        let other = try WebOrigin(place.directory, environment: ["NOTES": "1"])
        let leading = try WebOrigin(
            place.directory,
            environment: [
                "AUTHORIZATION": Self.basic + "|Bearer \(Self.secret)", "LEADS": other.url,
            ])
        let base64 = String(Self.basic.dropFirst("Basic ".count))
        for (number, (name, way)) in ways.dropLast().enumerated() {
            let store = "kept/device\(number)"
            for command in [
                ["pull", leading.url + "/origin", "--json-lines"],
                ["pull", leading.url + "/nothing"], ["log", "--json"], ["report"], ["status"],
            ] {
                let isPull = command[0] == "pull"
                let outcome = try place.run(
                    .castree,
                    ["--store", store] + command
                        + (isPull ? way.arguments + ["--retries", "0"] : []),
                    environment: ["HOME": path("nowhere")].merging(way.environment) { $1 })
                if command.count == 3, isPull {
                    expect(outcome.status, equals: 0, "\(name): \(outcome)")
                }
                for text in [outcome.text, outcome.errors] {
                    expect(
                        !text.contains(Self.secret) && !text.contains(base64), "\(name): \(text)")
                }
            }
        }
        try expect(place.shell("grep -rlF -e \(Self.secret) -e \(base64) kept").text, equals: "")
        let asked = try other.requests()
        expect(asked.contains { $0.hasPrefix("/origin/objects/") })
        expect(!asked.contains { $0.contains("Authorization") }, "\(asked)")
    }

    /// A server, or who stands before it, may repeat what it is told: where it leads, in what it answers.
    @Test(arguments: ["redirect", "channel"])
    func `it is hidden where the origin repeats it`(_ echo: String) throws {
        let base64 = String(Self.basic.dropFirst("Basic ".count))
        let echoing = try WebOrigin(
            place.directory,
            environment: ["AUTHORIZATION": Self.basic + "|Bearer \(Self.secret)", "ECHO": echo])
        for (number, (name, way)) in ways.enumerated() {
            let store = ["--store", "echoed/device\(number)"]
            for command in [
                store + ["pull", "ORIGIN"], store + ["pull", "ORIGIN", "--json-lines"],
                ["channels", "ORIGIN"], store + ["log", "--json"], store + ["status"],
            ] {
                let user = way.user.map { $0 + "@" } ?? ""
                let url = "http://\(user)" + echoing.url.dropFirst("http://".count) + "/origin"
                let asks = command.contains("ORIGIN")
                let outcome = try place.run(
                    .castree,
                    command.map { $0 == "ORIGIN" ? url : $0 }
                        + (asks ? way.arguments + ["--retries", "0"] : []),
                    environment: ["HOME": path("nowhere")].merging(way.environment) { $1 })
                if asks {
                    expect(outcome.status != 0 && outcome.status != 2, "\(name): \(outcome)")
                }
                for text in [outcome.text, outcome.errors] {
                    expect(
                        !text.contains(Self.secret) && !text.contains(base64), "\(name): \(text)")
                }
            }
        }
        try expect(place.shell("grep -rlF -e \(Self.secret) -e \(base64) echoed").text, equals: "")
    }

    @Test func `who is not let in is told how to say who asks`() throws {
        for command in [["--store", "outside", "pull", "ORIGIN"], ["channels", "ORIGIN"]] {
            let outcome = try run(Way(), command).ended(1, saying: "401")
            expect(outcome.errors.contains("CASTREE_ORIGIN_TOKEN"), "\(outcome)")
            expect(!outcome.errors.contains("try again later"), "\(outcome)")
        }
    }

    @Test func `what is half set, or can be read by everybody, is said`() throws {
        let cases: [(way: Way, status: Int32, message: String)] = [
            (Way(environment: ["CASTREE_ORIGIN_USER": "kiosk"]), 2, "a user and a password"),
            (
                Way(environment: ["CASTREE_ORIGIN_PASSWORD": Self.secret]), 2,
                "a user and a password"
            ),
            (
                Way(environment: [
                    "CASTREE_ORIGIN_TOKEN": Self.secret, "CASTREE_ORIGIN_USER": "kiosk",
                ]), 2, "not both"
            ),
            (
                Way(environment: [
                    "CASTREE_ORIGIN_USER": "a:b", "CASTREE_ORIGIN_PASSWORD": Self.secret,
                ]), 2, "colon"
            ),
            (
                Way(environment: ["CASTREE_ORIGIN_TOKEN": "\(Self.secret)\nx"]), 2,
                "control character"
            ),
            (Way(arguments: ["--netrc-file", "none"]), 2, "--netrc-file takes a file"),
        ]
        for (way, status, message) in cases {
            let outcome = try run(way, ["channels", "ORIGIN"]).ended(status, saying: message)
            expect(!outcome.errors.contains(Self.secret), "\(outcome)")
        }
        try place.ended(
            2, "channels", "origin", "--netrc-file", path("right"), saying: "is for web origins")
        try protect("right", 0o644)
        try run(Way(environment: ["NETRC": path("right")]), ["channels", "ORIGIN"]).ended(
            saying: "chmod 600")
    }
}
