import StorageTestSupport

@testable import ServeFromCAS

// Who may see the dashboard, and how it is sent. What it shows is the program's.

@Suite("The dashboard")
struct DashboardTests {
    static let token = "0123456789abcdef0123"

    /// What the documents were made of.
    final class Source: Sendable {
        let pages = Atomic<Int>(0)
        let status = Mutex("one")
        let held = Mutex<[Dashboard.Held]>([])
        let problem = Mutex<StoreError?>(nil)

        var dashboard: Dashboard {
            Dashboard(
                token: DashboardTests.token,
                page: { () throws(StoreError) in
                    self.pages.add(1, ordering: .relaxed)
                    return Dashboard.Page(
                        bytes: Array("<!doctype html>".utf8), policy: "default-src 'none'")
                },
                status: { (held) throws(StoreError) in
                    self.held.withLock { $0.append(held) }
                    return Array(self.status.withLock { $0 }.utf8)
                },
                usage: { () throws(StoreError) in
                    if let error = self.problem.withLock({ $0 }) { throw error }
                    return Array("{}".utf8)
                })
        }
    }

    private func app(
        _ source: Source = Source(), _ change: (inout AppServerOptions) -> Void = { _ in }
    ) throws -> TestApp {
        try TestApp(try .app()) { options in
            options.dashboard = source.dashboard
            change(&options)
        }
    }

    private func name(_ app: TestApp) -> String { "castree_dashboard_\(app.port)" }

    private func insider(_ app: TestApp) throws -> TestBrowser {
        let browser = try app.browser()
        browser.cookies[name(app)] = Self.token
        return browser
    }

    static let documents = ["", "status.json", "usage.json"].map { "/_castree/dashboard/" + $0 }

    @Test(arguments: documents)
    func `is not there unless it is asked for`(target: String) throws {
        let app = try TestApp(try .app())
        expect(app.server.dashboardURL == nil)
        try expect(insider(app).ask("GET", target).status, equals: 404)
    }

    @Test
    func `gives its address a token, takes it for a cookie, and forgets the address`() throws {
        let app = try app()
        let url = try require(app.server.dashboardURL)
        let prefix = "http://127.0.0.1:\(app.port)"
        expect(url, equals: "\(prefix)/_castree/dashboard/?\(name(app))=\(Self.token)")
        let browser = try app.browser()
        let first = try browser.ask(
            "GET", String(url.dropFirst(prefix.count)),
            [("Host", "127.0.0.1:\(app.port)"), ("Sec-Fetch-Site", "none")])
        expect(first.status, equals: 303)
        expect(first.value("Location"), equals: "/_castree/dashboard/")
        expect(first.value("Cache-Control"), equals: "no-store")
        let cookie = try require(first.value("Set-Cookie")).split(separator: "; ")
        expect(
            Set(cookie.dropFirst()),
            equals: ["Path=/_castree/dashboard", "HttpOnly", "SameSite=Strict"])
        try expect(browser.ask("GET", "/_castree/dashboard/").status, equals: 200)
        // Opened a second time, the address has the token again, and loses it again.
        let again = try browser.ask("GET", String(url.dropFirst(prefix.count)))
        expect(again.status, equals: 303)
        expect(again.value("Location"), equals: "/_castree/dashboard/")
        try expect(browser.ask("GET", "/_castree/dashboard").status, equals: 303)
    }

    @Test func `has a new token at each start if none is given`() throws {
        func url() throws -> String {
            var dashboard = Source().dashboard
            dashboard.token = nil
            let app = try TestApp(try .app()) { $0.dashboard = dashboard }
            let token = try require(app.server.dashboardURL?.split(separator: "=").last)
            expect(token.count >= 32)
            return String(token)
        }
        try expect(url() != url())
    }

    @Test(arguments: documents)
    func `is refused without the right token`(target: String) throws {
        let source = Source()
        let app = try app(source)
        let browser = try app.browser()
        try expect(browser.ask("GET", target).status, equals: 403)
        for wrong in ["", "x", String(Self.token.dropLast()) + "4", Self.token + "0"] {
            try expect(browser.ask("GET", "\(target)?\(name(app))=\(wrong)").status, equals: 403)
            try expect(
                browser.ask("GET", target, [("Cookie", "\(name(app))=\(wrong)")]).status,
                equals: 403)
        }
        expect(source.pages.load(ordering: .relaxed), equals: 0)
        expect(source.held.withLock { $0.isEmpty })
    }

    @Test(
        "is refused to other sites and by other names, whatever they have",
        arguments: [
            ("Origin", "https://evil.example", 403), ("Origin", "null", 403),
            ("Origin", "http://localhost:1", 403), ("Sec-Fetch-Site", "cross-site", 403),
            ("Sec-Fetch-Site", "same-site", 403), ("Host", "evil.example", 421),
            ("Sec-Fetch-Site", "same-origin", 200), ("Sec-Fetch-Site", "none", 200),
        ])
    func foreign(field: String, value: String, status: Int) throws {
        let app = try app()
        for target in Self.documents {
            let response = try insider(app).ask("GET", target, [(field, value)])
            expect(response.status, equals: status, "\(target)")
            expect(response.value("Access-Control-Allow-Origin") == nil)
        }
    }

