import ProgramTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// `castree origin serve` and `origin answer` over a bucket (docs/clients.md, "From a bucket"): a plain web server
/// stands for one that anybody may read.
@Suite struct MirroredOriginTests {
    private let place: Workplace
    private let web: WebOrigin

    init() throws {
        place = Workplace()
        try place.makeDirectory("bucket")
        try place.add("1", ["index.html": "<h1>one</h1>", "js/a.js": "run(1)"])
        try place.castree("publish", "1", "bucket/app", "--no-sync")
        for (system, deployment) in [
            ("codepush", "KEY=stable"), ("hot-updater", "ios/production=stable"),
            ("chcp", "web=stable"),
        ] {
            try place.enable(system, deployment, of: "bucket/app")
        }
        web = try WebOrigin(place.directory)
    }

    private var bucket: [String] { ["s3://bucket/app", "--endpoint", web.url, "--anonymous"] }

    private func serve(_ origin: [String], _ more: String...) throws -> Served {
        let timeouts = origin.count > 1 ? ["--retries", "0", "--timeout", "5s"] : []
        return try Served(
            [ProgramUnderTest.castree.url.path, "origin", "serve"] + origin + more + timeouts
                + ["--listen", "127.0.0.1:0"], in: place.directory)
    }

    private static let check =
        "/v0.1/public/codepush/update_check?deployment_key=KEY&app_version=1.0.0"

    /// What clients ask one after the other, and castree's own devices.
    private func targets(_ served: Served) throws -> [String] {
        struct Update: Decodable {
            struct Info: Decodable { let download_url: String }
            let update_info: Info
        }
        let answer = try served.get(Self.check)
        let url = try JSONDecoder().decode(Update.self, from: Data(answer.body.utf8)).update_info
            .download_url
        return [
            Self.check, String(url.dropFirst("http://u.example.org".count)),
            "/for/chcp/web/chcp.json", "/channels/stable.json", "/channels.json", "/origin.json",
            "/for/codepush/archives/none.zip", "/objects/aa/\(String(repeating: "b", count: 62))",
        ]
    }

    private func answers(_ served: Served, _ targets: [String]) throws -> [String] {
        try targets.map { target in
            let answer = try served.get(target)
            let head = answer.head.split(separator: "\r\n").filter { !$0.hasPrefix("Date: ") }
            return "\(target) \(answer.status) \(head) \(answer.body)"
        }
    }

    @Test("clients get from a bucket what they get from a directory, also when it is gone")
    func sameAnswers() throws {
        let local = try serve(["bucket/app"])
        let asked = try targets(local)
        let right = try answers(local, asked)
        _ = try local.end()
        let mirrored = try serve(bucket, "--cache", "cache", "--refresh", "50ms")
        expect(
            mirrored.ready.hasSuffix("to clients of chcp, codepush, hot-updater\n"),
            "\(mirrored.ready)")
        try expect(answers(mirrored, asked), equals: right)
        // castree's own devices, too: a pack, or objects one by one.
        for more in [[], ["--no-packs"]] {
            let store = "device\(more.count)"
            try place.done(
                words: ["--store", store, "pull", mirrored.url, "--activate", "--quiet"] + more)
            try expect(place.contents("\(store)/current/index.html"), equals: "<h1>one</h1>")
        }
        // A next release comes automatically.
        try place.add("2", ["index.html": "<h1>two</h1>"])
        try place.castree("publish", "2", "bucket/app", "--no-sync")
        let end = ContinuousClock.now + .seconds(60)
        while try targets(mirrored)[1] == asked[1], ContinuousClock.now < end {}
        let next = try targets(mirrored)
        expect(next[1] != asked[1])
        let whole = try answers(mirrored, next)
        expect(whole[1].contains(" 200 "))
        let requests = try web.requests().count
        web.stop()
        // Whether something is there that nobody had asked for, only the bucket knows.
        let kept = Array(next.dropLast())
        try expect(answers(mirrored, kept), equals: Array(whole.dropLast()))
        // What nobody has asked for before cannot be had now.
        try expect(
            mirrored.get("/objects/ab/\(String(repeating: "c", count: 62))").status, equals: 503)
        let ended = try mirrored.end()
        expect(ended.status == 0 && requests > 0)
        let lines = ended.errors.split(separator: "\n")
        expect(lines.count == 1 && ended.errors.contains("cannot be reached"), "\(ended)")
        // Started again without its bucket it answers from the cache; without one it says why it does not start.
        let warm = try serve(bucket, "--cache", "cache")
        try expect(answers(warm, kept), equals: Array(whole.dropLast()))
        _ = try warm.end()
        try place.ended(
            23, "origin", "serve",
            words: bucket + [
                "--cache", "cold", "--retries", "0", "--timeout", "5s",
            ], saying: "origin.json")
    }

    @Test("what cannot be served from a bucket is said, with the exit status of its kind")
    func refusals() throws {
        try place.write(["mine": "x"], to: "full")
        let cases: [(arguments: [String], status: Int32, message: String)] = [
            (bucket, 2, "give --cache a directory"),
            (bucket + ["--cache", "full"], 1, "not empty"),
            (["bucket/app", "--cache", "c"], 2, "is for origins in buckets"),
            (["https://u.example.org/app"], 1, "is a web server"),
            (
                ["s3://bucket/none", "--endpoint", web.url, "--anonymous", "--cache", "c"], 3,
                "there is no origin in s3://bucket/none"
            ),
            (["s3://bucket//x", "--cache", "c"], 2, "s3://"),
        ]
        for (arguments, status, message) in cases {
            try place.ended(status, words: ["origin", "serve"] + arguments, saying: message)
        }
        let first = try serve(bucket, "--cache", "cache")
        try place.ended(
            24, "origin", "serve", words: bucket + ["--cache", "cache"], saying: "another process")
        _ = try first.end()
    }

    @Test func `an answer is printed from a bucket, with a cache or without`() throws {
        let path = try targets(try serve(["bucket/app"]))[1]
        for cache in [[], ["--cache", "cache"]] {
            let text = try place.done(
                words: ["origin", "answer"] + bucket + ["GET", Self.check] + cache)
            expect(
                text.text.hasPrefix("HTTP/1.1 200 OK\n") && text.text.contains("\"label\":\"v1\""))
            try place.done(
                words: ["origin", "answer"] + bucket + ["GET", path, "--output", "a.zip"] + cache)
            let bytes = try Data(contentsOf: place.directory.appending(path: "a.zip"))
            expect(bytes.starts(with: [0x50, 0x4b, 3, 4]))
        }
        // What came without a cache goes with the command.
        let scratch = place.directory.appending(path: "scratch")
        try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: false)
        try place.ended(
            0, "origin", "answer", words: bucket + ["GET", path, "--output", "b.zip"],
            environment: ["TMPDIR": scratch.path])
        try expect(FileManager.default.contentsOfDirectory(atPath: scratch.path), equals: [])
    }
}
