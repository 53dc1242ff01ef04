import StorageTestSupport

@testable import ServeFromCAS

// The server answers a navigation with one version, and a service worker shows another's page in its place.
@Suite("A page that a service worker keeps")
struct KeptPageTests {
    /// What a page may say of itself that is not of version 2.
    private static let words = ["1", "", "never", "%32"]

    @Test("says its version in every copy: documents, scripts and styles do, and nothing else")
    func documents() throws {
        let store = try TemporaryStore.app()
        let browser = try TestApp(watching: store).browser()
        for page in ["/", "/help/", "/nowhere"] {
            let answer = try browser.navigate(page)
            expect(answer.value("Server-Timing"), equals: "castree;desc=\"1\"", "\(page)")
            let tag = try require(answer.value("ETag"))
            let same = try browser.ask("GET", page, navigation + [("If-None-Match", tag)])
            expect(same.status, equals: 304)
            expect(same.value("Server-Timing"), equals: "castree;desc=\"1\"", "\(page)")
            // As a worker asks for what it keeps.
            let kept = try browser.ask(
                "GET", page, [("Sec-Fetch-Mode", "cors"), ("Accept", "*/*")])
            let expected: String? = kept.status == 200 ? "castree;desc=\"1\"" : nil
            expect(kept.value("Server-Timing"), equals: expected, "\(page)")
        }
        for file in ["/app.js", "/style.css"] {
            let answer = try browser.load(file)
            expect(answer.value("Server-Timing"), equals: "castree;desc=\"1\"", "\(file)")
            let tag = try require(answer.value("ETag"))
            let same = try browser.ask("GET", file, [("If-None-Match", tag)])
            expect(same.status, equals: 304)
            expect(same.value("Server-Timing"), equals: "castree;desc=\"1\"", "\(file)")
        }
        for file in ["/same.txt", "/_castree/bridge.js"] {
            try expect(browser.load(file).value("Server-Timing") == nil, "\(file)")
        }
    }

    @Test(
        "makes nothing known good and nothing banned, and the start that it hid is none",
        arguments: words)
    func confirms(_ word: String) throws {
        let (store, app) = try TestApp.kiosk()
        for _ in 1...3 {
            try store.versions.activateAtNextBoot("2")
            let browser = try app.visitor(seeing: "two")
            // It confirms its own version only, which is known good.
            try expect(browser.confirm(saying: word), equals: word == "1" ? 204 : 409)
            let lifecycle = try store.reopened().lifecycle()
            expect(lifecycle.current, equals: "1")
            expect(lifecycle.pending, equals: "2")
            expect(lifecycle.knownGood, equals: ["1"])
            expect(lifecycle.bad, equals: [])
            expect(lifecycle.attempts, equals: [])
            expect(lifecycle.unconfirmed == nil)
        }
        // Its time is not running.
        app.look(after: .seconds(36_000))
        try expect(store.reopened().lifecycle().attempts, equals: [])
        // The first that is shown is its first start.
        let shown = try app.visitor(seeing: "two")
        try expect(shown.confirm(saying: "2"), equals: 204)
        try expect(store.reopened().lifecycle().knownGood, equals: ["2", "1"])
    }

    @Test func `hides a start by saying so when it connects, before it confirms anything`() throws {
        for isPolling in [true, false] {
            let (store, app) = try TestApp.kiosk(waiting: "2")
            let browser = try app.visitor(seeing: "two")
            var page: SocketPage?
            if isPolling {
                _ = try browser.beginSession(saying: "1")
            } else {
                page = try SocketPage(browser, saying: "1")
            }
            try app.wait(for: "the start to be taken back") {
                try store.reopened().lifecycle().current == "1"
            }
            let lifecycle = try store.reopened().lifecycle()
            expect(lifecycle.pending, equals: "2")
            expect(lifecycle.attempts, equals: [])
            try app.wait(for: "the notice, which follows") {
                app.notices.all.contains { $0.contains("a service worker showed version 1") }
            }
            withExtendedLifetime(page) {}
        }
    }

