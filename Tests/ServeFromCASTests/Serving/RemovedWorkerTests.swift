import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md, "Service workers": a version without the worker that another has brought takes its place.
@Suite("A service worker's script that a version is missing")
struct RemovedWorkerTests {
    private static let hasWorker = ["1": true, "2": false, "3": false]

    private func app() throws -> TestApp {
        let store = try TemporaryStore()
        for (version, hasWorker) in Self.hasWorker {
            var files = ["index.html": "<title>\(version)</title>"]
            if hasWorker { files["worker.js"] = "worker(\(version))" }
            try store.add(version, files)
        }
        try store.makeKnownGood("1")
        return try TestApp(watching: store)
    }

    private func ask(_ path: String, _ browser: TestBrowser) throws -> TestResponse {
        let fields = [("Service-Worker", "script"), ("Sec-Fetch-Dest", "serviceworker")]
        return try browser.ask("GET", path, fields + [("Referer", browser.origin + "/")])
    }

    @Test func `is 404 where no version has it, and no cookie lasts for it`() throws {
        let browser = try app().browser()
        for start in ["/", "/?again"] {
            try browser.navigate(start)
            let answer = try ask("/none.js", browser)
            expect(answer.status == 404 && answer.value("Set-Cookie") == nil)
        }
        // One that it was given is another matter.
        try expect(ask("/worker.js", browser).value("Set-Cookie")?.contains("Max-Age") ?? false)
        try expect(ask("/none.js", browser).text.contains("unregister"))
    }

    @Test
    func `is one that removes itself for a module too, which browsers ask for without a cookie`()
        throws
    {
        let app = try app()
        let browser = try app.visitor()
        browser.cookies = [:]
        try expect(ask("/none.js", browser).status, equals: 404)
        try expect(ask("/worker.js", browser).text, equals: "worker(1)")
        try app.store.versions.activate("2")
        app.look(after: .zero)
        browser.cookies = [:]
        try expect(ask("/worker.js", browser).text.contains("unregister"))
    }

    @Test func `starts that version where it waits and the worker keeps pages, once`() throws {
        let app = try app()
        let browser = try app.visitor()
        try expect(ask("/worker.js", browser).text, equals: "worker(1)")
        try app.store.versions.activateAtNextBoot("2")
        let session = try browser.beginSession(saying: "1")
        try expect(ask("/worker.js", browser).text, equals: "worker(1)")
        try browser.post("/_castree/stale-page?session=\(session)&version=1")
        try expect(ask("/worker.js", browser).text.contains("unregister"))
        try expect(app.store.reopened().lifecycle().unconfirmed?.version, equals: "2")
        let confirm = "/_castree/confirm?session=\(try browser.beginSession())&version=2"
        try expect(browser.navigate().text.contains("2"))
        try expect(browser.post(confirm).status, equals: 204)
        // The worker is gone already: what waits next needs a navigation.
        try app.store.versions.activateAtNextBoot("3")
        try expect(ask("/worker.js", browser).text.contains("unregister"))
        try expect(app.store.reopened().lifecycle().pending, equals: "3")
    }
}
