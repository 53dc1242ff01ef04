import ProgramTestSupport

@Suite struct ServeTests {
    let place: Workplace

    init() throws {
        place = Workplace()
        try place.add(
            "1", Release.first.merging(["about.html": "about", "keep/a.txt": "kept"]) { $1 })
        try place.add("2", Release.second)
        try place.castree("activate", "1")
    }

    @Test func `the ready line tells version and address, and the page is there`() throws {
        let served = try Served(place)
        expect(served.ready, equals: "Serving version 1 at http://localhost:\(served.port)/\n")
        let page = try served.get()
        expect(page.status, equals: 200)
        expect(page.body, equals: Release.first["index.html"])
        expect(page.head.contains("Content-Type: text/html; charset=utf-8"))
    }

    @Test func `the ready line is one document with --json`() throws {
        let served = try Served(place, ["--json"])
        let document = try JSON(served.ready, of: .served)
        expect(document.url, equals: "http://localhost:\(document.port)/")
        expect(document.port, equals: Int(served.port))
        expect(document.version, equals: "1")
    }

    @Test func `the dashboard has an address of its own, and says what other processes do`() throws
    {
        let served = try Served(place, ["--dashboard", "--json"])
        let document = try JSON(served.ready, of: .served)
        let address = document.dashboard.text
        expect(address.hasPrefix("http://127.0.0.1:\(document.port)/_castree/dashboard/?"))
        let target = "/_castree/dashboard/"
        try expect(served.get(target).status, equals: 403)
        let token = try require(address.split(separator: "?").last)
        let cookie = ["Cookie": String(token)]
        try expect(served.get(target + "?" + token, [:]).status, equals: 303)
        let page = try served.get(target, cookie)
        expect(page.status, equals: 200)
        expect(page.body.hasPrefix("<!doctype html>"))
        expect(page.head.contains("connect-src 'self'"))
        expect(page.head.contains("frame-ancestors 'none'"))
        let before = try served.get(target + "status.json", cookie).body
        expect(before.contains(#""current":"1""#))
        expect(before.contains(#""lastCheck":null"#))
        expect(!before.contains(#""isProtected":true"#))
        try place.castree("activate", "2")
        try place.castree("protect", "1")
        try place.castree("fsck")
        var latest = before
        try expect(
            served.get {
                latest = try served.get(target + "status.json", cookie).body
                return latest.contains(#""current":"2""#) && latest.contains(#""endedAt""#)
            })
        expect(latest.contains(#""findingCount":0"#))
        // What keeps a version from being retired.
        let start = try require(latest.range(of: #""version":"1","#)).lowerBound
        let row = latest[start...].prefix { $0 != "}" }
        expect(row.contains(#""isProtected":true"#), "\(row)")
        expect(latest.components(separatedBy: #""isProtected":true"#).count, equals: 2)
        try expect(served.get(target + "usage.json", cookie).body.contains(#""growth":["#))
    }

    @Test func `the dashboard is on a line of its own, and only if it is asked for`() throws {
        let served = try Served(place, ["--dashboard"])
        expect(served.ready.hasPrefix("Serving version 1 at http://localhost:\(served.port)/\n"))
        let plain = try Served(place, ["--json"])
        expect(!plain.ready.contains("dashboard"))
        try expect(plain.get("/_castree/dashboard/").status, equals: 404)
    }

    @Test func `a store where nothing is current is served, and what is activated appears`() throws
    {
        let fresh = try Workplace(adding: "1", Release.first)
        let served = try Served(fresh)
        expect(served.ready.contains("no version is current yet (castree activate)"))
        try expect(served.get().status, equals: 503)
        try fresh.castree("activate", "1")
        try expect(served.get().body, equals: Release.first["index.html"])
        try expect(Served(fresh, ["--json"]).ready.contains("\"version\":\"1\""))
    }

    @Test func `what another process activates is served from the next navigation on`() throws {
        let served = try Served(place)
        let before = try served.get()
        try place.castree("activate", "2")
        try expect(served.get().body, equals: Release.second["index.html"])
        // The page that was loaded before keeps its version, and with it on the disk.
        let cookie = try require(
            before.head.split(separator: "\r\n").first { $0.hasPrefix("Set-Cookie: ") })
        let pair = String(cookie.dropFirst(12).prefix { $0 != ";" })
        let old = try served.get("/old/name.txt", ["Cookie": pair, "Sec-Fetch-Mode": "no-cors"])
        expect(old.body, equals: Release.first["old/name.txt"])
        try expect(place.castree("retire", "1").status, equals: 1)
    }

    #if os(Linux)
        @Test func `SIGTERM ends one that was started by a program that blocks signals`() throws {
            let served = try Served(
                place, launcher: ["/usr/bin/env", "--block-signal=TERM", "--block-signal=INT"])
            try expect(served.get().status, equals: 200)
            try expect(served.end(SIGTERM).status, equals: 0)
        }
    #endif

    @Test func `SIGTERM ends with 0, SIGINT with 130`() throws {
        for (signal, status) in [(SIGTERM, 0), (SIGINT, 130)] as [(Int32, Int32)] {
            let served = try Served(place)
            try expect(served.get().status, equals: 200)
            try expect(served.end(signal).ended(status).errors.isEmpty)
            #expect(throws: TestSocket.Refusal.self) { try served.get() }
        }
    }

    @Test func `two servers cannot have one port: the second names it and is status 1`() throws {
        let app = Served.newApp()
        let first = try Served(place, ["--app-id", app])
        let second = try Served(place, ["--app-id", app, "--json"])
        expect(second.ready.isEmpty)
        let ended = try second.finished().ended(1)
        try expect(ended.error().code, equals: "portInUse")
        let message = try ended.error().message
        for word in ["\(first.port)", "--next-port", "--port", "--app-id"] {
            expect(message.contains(word), "\(message)")
        }
        let third = try Served(place, ["--app-id", app, "--next-port"])
        expect(third.port != first.port)
        try expect(third.get().status, equals: 200)
        // The app's own port is remembered nevertheless.
        _ = try first.end()
        try expect(Served(place, ["--app-id", app]).port, equals: first.port)
    }

    @Test func `options change what is served`() throws {
        try place.add("3", ["start.html": "start", "a.txt": "a"])
        try place.castree("activate", "3")
        let served = try Served(place, ["--index", "start.html", "--fallback", "none"])
        try expect(served.get().body, equals: "start")
        try expect(served.get("/route").status, equals: 404)
        try place.castree("activate", "1")
        let other = try Served(
            place,
            [
                "--clean-urls", "--immutable", "/keep/", "--header", "X-App: one two",
                "--header", "Permissions-Policy:camera=()", "--host", "kiosk.example",
                "--workers", "2",
            ])
        try expect(other.get("/about").body, equals: "about")
        try expect(other.get("/keep/a.txt").head.contains("immutable"))
        try expect(other.get("/css/site.css").head.contains("Cache-Control: no-cache"))
        try expect(other.get().head.contains("X-App: one two"))
        try expect(other.get().head.contains("Permissions-Policy: camera=()"))
        try expect(other.get("/", ["Host": "kiosk.example"]).status, equals: 200)
        try expect(other.get("/", ["Host": "evil.example"]).status, equals: 421)
        try expect(other.get("/route").body, equals: Release.first["index.html"])
        try expect(other.get("/route.js").status, equals: 404)
    }

    @Test func `--meteor behaves as the plugin, --shell brings Cordova's files`() throws {
        try place.add("www", ["cordova.js": "cordova"])
        let served = try Served(place, ["--meteor", "--shell", "www"])
        let page = try served.get("/missing.js", ["Accept": "*/*"])
        expect(page.status, equals: 200)
        expect(page.head.contains("Content-Type: text/html\r\n"))
        try expect(served.get("/cordova.js", ["Accept": "*/*"]).body, equals: "cordova")
        let strict = try Served(place, ["--meteor", "--fallback", "none"])
        try expect(strict.get("/missing.js", ["Accept": "*/*"]).status, equals: 404)
        // Given by name it counts, although it is what is usual without the preset.
        let usual = try Served(place, ["--meteor", "--fallback", "navigations"])
        try expect(usual.get("/missing.js", ["Accept": "*/*"]).status, equals: 404)
    }

    @Test func `--token lets in only who has it, and the log does not tell it`() throws {
        let served = try Served(place, ["--token", "--access-log", "log"])
        try expect(served.get().status, equals: 403)
        let query = try require(served.url.split(separator: "?").last)
        let answer = try served.get("/?\(query)")
        expect(answer.status, equals: 200)
        let token = try require(query.split(separator: "=").last)
        expect(token.utf8.count, equals: 32)
        expect(answer.head.contains("Set-Cookie: castree_token_\(served.port)=\(token)"))
        _ = try served.end()
        let log = try place.contents("log")
        expect(log.split(separator: "\n").count, equals: 2)
        expect(!log.contains(token))
        expect(log.contains("=*** 200 "))
    }

    @Test func `--access-log appends a line for each request`() throws {
        try place.write(["log": "before\n"], to: ".")
        let served = try Served(place, ["--access-log", "log"])
        _ = try served.get("/js/app.js?x=1", ["Accept": "*/*"])
        _ = try served.get("/nothing.js", ["Accept": "*/*"])
        _ = try served.end()
        let lines = try place.contents("log").split(separator: "\n")
        expect(lines.count, equals: 3)
        expect(lines[0], equals: "before")
        for (line, rest) in [
            (lines[1], #"GET /js/app\.js\?x=1 200 \d+ \d+\.\d{3} (127\.0\.0\.1|::1)"#),
            (lines[2], #"GET /nothing\.js 404 \d+ \d+\.\d{3} (127\.0\.0\.1|::1)"#),
        ] {
            let pattern = #"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ "# + rest + "$"
            expect(line.range(of: pattern, options: .regularExpression) != nil, "\(line)")
        }
        let terminal = try Served(place, ["--access-log", "-"])
        _ = try terminal.get()
        try expect(terminal.end().errors.contains("GET / 200 "))
    }

    /// Gives a program a socket as its standard output, as systemd's journal does, and passes on what it prints.
    private static let socket = """
        import os, socket, sys
        ours, theirs = socket.socketpair()
        if os.fork():
            os.dup2(theirs.fileno(), 1)
            os.execv(sys.argv[1], sys.argv[1:])
        theirs.close()
        while data := ours.recv(4096):
            os.write(1, data)
        """

    @Test(.enabled(if: access("/usr/bin/python3", X_OK) == 0, "needs python3"))
    func `--access-log goes to standard output, also if that is a journal's socket`() throws {
        let served = try Served(
            place, ["--access-log", "/dev/stdout"],
            launcher: ["/usr/bin/python3", "-c", Self.socket])
        _ = try served.get()
        expect(served.readLine().contains("GET / 200 "))
        try expect(served.end().status, equals: 0)
    }

    @Test func `--open calls the system's opener with the address`() throws {
        #if os(Linux)
            let opener = "xdg-open"
        #else
            let opener = "open"
        #endif
        try place.write(
            [opener: "#!/bin/sh\nprintf %s \"$1\" >opened.new\nmv opened.new opened\n"], to: "bin")
        let path = "\(place.directory.path)/bin:/usr/bin:/bin"
        let served = try Served(place, ["--open"], environment: ["PATH": path])
        try expect(served.get { place.exists("opened") })
        try expect(place.contents("opened"), equals: served.url)
        let without = try Served(place, ["--open"], environment: ["PATH": "/nowhere"])
        try expect(without.get().status, equals: 200)
        try expect(without.end().errors.contains("open \(without.url) yourself"))
    }

    static let bad: [(arguments: [String], word: String)] = [
        (["--port", "0"], "port"), (["--port", "65536"], "port"), (["--port", "http"], "port"),
        (["--port", "8080", "--next-port"], "--next-port"),
        (["--port", "8080", "--app-id", "kiosk"], "--app-id"),
        (["--fallback", "html"], "fallback"),
        (["--dashboard", "--host", "kiosk.example"], "--dashboard is for this machine alone"),
        (["--certificate", "cert.pem"], "--key"), (["--key", "key.pem"], "--certificate"),
        (["--strikes", "0"], "--strikes"), (["--header", "Date: now"], "Date"),
        (["--immutable", "assets/"], "--immutable"), (["--header", "X-App"], "--header"),
        (["--header", "X App: 1"], "\"X …\""),
        (["--header", "Content-Length: 1"], "Content-Length"),
        (["--header", "ETag: x"], "ETag"), (["--workers", "0"], "workers"),
        (["--workers", "65"], "workers"), (["--workers", "many"], "workers"),
        (["--confirm-within", "20"], "20s"), (["--confirm-within", "0s"], "20s"),
        (["--confirm-within", "-1s"], "20s"), (["--confirm-within", "1.5s"], "20s"),
        (["--confirm-within", "1441m"], "20s"), (["--confirm-within", "25h"], "20s"),
        (["--confirm-within", ""], "--confirm-within takes"),
        (["--proxy", "api"], "PREFIX=URL"), (["--proxy", "api=http://x"], "slash"),
        (["--proxy", "/api=ftp://x"], "http://"),
        (["--proxy", "/_castree=http://x"], "--proxy"),
        (["--proxy", "/_castree/x=http://x"], "another prefix"),
        (["--proxy", "/a**=http://x"], "whole segment"), (["--host", ""], "--host"),
        (["--host", "http://kiosk.example"], "kiosk.example:8080"), (["--host", "*"], "--host"),
        (["--host", "kiosk.example/"], "--host"), (["--index", ""], "--index"),
        (["--index", "/index.html"], "without slashes"), (["--index", ".."], "--index"),
        (["--index", "a/b"], "--index"),
        (["--opne"], "--open"), (["somewhere"], "somewhere"), (["--index"], "index"),
    ]

    @Test(arguments: bad)
    func `a bad value is status 2 and a sentence`(_ arguments: [String], _ word: String) throws {
        let ended = try place.ended(2, "serve", words: arguments)
        expect(ended.output.isEmpty)
        expect(ended.errors.contains(word), "\(ended.errors)")
    }

    @Test func `what cannot be had is said before anything is served`() throws {
        let log = try place.ended(1, "serve", "--access-log", "no/such/log", "--json")
        try expect(log.error().message.contains("no/such/log"))
        let shell = try place.ended(3, "serve", "--shell", "none", "--json")
        try expect(shell.error().code, equals: "noVersion")
        try place.write(["server.json": "{"], to: ".castree")
        try expect(place.ended(1, "serve", "--json").error().code, equals: "badServerFile")
    }

    @Test func `without a store it is status 3`() throws {
        let refused = try Workplace().castree("serve", "--json")
        expect(refused.status, equals: 3)
        try expect(refused.error().code, equals: "noStore")
    }
}
