import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md, "What counts as a start, and the failed attempts": a good version is never banned, so what the
// server itself has refused its page counts for nothing.
@Suite("A version being tried whose page was refused something")
struct RefusedAttemptTests {
    /// What a page of the version asks for that cannot be told from the older page.
    enum Request: CaseIterable {
        case script, data, frame, confirmation
        /// A session of the bridge, while as many pages as may be have one.
        case session
        /// One that a proxy refuses, which says so.
        case proxied
        /// One that both versions answer alike, and none at all.
        case same, none

        var isRefused: Bool { self != .same && self != .none }

        /// What it is answered.
        var status: Int? {
            switch self {
            case .none: nil
            case .same: 200
            case .session, .proxied: 503
            default: 409
            }
        }
    }

    /// Sends it as a page does whose navigation the browser had not had answered when it asked.
    private func send(_ request: Request, _ browser: TestBrowser, _ app: TestApp) throws -> Int? {
        let referrer = [("Referer", browser.origin + "/help/")]
        switch request {
        case .script: return try browser.load("/app.js", from: "/help/").status
        case .data: return try browser.ask("GET", "/style.css", referrer).status
        case .frame:
            return try browser.ask("GET", "/", frameLoad + referrer).status
        case .confirmation:
            let session = try browser.beginSession()
            try browser.post("/_castree/bridge?session=\(session)", "3\nA 0", from: "/help/")
            return try browser.post("/_castree/confirm?session=\(session)", from: "/help/").status
        case .session:
            for _ in 0..<256 {
                _ = try app.server.bridge.greet(nil, received: 0, wake: {}, now: SystemClock.now)
            }
            return try browser.post("/_castree/bridge", "5\nH 1 -", from: "/help/").status
        case .proxied:
            let fields = [("Origin", browser.origin), ("Castree-Refused", "1")]
            return try browser.ask("POST", "/_castree/bridge", fields, body: "5\nH 1 -").status
        case .same: return try browser.load("/same.txt", from: "/help/").status
        case .none: return nil
        }
    }

    @Test(
        "is left, waits for the next process, and counts nothing; of others not confirmed a failed attempt counts",
        arguments: Request.allCases)
    func refused(_ request: Request) async throws {
        let store = try TemporaryStore.app(good: "1")
        for _ in 1...3 {
            let app = try TestApp(store) {
                $0.confirmation = .seconds(2000)
                // However slow the machine is, the older page may be open still.
                $0.pinGrace = .seconds(100_000)
            }
            let browser = try app.browser()
            // None waits while the older page begins.
            try store.versions.activateAtNextBoot("1")
            try expect(browser.navigate().text.contains("one"))
            let before = browser.cookies
            try store.versions.activateAtNextBoot("2")
            try expect(browser.navigate("/help/").text.contains("help of two"))
            let after = browser.cookies
            browser.cookies = before
            try expect(send(request, browser, app), equals: request.status)
            browser.cookies = after
            app.look(after: .seconds(2001))
            let lifecycle = try store.reopened().lifecycle()
            expect(lifecycle.current, equals: "1")
            expect(lifecycle.pending, equals: "2")
            expect(lifecycle.attempts.map(\.failedAttempts), equals: request.isRefused ? [] : [1])
            expect(
                app.notices.all.contains { $0.contains("the server had refused files") }
                    == request.isRefused)
            // The reload that follows, and every later page.
            for _ in 1...2 { try expect(browser.navigate("/help/").text.contains("help of one")) }
            await app.stop()
            if !request.isRefused { return }
        }
    }

    @Test func `is not judged while the disk keeps its start from being taken back`() throws {
        let store = try TemporaryStore.app(good: "1")
        let disk = FaultyFileSystem()
        let app = try TestApp(store, over: store.opened(on: disk)) {
            $0.confirmation = .seconds(2000)
            $0.pinGrace = .seconds(100_000)
        }
        let browser = try app.visitor(seeing: "one")
        let before = browser.cookies
        try store.versions.activateAtNextBoot("2")
        try expect(browser.navigate("/help/").text.contains("help of two"))
        let after = browser.cookies
        browser.cookies = before
        try expect(send(.script, browser, app), equals: 409)
        browser.cookies = after
        disk.arm(.fail(5, at: 1, of: [.rename], path: "lifecycle.json"))
        app.look(after: .seconds(2001))
        expect(disk.hasFired)
        try expect(store.reopened().lifecycle().current, equals: "2")
        app.look(after: .seconds(2002))
        let lifecycle = try store.reopened().lifecycle()
        expect(lifecycle.current, equals: "1")
        expect(lifecycle.attempts.map(\.failedAttempts), equals: [])
    }

    @Test(
        "counts nothing either where its browser keeps no cookie, and all it asks for does not have the token"
    )
    func withoutCookies() throws {
        let own = "http://localhost:PORT/"
        for (fields, isOwn) in [
            ([("Sec-Fetch-Site", "same-origin")], true), ([("Referer", own)], true),
            ([("Sec-Fetch-Site", "cross-site")], false), ([("Sec-Fetch-Site", "same-site")], false),
            ([("Referer", "http://localhost:1/")], false), ([], false),
        ] {
            for path in ["/app.js", "/_castree/bridge", "/_castree/confirm", "/_castree/status"] {
                let store = try TemporaryStore.app(good: "1", waiting: "2")
                let app = try TestApp(store) {
                    $0.confirmation = .seconds(2000)
                    $0.requiresToken = true
                }
                let query = try require(app.server.url.split(separator: "?").last)
                try expect(
                    app.browser().ask("GET", "/?\(query)", navigation).text.contains("two"))
                let port = "\(app.port)"
                let sent = fields.map { ($0.0, $0.1.replacing("PORT", with: port)) }
                try expect(app.browser().ask("GET", path, scriptLoad + sent).status, equals: 403)
                app.look(after: .seconds(2001))
                let lifecycle = try store.reopened().lifecycle()
                expect(lifecycle.current, equals: "1")
                expect(
                    lifecycle.attempts.map(\.failedAttempts), equals: isOwn ? [] : [1],
                    "\(path) \(fields)")
            }
        }
    }
}
