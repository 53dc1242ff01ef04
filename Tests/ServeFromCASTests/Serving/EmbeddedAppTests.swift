import StorageTestSupport

@testable import ServeFromCAS

@Suite("An app in a frame")
struct EmbeddedAppTests {
    /// How a frame's document is asked for.
    struct Way: Sendable {
        var site: String
        var destination = "iframe"
        var purpose: String?
        var mayStart: Bool
    }

    private static let ways: [Way] = [
        Way(site: "same-site", mayStart: true),
        Way(site: "same-site", destination: "frame", mayStart: true),
        Way(site: "cross-site", mayStart: false), Way(site: "same-origin", mayStart: false),
        Way(site: "none", mayStart: false),
        Way(site: "same-site", destination: "object", mayStart: true),
        Way(site: "same-site", destination: "embed", mayStart: true),
        Way(site: "same-site", purpose: "prefetch", mayStart: false),
    ]

    @Test(
        "gets the version that waits where the page around it is of the same site, and no other does",
        arguments: ways)
    func starts(_ way: Way) throws {
        let (store, app) = try TestApp.kiosk()
        let browser = try app.browser()
        var fields = [
            ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", way.destination),
            ("Sec-Fetch-Site", way.site), ("Accept", "text/html"),
        ]
        if let purpose = way.purpose { fields.append(("Sec-Purpose", purpose)) }
        try expect(browser.ask("GET", "/", fields).text.contains("one"))
        try store.versions.activateAtNextBoot("2")
        let text = try browser.ask("GET", "/", fields).text
        expect(text.contains(way.mayStart ? "two" : "one"), "\(way)")
        try expect(store.reopened().lifecycle().current, equals: way.mayStart ? "2" : "1", "\(way)")
        let isTold = app.notices.all.contains { $0.contains("a frame of another site's page") }
        expect(isTold, equals: way.site == "cross-site", "\(way)")
        if way.mayStart { try expect(browser.confirm(), equals: 204) }
    }

    @Test(
        "counts nothing if it fails, and is started once by what another origin's page does, however often that is"
    )
    func failsByOthers() throws {
        let causes = [
            [("Sec-Fetch-Dest", "iframe"), ("Sec-Fetch-Site", "same-site")],
            [("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Site", "same-site")],
            [("Referer", "http://localhost:1/")], [("Origin", "http://localhost:1")],
        ]
        for cause in causes {
            let (store, app) = try TestApp.kiosk(waiting: "2")
            let fields = cause + [("Sec-Fetch-Mode", "navigate"), ("Accept", "text/html")]
            for round in 1...4 {
                let text = try app.browser().ask("GET", "/", fields).text
                expect(text.contains(round == 1 ? "two" : "one"), "\(cause) \(round)")
                app.look(after: .seconds(2001 * round))
                let lifecycle = try store.reopened().lifecycle()
                expect(lifecycle.attempts, equals: [], "\(cause)")
                expect(lifecycle.bad, equals: [])
                expect(lifecycle.current, equals: "1")
                expect(lifecycle.pending, equals: "2")
            }
            // A page of its own starts it.
            let own = try app.visitor(seeing: "two")
            try expect(own.confirm(), equals: 204)
        }
    }

    /// Where a tab of the same browser shows the same page.
    enum Tab: CaseIterable { case none, before, after }

    @Test(
        "gets it when it loads itself again, as version-ready tells it to, also beside a tab at its path",
        arguments: Tab.allCases)
    func again(_ tab: Tab) throws {
        let (store, app) = try TestApp.kiosk()
        let browser = try app.browser()
        if tab == .before { try browser.navigate() }
        let frame = [
            ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe"), ("Accept", "text/html"),
        ]
        try browser.ask("GET", "/", frame + [("Sec-Fetch-Site", "same-site")])
        if tab == .after { try browser.navigate() }
        try store.versions.activateAtNextBoot("2")
        let again = [
            ("Sec-Fetch-Site", "same-origin"), ("Referer", browser.origin + "/"),
            ("Cache-Control", "max-age=0"),
        ]
        try expect(browser.ask("GET", "/", frame + again).text.contains("two"))
        try expect(browser.confirm(), equals: 204)
        try expect(store.reopened().lifecycle().knownGood, equals: ["2", "1"])
    }

