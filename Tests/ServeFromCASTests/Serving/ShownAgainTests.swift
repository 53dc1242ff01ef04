import StorageTestSupport

@testable import ServeFromCAS

// A browser loads a page again in the name of whoever led to it: F5 of a page that another site has linked is `cross-site`.
@Suite("A page that another site led to")
struct ShownAgainTests {
    private static let causes = [
        [("Sec-Fetch-Site", "cross-site")], [("Referer", "http://another.example/")],
        [("Origin", "http://another.example")], [("Origin", "null")],
    ]
    private static let reload = [("Cache-Control", "max-age=0")]

    private func kiosk() throws -> (TestApp, TestBrowser) {
        let (_, app) = try TestApp.kiosk()
        return (app, try app.browser())
    }

    @Test("gets the version that waits when it is loaded again, and confirms it", arguments: causes)
    func reloads(_ cause: [(String, String)]) throws {
        for field in [("Cache-Control", "max-age=0"), ("Cache-Control", "no-cache")] {
            let (app, browser) = try kiosk()
            try expect(browser.ask("GET", "/", navigation + cause).text.contains("one"))
            try app.store.versions.activateAtNextBoot("2")
            // A link starts nothing, nor does what never was here.
            try expect(browser.ask("GET", "/", navigation + cause).text.contains("one"))
            try expect(
                app.browser().ask("GET", "/", navigation + cause + [field]).text.contains("one"))
            try expect(browser.ask("GET", "/", navigation + cause + [field]).text.contains("two"))
            try expect(browser.confirm(), equals: 204)
            try expect(app.store.reopened().lifecycle().knownGood, equals: ["2", "1"])
        }
    }

    @Test(
        "counts nothing if that fails, and is tried once, however often strangers have it loaded again",
        arguments: causes)
    func fails(_ cause: [(String, String)]) throws {
        let (app, browser) = try kiosk()
        try browser.ask("GET", "/", navigation + cause)
        try app.store.versions.activateAtNextBoot("2")
        for round in 1...4 {
            let text = try browser.ask("GET", "/", navigation + cause + Self.reload).text
            expect(text.contains(round == 1 ? "two" : "one"), "\(round)")
            app.look(after: .seconds(2001 * round))
            let lifecycle = try app.store.reopened().lifecycle()
            expect(lifecycle.attempts, equals: [])
            expect(lifecycle.bad, equals: [])
            expect(lifecycle.pending, equals: "2")
        }
        try expect(browser.navigate().text.contains("two"))
        try expect(browser.confirm(), equals: 204)
    }

    @Test(
        "counts nothing of what it started, however often servers die meanwhile", arguments: causes)
    func dies(_ cause: [(String, String)]) async throws {
        let store = try TemporaryStore.app(good: "1", waiting: "2")
        for round in 1...3 {
            let app = try TestApp(watching: store)
            let browser = try app.browser()
            try browser.ask("GET", "/", navigation + cause)
            try expect(
                browser.ask("GET", "/", navigation + cause + Self.reload).text.contains("two"),
                "\(round)")
            let started = try Data(contentsOf: URL(filePath: store.path + "/lifecycle.json"))
            // As a process that is killed leaves it.
            await app.stop()
            try started.write(to: URL(filePath: store.path + "/lifecycle.json"))
            let lifecycle = try store.reopened().lifecycle()
            expect(lifecycle.attempts == [] && lifecycle.bad == [], "\(round): \(lifecycle)")
        }
        // The app's own start counts as ever.
        try expect(store.reopened().boot().version, equals: "2")
        try expect(store.reopened().lifecycle().attempts.map(\.failedAttempts), equals: [1])
        try expect(store.reopened().boot().version, equals: "1")
    }

    /// As with `addEventListener("version-ready", () => location.reload())`, or a start page that goes on by itself.
    @Test(
        "counts nothing of what it does by itself, and all that a person does there",
        arguments: ["/", "/help/"])
    func goesOn(_ path: String) async throws {
        let store = try TemporaryStore.app(good: "1", waiting: "2")
        for round in 1...3 {
            let app = try TestApp(watching: store)
            let browser = try app.browser()
            let own = [
                ("Sec-Fetch-Site", "same-origin"), ("Referer", "http://localhost:\(app.port)/"),
            ]
            try browser.ask("GET", "/", navigation + Self.causes[0])
            // The other site may load it again, too.
            let cause = round == 2 ? Self.causes[0] + Self.reload : own
            try browser.ask("GET", round == 2 ? "/" : path, navigation + cause)
            try expect(store.reopened().lifecycle().boot?.version, equals: "2", "\(round)")
            _ = try browser.ask("GET", "/", navigation + own)
            app.look(after: .seconds(2001 * round))
            let lifecycle = try store.reopened().lifecycle()
            expect(lifecycle.attempts == [] && lifecycle.bad == [], "\(round): \(lifecycle)")
            if round == 3 {
                // The first page is the one to return to.
                for _ in 1...2 {
                    try browser.ask("GET", path, navigation + own + [("Sec-Fetch-User", "?1")])
                }
                let counted = try store.reopened().lifecycle()
                expect(counted.attempts.map(\.failedAttempts) == [1], "\(counted)")
            }
            await app.stop()
        }
    }

