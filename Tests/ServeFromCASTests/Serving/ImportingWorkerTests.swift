import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md, "Service workers": a worker that is the same in every release, but for a script that it imports.
@Suite("A script that a worker imports")
struct ImportingWorkerTests {
    private let store: TemporaryStore
    private let app: TestApp
    private let browser: TestBrowser
    private let page: [(String, String)]

    /// A browser whose worker was seen to show version 1 in place of 2.
    init() throws {
        store = try TemporaryStore()
        for version in ["1", "2"] {
            try store.add(
                version,
                [
                    "index.html": "<title>\(version)</title>", "app.js": "run(\(version))",
                    "worker.js": "importScripts('list.js', 'same.js')", "same.js": "same",
                    "list.js": "list of \(version)",
                ])
        }
        try store.makeKnownGood("1")
        app = try TestApp(watching: store)
        app.server.handler.pins.withLock { $0.limits.installing = .seconds(1000) }
        browser = try app.browser()
        let shown = try browser.ask("GET", "/", navigation + Hints.all)
        page = Hints.left(by: shown) + [("Referer", browser.origin + "/")]
        let session = try browser.beginSession(saying: "1")
        try store.versions.activateAtNextBoot("2")
        let stale = "/_castree/stale-page?session=\(session)&version=1"
        try expect(browser.post(stale, from: "/").status, equals: 204)
    }

    /// The browser asks for the worker's script, to see whether it differs.
    private func check() throws {
        let script = try browser.ask(
            "GET", "/worker.js",
            [
                ("Service-Worker", "script"), ("Sec-Fetch-Mode", "same-origin"),
                ("Sec-Fetch-Dest", "serviceworker"), ("Sec-Fetch-Site", "same-origin"),
                ("Referer", browser.origin + "/"),
            ])
        expect(script.text.contains("importScripts"))
        // It is the same, so it brings no other pages.
        try expect(store.reopened().lifecycle().current, equals: "1")
    }

    private func script(of referrer: String) -> [(String, String)] {
        [
            ("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "script"),
            ("Sec-Fetch-Site", "same-origin"), ("Referer", browser.origin + referrer),
        ]
    }

    private func expectUpdate() throws {
        try expect(store.reopened().lifecycle().current, equals: "2")
        // What the worker installs, and what the open page asks for.
        let kept = fetchLoad + [("Referer", browser.origin + "/worker.js")]
        try expect(browser.ask("GET", "/app.js", kept).text, equals: "run(2)")
        try expect(browser.ask("GET", "/app.js", scriptLoad + page).text, equals: "run(1)")
    }

    @Test("is compared as the version's that the next page gets, like the worker's own")
    func compared() throws {
        try check()
        try expect(browser.ask("GET", "/same.js", script(of: "/")).text, equals: "same")
        try expect(store.reopened().lifecycle().current, equals: "1")
        try expect(browser.ask("GET", "/list.js", script(of: "/")).text, equals: "list of 2")
        try expectUpdate()
    }

    @Test("is compared so where it is a module, for which the browser sends no cookie")
    func module() throws {
        let cookies = browser.cookies
        browser.cookies = [:]
        try check()
        browser.cookies = [:]
        let module = [
            ("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "serviceworker"),
            ("Sec-Fetch-Site", "same-origin"), ("Referer", browser.origin + "/worker.js"),
        ]
        try expect(browser.ask("GET", "/list.js", module).text, equals: "list of 2")
        browser.cookies = cookies
        try expectUpdate()
        // The worker's pages send no navigation, so what it asks for brings the cookie.
        expect(browser.cookies != cookies)
    }

    @Test(
        "is the page's where a page loads it, or a worker of the page, and where no check has begun"
    )
    func ofPage() throws {
        try expect(browser.ask("GET", "/list.js", script(of: "/")).text, equals: "list of 1")
        try check()
        try expect(browser.ask("GET", "/list.js", scriptLoad + page).text, equals: "list of 1")
        try expect(browser.ask("GET", "/list.js", script(of: "/app.js")).text, equals: "list of 1")
        let fetched = fetchLoad + [("Referer", browser.origin + "/")]
        try expect(browser.ask("GET", "/list.js", fetched).text, equals: "list of 1")
        try expect(store.reopened().lifecycle().current, equals: "1")
    }
}
