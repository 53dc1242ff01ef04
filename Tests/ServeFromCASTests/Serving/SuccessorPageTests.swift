import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md, "Service workers": what a precache does not fetch again, since its bytes are the same, stays the older version's copy.
@Suite("A page that a worker keeps from an older version")
struct SuccessorPageTests {
    /// Versions that have the same start page.
    private func store(_ more: [String: String] = [:]) throws -> TemporaryStore {
        let store = try TemporaryStore()
        for version in ["1", "2", "3"] {
            let own = [
                "index.html": "<title>app</title>", "worker.js": "worker(\(version))",
                "app.js": "run(\(version))", "data.txt": version, "same.js": "same",
                "old.js": "same", "about.html": "<title>about</title>",
            ]
            try store.add(
                version, own.merging(version == "2" ? more : [:]) { $1 })
        }
        try store.makeKnownGood("1")
        return store
    }

    /// A browser of which a worker keeps the page of version 1, and the server shows another.
    private final class Kiosk {
        let app: TestApp
        let browser: TestBrowser
        var marks: [(String, String)] = []
        var session = ""

        init(
            _ store: TemporaryStore, shows version: String = "2", script: String = "/worker.js",
            asks path: String? = nil
        ) throws {
            app = try TestApp(store)
            browser = try app.browser()
            marks = Hints.left(by: try browser.ask("GET", "/", navigation + Hints.all))
            if let path { _ = try browser.ask("GET", path, navigation + Hints.all) }
            try store.versions.activate(version)
            app.server.handler.follow()
            _ = try browser.ask(
                "GET", script,
                [("Service-Worker", "script"), ("Referer", browser.origin + "/")])
            session = try open("1")
        }

        /// Something that a page asks for, with the page's hints.
        func post(_ target: String, _ body: String = "") throws -> Int {
            try browser.ask(
                "POST", target,
                marks + [("Origin", browser.origin), ("Referer", browser.origin + "/")], body: body
            ).status
        }

        func data() throws -> String {
            let fields = [("Referer", browser.origin + "/"), ("Sec-Fetch-Site", "same-origin")]
            let answer = try browser.ask("GET", "/data.txt", marks + fields)
            return answer.status == 200 ? answer.text : "\(answer.status)"
        }

        /// A page that says a version begins a session.
        func open(_ version: String, from path: String = "/") throws -> String {
            let fields = marks + [("Origin", browser.origin), ("Referer", browser.origin + "/")]
            let answer = try browser.ask("POST", "/_castree/bridge", fields, body: "5\nH 1 -")
            let session = try require(
                answer.text.split(separator: " ").first { BridgeSessionID(String($0)) != nil })
            _ = try post(
                "/_castree/bridge?session=\(session)&version=\(version)&from=\(path)", "3\nA 0")
            return String(session)
        }

        /// The page says what it has, and asks whether it is a later version's as well.
        func ask(
            _ files: String = "1 /\n2 /app.js\n1 /same.js\n", as next: String = "2",
            session: String? = nil, tab: String = ""
        ) throws -> [Int] {
            let query =
                "/_castree/mixed?session=\(session ?? self.session)&version=1&worker=1&as=\(next)"
            let status = try post(query, files)
            return status == 204 ? try [status, post(query, tab)] : [status]
        }
    }

    @Test("is the current version's if all that it has is, and gets that one's files then")
    func successor() throws {
        let store = try store()
        let kiosk = try Kiosk(store)
        try expect(kiosk.data(), equals: "1")
        try expect(kiosk.ask(), equals: [204, 205])
        try expect(kiosk.data(), equals: "2")
        // It is loaded again, and says that version.
        _ = try kiosk.post("/_castree/bridge?session=\(kiosk.session)", "1\nC")
        let session = try kiosk.open("2")
        try expect(kiosk.data(), equals: "2")
        let query = "?session=\(session)&version=2"
        try expect(kiosk.post("/_castree/mixed" + query, "1 /\n1 /same.js\n"), equals: 204)
        try expect(kiosk.post("/_castree/confirm" + query), equals: 204)
    }