    private func own(_ app: TestApp, _ path: String) -> [(String, String)] {
        [
            ("Sec-Fetch-Site", "same-origin"),
            ("Referer", "http://localhost:\(app.port)\(path)"),
        ]
    }

    /// A router changes the address of its page; others lead to as many pages as they like.
    @Test(arguments: ["/help/", "/no/such/page"], [0, 2000])
    func `counts nothing of what it does by itself at another address`(
        _ path: String, _ others: Int
    ) throws {
        let (app, browser) = try kiosk()
        try browser.ask("GET", "/", navigation + Self.causes[0])
        let stranger = try app.browser()
        for number in 0..<others {
            stranger.cookies = [:]
            try stranger.ask("GET", "/\(number)", navigation + Self.causes[0])
        }
        try app.store.versions.activateAtNextBoot("2")
        let text = try browser.ask("GET", path, navigation + own(app, path)).text
        expect(text.contains("two"))
        app.look(after: .seconds(2001))
        let lifecycle = try app.store.reopened().lifecycle()
        expect(lifecycle.current == "1" && lifecycle.attempts == [], "\(lifecycle)")
    }

    /// The page stays open, and its bridge tells it that a version waits.
    @Test(arguments: [[], ["script"], ["page", "script"]])
    func `counts nothing of what it does by itself after a restart`(
        _ before: [String]
    ) async throws {
        let store = try TemporaryStore.app(good: "1", waiting: "2")
        let app = try TestApp(watching: store)
        let browser = try app.browser()
        try browser.ask("GET", "/", navigation + Self.causes[0])
        let (next, tab) = try await app.restarted(browser, watching: true)
        for kind in before {
            let isPage = kind == "page"
            try tab.ask(
                "GET", isPage ? "/" : "/app.js",
                isPage ? navigation + Self.causes[0] : scriptLoad + own(next, "/"))
        }
        try expect(tab.ask("GET", "/", navigation + own(next, "/")).text.contains("two"))
        next.look(after: .seconds(2001))
        let lifecycle = try store.reopened().lifecycle()
        expect(lifecycle.current == "1" && lifecycle.attempts == [], "\(lifecycle)")
    }

    /// A page that loads itself again all the time must not be led for ever: its failures would never count.
    @Test func `is led no longer because it loads itself again`() throws {
        let (store, app) = try TestApp.kiosk()
        let browser = try app.browser()
        try browser.ask("GET", "/", navigation + Self.causes[0])
        let memory = try JSONValue.parse(
            Array(Data(contentsOf: URL(filePath: store.path + "/server.json"))))
        let seal = PageSeal(key: try require(memory["pageKey"]?.asString))
        let name = try require(browser.cookies.keys.first { $0.contains("page") })
        func content() throws -> String {
            let value = Array(try require(browser.cookies[name]).utf8)
            let content = try require(seal.content(of: value[...])).content
            return String(decoding: content, as: UTF8.self)
        }
        let led = try content()
        expect(led.contains("l60") || led.contains("l59"), "\(led)")
        let later = seal.sealed(led.replacing(/l\d+/, with: "l9"))
        let (next, tab) = (try TestApp(watching: store), browser.cookies)
        let again = try next.browser()
        again.cookies = tab
        again.cookies[name] = nil
        again.cookies[name.replacing("\(app.port)", with: "\(next.port)")] = later
        try store.versions.activateAtNextBoot("2")
        try expect(again.ask("GET", "/", navigation + own(next, "/")).text.contains("two"))
        let now = try require(again.cookies.values.first { $0 != later })
        let rest = try require(seal.content(of: Array(now.utf8)[...])).content
        expect(String(decoding: rest, as: UTF8.self).contains(/l[1-8]\./))
    }

    @Test func `is led by others for an hour, and not longer`() throws {
        var table = PinTable()
        let version = try VersionName("1")
        let cookie = PinCookie(browser: "0123456789abcdef", version: version)
        var request = PinRequest(load: .page, path: [47], cookie: cookie)
        for isBare in [false, true] {
            if isBare { request.cookie = nil }
            expect(table.ledUntil(request, isFromAnother: false, .zero) == nil)
            expect(table.ledUntil(request, isFromAnother: true, .zero), equals: .seconds(3600))
            let last = Duration.seconds(3599)
            expect(table.ledUntil(request, isFromAnother: false, last), equals: .seconds(3600))
            expect(table.ledUntil(request, isFromAnother: false, .seconds(3600)) == nil)
        }
    }

    @Test func `counts nothing of what it does by itself later, though persons visit the app`()
        throws
    {
        let (app, browser) = try kiosk()
        try browser.ask("GET", "/", navigation + Self.causes[0])
        try app.browser().navigate()
        try browser.navigate()
        try app.store.versions.activateAtNextBoot("2")
        let own = [("Sec-Fetch-Site", "same-origin"), ("Referer", "http://localhost:\(app.port)/")]
        try expect(browser.ask("GET", "/", navigation + own).text.contains("two"))
        app.look(after: .seconds(2001))
        let lifecycle = try app.store.reopened().lifecycle()
        expect(lifecycle.current == "1" && lifecycle.attempts == [], "\(lifecycle)")
    }
}