    @Test func `is not what the app's own token opens, nor does it open the app`() throws {
        let app = try app { $0.requiresToken = true }
        let browser = try app.browser()
        let query = app.server.url.drop { $0 != "?" }
        try expect(browser.ask("GET", "/\(query)").status, equals: 200)
        try expect(browser.ask("GET", "/_castree/dashboard/").status, equals: 403)
        try expect(insider(app).ask("GET", "/_castree/dashboard/").status, equals: 200)
        try expect(insider(app).ask("GET", "/").status, equals: 403)
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "OPTIONS"])
    func `only reads`(method: String) throws {
        let response = try insider(app()).ask(method, "/_castree/dashboard/status.json")
        expect(response.status, equals: 405)
        expect(response.value("Allow"), equals: "GET, HEAD")
    }

    @Test(arguments: documents)
    func `is kept by no cache, shown in no frame, and told to nobody`(target: String) throws {
        let app = try app()
        let browser = try insider(app)
        for method in ["GET", "HEAD"] {
            let response = try browser.ask(method, target)
            expect(response.status, equals: 200)
            expect(response.value("Cache-Control"), equals: "no-store")
            let policy = try require(response.value("Content-Security-Policy"))
            expect(policy, equals: "default-src 'none'; frame-ancestors 'none'")
            expect(response.value("X-Frame-Options"), equals: "DENY")
            expect(response.value("X-Content-Type-Options"), equals: "nosniff")
            expect(response.value("Referrer-Policy"), equals: "no-referrer")
            expect(response.value("Cross-Origin-Resource-Policy"), equals: "same-origin")
            expect(response.body.isEmpty, equals: (method == "HEAD"))
        }
        try expect(browser.ask("GET", "/_castree/dashboard/else").status, equals: 404)
    }

    @Test("is answered with 304 while it says the same, and made anew for all who ask at once")
    func same() throws {
        let source = Source()
        let app = try app(source)
        let browser = try insider(app)
        let target = "/_castree/dashboard/status.json"
        let first = try browser.ask("GET", target)
        expect(first.text, equals: "one")
        expect(first.value("Content-Type"), equals: "application/json")
        let tag = try require(first.value("ETag"))
        let second = try browser.ask("GET", target, [("If-None-Match", tag)])
        expect(second.status, equals: 304)
        expect(second.body.isEmpty)
        try expect(browser.ask("GET", target, [("If-None-Match", "\"x\"")]).status, equals: 200)
        // What is fresh is shown again; then what is new.
        source.status.withLock { $0 = "two" }
        var latest = ""
        try app.wait(for: "the new status") {
            latest = try browser.ask("GET", target, [("If-None-Match", tag)]).text
            return !latest.isEmpty
        }
        expect(latest, equals: "two")
    }

    @Test func `tells which versions pages and the server keep`() throws {
        let source = Source()
        let app = try app(source)
        let page = try app.visitor()
        defer { withExtendedLifetime(page) {} }
        _ = try insider(app).ask("GET", "/_castree/dashboard/status.json")
        let held = try require(source.held.withLock { $0.last })
        expect(held.current, equals: "1")
        expect(held.byPages, equals: ["1"])
    }

    @Test func `says what keeps it from being made, and is made when that is over`() throws {
        let source = Source()
        source.problem.withLock { $0 = StoreError(.io, "the disk has gone") }
        let app = try app(source)
        let failed = try insider(app).ask("GET", "/_castree/dashboard/usage.json")
        expect(failed.status, equals: 500)
        expect(failed.text, equals: "the disk has gone\n")
        expect(app.notices.all.contains { $0.contains("the disk has gone") })
        source.problem.withLock { $0 = nil }
        try expect(insider(app).ask("GET", "/_castree/dashboard/usage.json").status, equals: 200)
    }

    @Test func `keeps its token out of the log of requests`() throws {
        let app = try app()
        _ = try app.browser().ask("GET", "/_castree/dashboard/?\(name(app))=\(Self.token)")
        try app.wait(for: "the record") { app.records.all.contains { $0.target.contains("***") } }
        expect(!app.records.all.contains { $0.target.contains(Self.token) })
    }

    @Test("is not for a server that others may reach, nor with a token that can be tried out")
    func options() throws {
        for change in [
            { (options: inout AppServerOptions) in options.hosts = ["kiosk.example"] },
            { $0.dashboard?.token = "short" }, { $0.dashboard?.token = "with blanks and ; more" },
        ] as [(inout AppServerOptions) -> Void] {
            expectRefusal(.badOption) { try app(Source(), change) }
        }
    }
}
