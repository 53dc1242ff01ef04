import WebTestSupport

@testable import ServeFromCAS

// docs/serving.md, "Which file a path gets": the index at another address than its own may miss its files.
@Suite("A page that only the browser's version has")
struct LostPageTests {
    private func kiosk(
        _ change: (inout AppServerOptions) -> Void = { _ in }
    ) throws -> TestApp {
        let store = try TemporaryStore(
            adding: "1",
            [
                "index.html": "<title>one</title>", "list.html": "<title>list of one</title>",
                "more.html": "<title>more of one</title>",
            ])
        try store.add(
            "2", ["index.html": "<title>two</title>", "new/index.html": "<title>new</title>"])
        try store.makeKnownGood("1")
        return try TestApp(store) {
            $0.confirmation = .seconds(2000)
            change(&$0)
        }
    }

    private func expectStartPage(_ answer: TestResponse) {
        expect(answer.status, equals: 302)
        expect(answer.value("Location"), equals: "/")
    }

    @Test func `leads to the next version's start page, which starts it`() throws {
        let app = try kiosk()
        let browser = try app.visitor(seeing: "list of one", at: "/list.html")
        try app.store.versions.activateAtNextBoot("2")
        for _ in 0..<2 {
            try expectStartPage(browser.navigate("/list.html"))
            let lifecycle = try app.store.versions.lifecycle()
            expect(lifecycle.current == "1" && lifecycle.attempts.isEmpty && lifecycle.boot == nil)
        }
        try expect(browser.navigate().text.contains("two"))
        try expect(browser.confirm(), equals: 204)
        try expect(app.store.versions.lifecycle().knownGood.contains("2"))
        // The browser has that version now, for which the address is a route.
        try expect(browser.navigate("/list.html").text.contains("two"))
    }

    @Test func `leads to the start page of the version to which the server went back`() throws {
        let app = try kiosk()
        let browser = try app.browser()
        try app.store.versions.activate("2")
        try expect(browser.navigate("/new/").text.contains("new"))
        _ = try app.store.versions.rollback()
        try expectStartPage(browser.navigate("/new/"))
        try expect(browser.navigate().text.contains("one"))
    }

    @Test func `is told of once where nothing leads to the start page, however many there are`()
        throws
    {
        let app = try kiosk { $0.site.fallback = .none }
        let browser = try app.browser()
        try app.store.versions.activateAtNextBoot("2")
        for page in ["/list.html", "/more.html", "/list.html"] {
            try expect(browser.navigate(page).text.contains("of one"))
            try expect(browser.navigate("/none.html").status, equals: 404)
        }
        expect(
            app.notices.all,
            equals: ["version 2 waits: it does not have the page that a browser has open"])
        try expect(browser.navigate().text.contains("two"))
    }

    @Test func `is another matter than a route, which gets the index of both`() throws {
        let app = try kiosk()
        let browser = try app.visitor(seeing: "one", at: "/route")
        try app.store.versions.activate("2")
        try expect(browser.navigate("/route").text.contains("two"))
    }
}