    @Test(
        "is told to load itself, though it first hears of what is to be shown at once when a start of that was hidden"
    )
    func mandatory() throws {
        let (store, app) = try TestApp.kiosk()
        app.server.handler.starts.setSwitching(SwitchingRule(reloads: true))
        try store.versions.activateAtNextBoot("2")
        app.look(after: .zero)
        let browser = try app.visitor(seeing: "two")
        // Nothing waits any more.
        app.server.handler.starts.setSwitching(SwitchingRule())
        _ = try browser.beginSession(saying: "1")
        try app.wait(for: "the start to be taken back") {
            try store.reopened().lifecycle().current == "1"
        }
        let told = try SocketPage(app.browser(), saying: "1").heard("version-ready", app)
        expect(told, equals: [#"{"version":"2","reload":true}"#])
    }

    @Test(arguments: [false, true])
    func `hides no start for good where only the server's first page starts one`(
        isByScript: Bool
    ) throws {
        let (store, app) = try TestApp.kiosk()
        app.server.handler.starts.setSwitching(SwitchingRule(waitsForStart: true))
        try store.versions.activateAtNextBoot("2")
        let browser = try app.browser()
        let script = [("Service-Worker", "script"), ("Referer", browser.origin + "/")]
        // The worker's preload, which it does not show.
        try expect(browser.navigate().text.contains("two"))
        try expect(browser.confirm(saying: "1"), equals: 204)
        try expect(store.reopened().lifecycle().current, equals: "1")
        if isByScript {
            try expect(browser.ask("GET", "/app.js", script).text, equals: "run('two')")
        } else {
            try expect(browser.navigate().text.contains("two"))
        }
        try expect(store.reopened().lifecycle().unconfirmed?.version, equals: "2")
    }

    /// When a page is open that is gone before the time of a start ends.
    enum Visit: CaseIterable { case when, after, reloaded, beside }

    @Test(
        "is heard of however briefly: what its worker's script has started is struck only if a page of it was shown",
        arguments: Visit.allCases, [false, true])
    func brief(_ visit: Visit, isShown: Bool) throws {
        let (store, app) = try TestApp.kiosk()
        let browser = try app.visitor()
        func open(_ word: String) throws -> String {
            return try browser.beginSession(saying: word)
        }
        func close(_ session: String) throws {
            try browser.leave(session)
        }
        try store.versions.activateAtNextBoot("2")
        let old = try open("1")
        try expect(
            browser.post("/_castree/stale-page?session=\(old)&version=1").status, equals: 204)
        if visit == .after { try close(old) }
        let script = [
            ("Service-Worker", "script"), ("Sec-Fetch-Mode", "same-origin"),
            ("Sec-Fetch-Dest", "serviceworker"), ("Sec-Fetch-Site", "same-origin"),
            ("Referer", browser.origin + "/"),
        ]
        try expect(browser.ask("GET", "/app.js", script).text, equals: "run('two')")
        try expect(store.reopened().lifecycle().unconfirmed?.version, equals: "2")
        if visit != .after, visit != .beside { try close(old) }
        if visit == .after || visit == .reloaded { try close(open("1")) }
        if isShown { try close(open("2")) }
        if visit == .beside { try close(old) }
        app.look(after: .seconds(2001))
        let lifecycle = try store.reopened().lifecycle()
        expect(lifecycle.current == "1" && lifecycle.pending == "2")
        expect(lifecycle.attempts.map(\.failedAttempts), equals: isShown ? [1] : [])
    }

    @Test(
        "hides no start of another browser, nor of another tab where it was open long before, so that nothing is ever struck",
        arguments: [false, true])
    func idle(isOfOther: Bool) throws {
        let store = try TemporaryStore.app(good: "1")
        let app = try TestApp(watching: store)
        let browser = try app.visitor()
        let script = [("Service-Worker", "script"), ("Referer", browser.origin + "/")]
        try expect(browser.ask("GET", "/app.js", script).text, equals: "run('one')")
        let idle = isOfOther ? try app.visitor() : browser
        let session = try idle.beginSession()
        try idle.post("/_castree/bridge?session=\(session)&version=1", "3\nA 0")
        if !isOfOther {
            app.heardEarlier(by: .seconds(40))
        }
        try store.versions.activateAtNextBoot("2")
        // Its page is broken: nobody ever hears of it.
        try expect(browser.navigate().text.contains("two"))
        app.look(after: .seconds(2001))
        let lifecycle = try store.reopened().lifecycle()
        expect(lifecycle.current == "1" && lifecycle.pending == "2")
        expect(lifecycle.attempts.map(\.failedAttempts), equals: [1])
    }

    @Test func `hides nothing that another tab shows`() throws {
        let (store, app) = try TestApp.kiosk(waiting: "2")
        let shown = try app.visitor(seeing: "two")
        let page = try SocketPage(shown, saying: "2")
        try expect(app.visitor().confirm(saying: "1"), equals: 204)
        let lifecycle = try store.reopened().lifecycle()
        expect(lifecycle.current, equals: "2")
        expect(lifecycle.unconfirmed?.version, equals: "2")
        expect(lifecycle.knownGood, equals: ["1"])
        withExtendedLifetime(page) {}
    }

    @Test func `proves no more than its requests do, whatever it says`() throws {
        let (store, app) = try TestApp.kiosk()
        let old = try app.visitor(seeing: "one")
        try store.versions.activateAtNextBoot("2")
        try expect(app.browser().navigate().text.contains("two"))
        try expect(old.confirm(saying: "2"), equals: 409)
        let lifecycle = try store.reopened().lifecycle()
        expect(lifecycle.knownGood, equals: ["1"])
        expect(lifecycle.unconfirmed?.version, equals: "2")
        expect(lifecycle.attempts.map(\.failedAttempts), equals: [1])
    }

    @Test(
        "counts nothing where there is nothing to go back to: the version waits for its next page")
    func nothingBefore() throws {
        let store = try TemporaryStore(adding: "2", ["index.html": "<title>two</title>"])
        try store.versions.activate("2")
        let app = try TestApp(watching: store)
        let browser = try app.visitor()
        try expect(browser.confirm(saying: ""), equals: 409)
        var lifecycle = try store.reopened().lifecycle()
        expect(lifecycle.current, equals: "2")
        expect(lifecycle.attempts, equals: [])
        expect(lifecycle.knownGood, equals: [])
        try browser.navigate()
        lifecycle = try store.reopened().lifecycle()
        expect(lifecycle.unconfirmed?.version, equals: "2")
        try expect(browser.confirm(), equals: 204)
    }
}