    @Test func `outlives a restart of the server as that version's`() async throws {
        let store = try store()
        let kiosk = try Kiosk(store)
        try expect(kiosk.ask(), equals: [204, 205])
        let handler = kiosk.app.server.handler
        handler.pins.withLock { $0.forgetPages(run: "another") }
        try expect(kiosk.data(), equals: "2")
    }

    @Test("stays what it is where any of its files is the older version's, or may be another's")
    func others() throws {
        // What the later version has that differs, and what the page has.
        for (more, files) in [
            ([:], "1 /\n1 /app.js\n"), ([:], "2 /app.js\n1 /data.txt\n"),
            (["index.html": "<title>new</title>"], "1 /\n2 /app.js\n"),
            (["index.html": "<title>new</title>"], "2 /app.js\n"),
            (["index.html": "<title>new</title>"], "1 /deep/link\n"),
            (["old.js": "new"], "1 /\n1 /old.js\n"), (["old.js": "new"], "1 /old.js?x#y\n"),
            ([:], "3 /app.js\n"),
        ] {
            let store = try store(more)
            let kiosk = try Kiosk(store)
            try expect(kiosk.ask(files).last, equals: 409, "\(files)")
            try expect(kiosk.data(), equals: "1")
        }
        // The page is another one than the start page, and differs.
        let kiosk = try Kiosk(store(["about.html": "<title>new</title>"]))
        _ = try kiosk.post("/_castree/bridge?session=\(kiosk.session)", "1\nC")
        let about = try kiosk.open("1", from: "/about.html")
        try expect(kiosk.ask("2 /app.js\n", session: about), equals: [204, 409])
        // The version that is shown is another, the browser has not got that one's worker, or its script is the same.
        for (shows, script, next) in [
            ("2", "/worker.js", "3"), ("1", "/worker.js", "2"), ("2", "/none.js", "2"),
            ("2", "/same.js", "2"), ("2", "/worker.js", "4"),
        ] {
            let kiosk = try Kiosk(store(), shows: shows, script: script)
            try expect(kiosk.ask("1 /\n", as: next).last, equals: 409, "\(shows) \(script) \(next)")
            try expect(kiosk.data(), equals: "1")
        }
    }

    @Test func `waits for the other pages of its browser that have its hints`() throws {
        let store = try store()
        let kiosk = try Kiosk(store)
        let other = try kiosk.open("1")
        try expect(kiosk.ask(), equals: [204, 409])
        try expect(kiosk.data(), equals: "1")
        // The other one finds the same of itself.
        try expect(kiosk.ask(session: other), equals: [204, 205])
        try expect(kiosk.ask(), equals: [204, 205])
        try expect(kiosk.data(), equals: "2")
        // Those of another browser keep their version.
        let stranger = try Kiosk(self.store())
        try expect(stranger.data(), equals: "1")
    }

    @Test func `waits for none that was in its tab before, or is in a frame there`() throws {
        let kiosk = try Kiosk(store())
        let (frame, other) = try (kiosk.open("1", from: "/about.html"), kiosk.open("1"))
        try expect(kiosk.ask(tab: " \(frame)"), equals: [204, 409])
        try expect(kiosk.ask(tab: " \(frame) \(other) \(kiosk.session)"), equals: [204, 205])
        try expect(kiosk.data(), equals: "2")
    }

    @Test func `waits for no page that its browser has asked for and its worker has shown`() throws
    {
        for (path, isShown) in [("/", true), ("/about.html", false)] {
            let kiosk = try Kiosk(store(), asks: path)
            try expect(kiosk.ask(), equals: [204, isShown ? 205 : 409], "\(path)")
            try expect(kiosk.data(), equals: isShown ? "2" : "1")
        }
    }
}
