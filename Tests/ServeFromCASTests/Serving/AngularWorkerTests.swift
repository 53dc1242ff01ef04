import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md, "Service workers": a worker that is the same in every release, and a list of what the newest one has.
@Suite("Angular's worker") struct AngularWorkerTests {
    private func app(_ store: TemporaryStore) throws -> TestApp {
        for version in ["1", "2"] {
            try store.add(
                version,
                [
                    "index.html": "<title>\(version)</title>", "app.js": "run(\(version))",
                    "ngsw-worker.js": "worker", "ngsw.json": "list of \(version)",
                ])
        }
        try store.add("3", ["index.html": "<title>3</title>", "ngsw-worker.js": "worker"])
        try store.makeKnownGood("1")
        let app = try TestApp(watching: store)
        app.server.handler.pins.withLock { $0.limits.installing = .seconds(1000) }
        return app
    }

    /// What the worker asks for in its own name.
    private func ask(_ browser: TestBrowser, _ path: String) throws -> TestResponse {
        try browser.ask(
            "GET", path,
            [
                ("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty"),
                ("Sec-Fetch-Site", "same-origin"),
                ("Referer", browser.origin + "/ngsw-worker.js"),
            ])
    }

    private let list = "/ngsw.json?ngsw-cache-bust=0.25"

    /// A browser whose worker was seen to show version 1 in place of 2.
    private func kept(_ app: TestApp, _ store: TemporaryStore) throws -> TestBrowser {
        let browser = try app.visitor()
        _ = try browser.ask(
            "GET", "/ngsw-worker.js",
            [("Service-Worker", "script"), ("Sec-Fetch-Mode", "same-origin")])
        try expect(ask(browser, list).text, equals: "list of 1")
        try store.versions.activateAtNextBoot("2")
        let session = try browser.beginSession(saying: "1")
        let stale = "/_castree/stale-page?session=\(session)&version=1"
        try expect(browser.post(stale).status, equals: 204)
        return browser
    }

    @Test func `gets the list, and what it lists, of the version that the next page gets`() throws {
        let store = try TemporaryStore()
        let app = try app(store)
        let browser = try kept(app, store)
        try expect(ask(browser, list).text, equals: "list of 2")
        try expect(ask(browser, "/app.js").text, equals: "run(2)")
        try expect(ask(browser, "/index.html").text.contains("2"))
        try expect(store.reopened().lifecycle().current, equals: "2")
        // The page that is open stays what it is, whatever the worker asks for.
        try expect(browser.load("/app.js").text, equals: "run(1)")
    }

    @Test("is told that there is no list where the version has none: it goes automatically then")
    func noList() throws {
        let store = try TemporaryStore()
        let app = try app(store)
        let browser = try kept(app, store)
        try store.versions.activateAtNextBoot("3")
        try store.versions.activate("3")
        try expect(ask(browser, list).status, equals: 404)
    }

    @Test func `starts nothing by a list that a page, or a tool, asks for`() throws {
        let store = try TemporaryStore()
        let app = try app(store)
        let browser = try kept(app, store)
        try expect(browser.load(list).text, equals: "list of 1")
        _ = try app.browser().ask("GET", list, [])
        try expect(store.reopened().lifecycle().current, equals: "1")
    }
}