    @Test func `gets it beside a tab at its path that has an older version`() throws {
        let (store, app) = try TestApp.kiosk()
        let browser = try app.visitor(seeing: "one")
        try store.versions.activate("2")
        let frame = [
            ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe"), ("Accept", "text/html"),
        ]
        let shell = frame + [("Sec-Fetch-Site", "same-site")]
        try expect(browser.ask("GET", "/", shell).text.contains("two"))
        try store.versions.activate("1")
        let again = [
            ("Sec-Fetch-Site", "same-origin"), ("Referer", browser.origin + "/"),
            ("Cache-Control", "max-age=0"),
        ]
        try expect(browser.ask("GET", "/", frame + again).text.contains("one"))
    }

    private static func reload(_ browser: TestBrowser) -> [(String, String)] {
        frameLoad + Hints.all + [
            ("Sec-Fetch-Site", "same-origin"), ("Referer", browser.origin + "/"),
            ("Cache-Control", "max-age=0"), ("Accept", "text/html"),
        ]
    }

    /// Shows it in another site's page; what its own requests say then.
    private func shownElsewhere(_ browser: TestBrowser) throws -> [(String, String)] {
        let shell = [
            ("Sec-Fetch-Site", "cross-site"), ("Referer", "http://another.example/"),
            ("Accept", "text/html"), ("Sec-Fetch-Storage-Access", "none"),
        ]
        let page = try browser.ask("GET", "/", frameLoad + Hints.all + shell)
        expect(page.text.contains("one"))
        // Browsers send no other cookie there, and this one only there.
        let cookie = try require(page.value("Set-Cookie"))
        expect(cookie.hasSuffix("; HttpOnly; SameSite=None; Partitioned; Secure"), "\(cookie)")
        return Hints.left(by: page) + [
            ("Sec-Fetch-Site", "same-origin"), ("Referer", browser.origin + "/"),
        ]
    }

    @Test(
        "gets the cookie of another site's page only there, whoever leads to it",
        arguments: [
            // Another site leads back a frame of the app's own page, or of a shell of this site: so in Chromium.
            ("cross-site", nil, false), ("same-site", nil, false),
            // A page of this site shows it, in another site's.
            ("same-site", "none", true), ("same-site", "active", true),
            ("cross-site", "inactive", true),
        ])
    func cookie(_ site: String, _ storage: String?, _ isElsewhere: Bool) throws {
        let browser = try TestApp(TemporaryStore.app()).browser()
        let fields = [
            ("Sec-Fetch-Site", site), ("Referer", "http://another.example/"),
            ("Accept", "text/html"),
        ]
        let page = try browser.ask(
            "GET", "/",
            frameLoad + Hints.all + fields
                + (storage.map { [("Sec-Fetch-Storage-Access", $0)] } ?? []))
        let cookie = try require(page.value("Set-Cookie"))
        expect(cookie.contains("Partitioned"), equals: isElsewhere)
        expect(cookie.contains("SameSite=Lax"), equals: !isElsewhere)
    }

    @Test(
        "in another site's page keeps its version when the server is restarted, and loads itself again if that is gone",
        arguments: [false, true])
    func restarted(_ isGone: Bool) async throws {
        let app = try TestApp(TemporaryStore.app())
        let browser = try app.browser()
        let own = try shownElsewhere(browser)
        let (next, tab) = try await app.restarted(browser) {
            try $0.activate("2")
            if isGone { try $0.retire("1") }
        }
        let file = try tab.ask("GET", "/app.js", scriptLoad + own)
        expect(file.status, equals: isGone ? 409 : 200)
        expect(file.text == "run('one')", equals: !isGone)
        let words = try SocketPage(next.tab(of: tab), saying: "1").heard("version-ready", next)
        let reload = isGone ? #","reload":true"# : ""
        expect(words, equals: [#"{"version":"2"\#(reload)}"#])
        try expect(tab.ask("GET", "/", Self.reload(tab)).text.contains("two"))
    }

    @Test func `in another site's page starts nothing and is told of nothing that waits`() throws {
        let (store, app) = try TestApp.kiosk()
        let browser = try app.browser()
        _ = try shownElsewhere(browser)
        try store.versions.activateAtNextBoot("2")
        app.look(after: .zero)
        let words = try SocketPage(app.tab(of: browser), saying: "1").heard("version-ready", app)
        expect(words, equals: [])
        try expect(browser.ask("GET", "/", Self.reload(browser)).text.contains("one"))
        expect(app.notices.all.contains { $0.contains("a frame of another site's page") })
        // Nor where the browser sends no cookie from there.
        let page = try SocketPage(app.browser(), saying: "1", loadedFrom: "/&shell=1")
        try expect(page.heard("version-ready", app), equals: [])
    }
}
