import ProgramTestSupport

// docs/serving.md, "What counts as a start, and the failed attempts", on the programs.
@Suite struct StartTests {
    let place: Workplace
    /// Longer than any test takes.
    private let patient = ["--confirm-within", "60m"]

    /// Version 1 is known good, and 2 is pending.
    init() throws {
        place = try Workplace(adding: "1", Release.first)
        try place.add("2", Release.second)
        try place.start("1")
        try place.castree("activate", "2", "--at-next-boot")
    }

    private func lifecycle() throws -> JSON { try place.lifecycle() }

    /// What `castree lifecycle` says of starts.
    private func attempts() throws -> String {
        let text = try place.castree("lifecycle", "--json").text
        guard let start = text.range(of: "\"trials\":[") else { return "" }
        return String(text[start.upperBound...].prefix { $0 != "]" })
    }

    @Test(arguments: ["> /dev/full", ">&-", "| exec true"], ["--json", "--quiet"])
    func `a boot whose answer nobody gets counts for nothing, however often it happens`(
        _ output: String, _ option: String
    ) throws {
        let program = ProgramUnderTest.castree.url.path
        for _ in 0..<5 {
            // The pipe has no reader by then.
            let script =
                output.hasPrefix("|")
                ? "mkfifo p; exec 3<>p 4>p 3<&-; \"$0\" boot \(option) >&4; s=$?; rm p; exit $s"
                : "exec \"$0\" boot \(option) \(output)"
            try place.run(.shell, ["-c", script, program]).ended(1, saying: "standard output")
            let attempts = try attempts()
            expect(!attempts.contains("\"strikes\":1"), "\(attempts)")
        }
        let boot = try place.boot()
        expect(boot.version, equals: "2")
        try place.castree("confirm", "2", "--token", boot.token.text)
    }

    @Test(arguments: ["x", "{}", "[1"])
    func `a boot over a lifecycle that cannot be read starts what is shown, and counts nothing`(
        _ text: String
    ) throws {
        try place.damage(".castree/lifecycle.json", with: text)
        for _ in 1...3 {
            let boot = try place.done("boot", "--json")
            try expect(boot.document(.boot).version, equals: "1")
            expect(boot.errors.contains("the start is not counted"), "\(boot)")
        }
        try expect(place.castree("status").status, equals: 1)
        try expect(place.castree("fsck", "--repair").status, equals: 1)
        let boot = try place.castree("boot", "--json")
        try expect(boot.document(.boot).version, equals: "1")
        expect(boot.errors, equals: "")
    }

    static let visits: [(method: String, target: String, fields: [String: String], status: Int)] =
        [
            ("HEAD", "/", ["Accept": "text/html"], 200),
            ("GET", "/", ["Accept": "text/html", "Range": "bytes=0-3"], 206),
            ("GET", "/none.js", ["Accept": "text/html"], 404),
            ("GET", "/", ["Accept": "text/html", "Purpose": "prefetch"], 200),
            ("GET", "/", ["Accept": "text/html", "X-Moz": "prefetch"], 200),
            (
                "GET", "/",
                [
                    "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document",
                    "Sec-Purpose": "prefetch;prerender",
                ], 503
            ),
            ("GET", "/", ["Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"], 200),
            ("GET", "/", ["Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"], 200),
            ("GET", "/", ["Accept": "*/*"], 200), ("POST", "/", ["Accept": "text/html"], 405),
        ]

    @Test func `only a GET that is answered 200 with the page starts a version`() throws {
        let served = try Served(place, patient)
        for visit in Self.visits {
            let answer = try served.ask(visit.method, visit.target, visit.fields)
            expect(answer.status, equals: visit.status, "\(visit)")
            try expect(lifecycle().pending, equals: "2", "\(visit)")
        }
        let tag = try served.ask("HEAD", "/", [:]).head.split(separator: "\r\n")
            .first { $0.hasPrefix("ETag: ") }?.dropFirst(6)
        let fields = ["Accept": "text/html", "If-None-Match": "*"]
        expect(tag != nil)
        try expect(served.get("/", fields).status, equals: 304)
        try expect(lifecycle().current == "1" && attempts().isEmpty)
        try expect(served.get().body, equals: Release.second["index.html"])
        try expect(lifecycle().current, equals: "2")
        try expect(attempts().contains("\"strikes\":1"))
    }

    @Test("a browser that asks whether its copy is right starts a version with the same page")
    func revalidated() throws {
        var same = Release.second
        same["index.html"] = Release.first["index.html"]
        try place.add("3", same)
        try place.castree("activate", "3", "--at-next-boot")
        let served = try Served(place, patient)
        let tool = ["Accept": "text/html", "If-None-Match": "*"]
        try expect(served.get("/", tool).status, equals: 304)
        try expect(lifecycle().pending, equals: "3")
        var browser = tool
        browser["Sec-Fetch-Mode"] = "navigate"
        browser["Sec-Fetch-Dest"] = "document"
        try expect(served.get("/", browser).status, equals: 200)
        try expect(lifecycle().current, equals: "3")
    }

    @Test func `SIGTERM takes a start back, and the third in a row counts`() throws {
        for takenBack in 1...2 {
            let served = try Served(place, patient)
            try expect(served.get().body, equals: Release.second["index.html"])
            _ = try served.end()
            try expect(lifecycle().current == "2" && lifecycle().boot.isNull)
            try expect(attempts().contains("\"strikes\":0,\"takenBack\":\(takenBack)"))
        }
        let served = try Served(place, patient)
        try expect(served.get().body, equals: Release.second["index.html"])
        _ = try served.end(SIGINT)
        try expect(lifecycle().current == "1" && lifecycle().bad.isEmpty)
        try expect(lifecycle().pending, equals: "2")
    }

