import StorageTestSupport

@testable import ServeFromCAS

// What is asked through the server, and by whom. The upstream of these tests is not there: a request
// that would reach it is answered with 502.
@Suite("A request for an upstream")
struct ForeignRequestTests {
    private func app(token: Bool = false) throws -> TestApp {
        let route = try ProxyRoute("/api=http://127.0.0.1:1")
        return try TestApp(try .app()) { options in
            options.requiresToken = token
            options.proxies = [route]
        }
    }

    @Test(
        "is refused when another site sends it, unless it only reads",
        arguments: [
            ("POST", [("Origin", "https://evil.example")], 403),
            ("DELETE", [("Sec-Fetch-Site", "cross-site")], 403),
            ("PUT", [("Origin", "null")], 403),
            (
                "GET",
                [
                    ("Origin", "https://evil.example"), ("Connection", "Upgrade"),
                    ("Upgrade", "websocket"),
                ], 403
            ),
            ("GET", [("Sec-Fetch-Site", "cross-site")], 502),
            ("POST", [("Sec-Fetch-Site", "same-origin")], 502),
            // No browser: nobody leads it astray.
            ("POST", [], 502),
        ])
    func foreign(method: String, fields: [(String, String)], status: Int) throws {
        try expect(app().browser().ask(method, "/api/x", fields).status, equals: status)
    }

    @Test func `that shows the token is sent to the same address with a cookie instead`() throws {
        let app = try app(token: true)
        let browser = try app.browser()
        let query = app.server.url.drop { $0 != "?" }.dropFirst()
        let first = try browser.ask("GET", "/api/x?a=1&\(query)")
        expect(first.status, equals: 303)
        expect(first.value("Location"), equals: "/api/x?a=1")
        try expect(browser.ask("GET", "/api/x?a=1").status, equals: 502)
        try expect(app.browser().ask("GET", "/api/x").status, equals: 403)
    }

    @Test func `may come from a host that was named with its port`() {
        let origin = BridgeOrigin(host: "kiosk.example:8080", origin: "http://kiosk.example:8080")
        expect(origin.isAllowed(hosts: ["kiosk.example:8080"]))
        expect(!origin.isAllowed(hosts: ["kiosk.example:8081"]))
    }
}