    @Test(arguments: [1, 2])
    func `a killed server is a failed attempt, and the last one bans`(failedAttempts: Int) throws {
        let options = patient + ["--strikes", "\(failedAttempts)"]
        for failedAttempt in 1...failedAttempts {
            let killed = try Served(place, options)
            try expect(killed.get().body, equals: Release.second["index.html"])
            _ = try killed.end(SIGKILL)
            let next = try Served(place, options)
            // It has failed; the reload that follows starts nothing.
            for _ in 1...3 { try expect(next.get().body, equals: Release.first["index.html"]) }
            try expect(lifecycle().bad.count, equals: (failedAttempt == failedAttempts ? 1 : 0))
            _ = try next.end()
        }
        try expect(lifecycle().bad.map(\.version), equals: ["2"])
        try expect(lifecycle().pending.isNull)
    }

    @Test func `a server that was frozen hears the confirmation that came meanwhile`() throws {
        let served = try Served(place, ["--confirm-within", "3s"])
        try expect(served.get().body, equals: Release.second["index.html"])
        let session = try served.beginSession()
        served.signal(SIGSTOP)
        let end = ContinuousClock.now + .seconds(5)
        while ContinuousClock.now < end { try place.castree("lifecycle") }
        let fields = ["Origin": "http://localhost:\(served.port)"]
        let target = "/_castree/confirm?session=\(session)"
        let answer = try served.ask("POST", target, fields) { served.signal(SIGCONT) }
        expect(answer.status, equals: 204)
        try expect(lifecycle().current == "2" && lifecycle().knownGood.first == "2")
    }

    @Test("serve continues with what boot has started, and boot joins what serve watches")
    func bootAndServe() throws {
        let boot = try place.boot()
        expect(boot.version, equals: "2")
        let served = try Served(place, patient)
        try expect(served.get().body, equals: Release.second["index.html"])
        try expect(lifecycle().boot.token == boot.token && lifecycle().bad.isEmpty)
        let joined = try place.boot()
        expect(joined.version == "2" && joined.token == boot.token)
        // Stopped, it is still alive.
        served.signal(SIGSTOP)
        try expect(place.boot().token, equals: boot.token)
        served.signal(SIGCONT)
        try place.done("confirm", "2", "--token", boot.token.text)
        try expect(lifecycle().knownGood, equals: ["2", "1"])
        try expect(served.get().body, equals: Release.second["index.html"])
    }

    @Test func `the first day has a way back, which nothing retires`() throws {
        let place = try Workplace(adding: "1", Release.first)
        try place.add("2", Release.second)
        try place.castree("activate", "1")
        let served = try Served(place, ["--confirm-within", "1ms"])
        try expect(served.get().body, equals: Release.first["index.html"])
        try place.castree("activate", "2")
        _ = try served.get()
        try expect(place.castree("retire", "1").status, equals: 1)
        try expect(
            served.get {
                try place.lifecycle().current
                    == "1"
            })
        try expect(served.get().body, equals: Release.first["index.html"])
    }

    @Test func `a start of boot is judged by a server that has shown pages before`() throws {
        let served = try Served(place, ["--confirm-within", "1s", "--strikes", "1"])
        // A page of 2, which is confirmed: nothing is left to watch.
        try expect(served.get().body, equals: Release.second["index.html"])
        let started = try place.lifecycle()
        try place.castree("confirm", "2", "--token", started.boot.token.text)
        try place.add("3", ["index.html": "three"])
        try place.castree("activate", "3", "--at-next-boot")
        try place.done("boot")
        try expect(served.get().body, equals: "three")
        try expect(served.get(until: { try lifecycle().current == "2" }))
        try expect(served.get().body, equals: Release.second["index.html"])
        _ = try served.end()
    }

    @Test func `a page after a failed attempt starts what somebody has made current meanwhile`()
        throws
    {
        let served = try Served(place, ["--confirm-within", "1s"])
        try expect(served.get().body, equals: Release.second["index.html"])
        let end = ContinuousClock.now + .seconds(120)
        while try lifecycle().current != "1" { try require(ContinuousClock.now < end) }
        // The page that was left never loads itself again.
        try place.castree("activate", "2")
        try expect(served.get().body, equals: Release.second["index.html"])
        try expect(attempts().contains("\"strikes\":2"))
        _ = try served.end()
    }

    #if os(Linux)
        @Test
        func `a stopped server that watches a start is named to whoever is refused because of it`()
            throws
        {
            var third = Release.second
            third["index.html"] = "the third"
            try place.add("3", third)
            let watcher = try Served(place, patient)
            try expect(watcher.get().body, equals: Release.second["index.html"])
            // The answer may be here before the watch has begun.
            while try !place.castree("lifecycle").text.contains("watched by") { sched_yield() }
            watcher.signal(SIGSTOP)
            let file = "/proc/\(watcher.processIdentifier)/stat"
            while try !String(contentsOfFile: file, encoding: .utf8).contains(") T ") {
                sched_yield()
            }
            let name = "process \(watcher.processIdentifier) (serve, stopped)"
            let shown = try place.castree("lifecycle").text
            expect(shown.contains("watched by   \(name)"), "\(shown)")
            try expect(place.run(.castree, ["boot"]).errors.contains(name))
            try place.castree("activate", "3")
            let other = try Served(place, patient)
            try expect(other.get().body, equals: "the third")
            let answer = try other.post("/_castree/confirm?session=\(other.beginSession())")
            expect(answer.status == 409 && answer.body.contains(name), "\(answer)")
            try expect(other.end().errors.contains(name))
            _ = try watcher.end(SIGKILL)
            try expect(!place.castree("lifecycle").text.contains("watched by"))
        }
    #endif
}
