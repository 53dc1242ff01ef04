import StorageTestSupport

@testable import ServeFromCAS

@Suite("A browser that has lost the token's cookie")
struct LostTokenTests {
    private func kiosk() throws -> (TestApp, query: String) {
        let app = try TestApp(try .app()) { $0.requiresToken = true }
        return (app, try require(app.server.url.split(separator: "?").last.map(String.init)))
    }

    @Test("is shown how to come back, by itself where nobody else sent it, and is told no secret")
    func page() throws {
        let (app, query) = try kiosk()
        let token = try require(query.split(separator: "=").last)
        let own = ("Referer", "http://localhost:\(app.port)/")
        let cases: [(fields: [(String, String)], isOwn: Bool)] = [
            ([("Sec-Fetch-Site", "none")], true), ([("Sec-Fetch-Site", "same-origin")], true),
            ([("Sec-Fetch-Site", "same-site")], false), ([("Sec-Fetch-Site", "cross-site")], false),
            ([own], true), ([("Referer", "http://localhost:1/")], false),
            ([("Referer", "http://another.example/")], false), ([own, ("Origin", "null")], false),
            ([], false),
        ]
        for (fields, isOwn) in cases {
            for cookie in [[], [("Cookie", "castree_token_\(app.port)=x")]] {
                let answer = try app.browser().ask(
                    "GET", "/help/?a=1", navigation + fields + cookie)
                expect(answer.status, equals: 403)
                expect(answer.text.contains("<script>"), equals: isOwn, "\(fields)")
                expect(answer.text.contains("<a href=\"\">"))
                expect(!answer.head.contains(token) && !answer.text.contains(token))
                expect(!answer.head.contains("Set-Cookie"))
                expect(
                    answer.value("Content-Security-Policy")?.contains("frame-ancestors 'none'")
                        == true)
                expect(answer.value("Cache-Control"), equals: "no-store")
            }
        }
        for (method, fields) in [
            ("GET", frameLoad), ("GET", scriptLoad), ("POST", navigation), ("HEAD", navigation),
        ] {
            let answer = try app.browser().ask(
                method, "/", fields + [("Sec-Fetch-Site", "same-origin")])
            expect(answer.status, equals: 403)
            expect(!answer.text.contains("<script>"))
        }
    }

    @Test func `comes back with what the bridge has given its page`() throws {
        let (app, query) = try kiosk()
        let browser = try app.browser()
        try browser.ask("GET", "/?\(query)", navigation)
        let page = try SocketPage(browser)
        try page.run { !$0.payloads("token").isEmpty }
        expect(page.payloads("token"), equals: [#"{"token":"\#(query)"}"#])
        let again = try app.browser()
        try expect(again.ask("GET", "/_castree/status", scriptLoad).status, equals: 403)
        try expect(again.ask("GET", "/_castree/status?\(query)", scriptLoad).status, equals: 200)
        try expect(again.navigate().text.contains("one"))
        expect(app.records.all.allSatisfy { !$0.target.contains(query) })
    }

    @Test
    func
        `gets the bridge's script all the same, which brings the token of a page that a worker shows`()
        throws
    {
        let (app, query) = try kiosk()
        let browser = try app.browser()
        for target in ["/_castree/bridge.js", "/_castree/bridge.js?\(query.dropLast())"] {
            let answer = try browser.ask("GET", target, scriptLoad)
            expect(answer.status, equals: 200)
            expect(answer.body == BridgeScript.bytes)
            expect(answer.value("Cross-Origin-Resource-Policy"), equals: "same-origin")
            expect(!answer.head.contains("Set-Cookie"))
        }
        for other in ["bridge", "status", "confirm", "mixed", "x", "bridge.js/", "bridge.j%73"] {
            try expect(browser.ask("GET", "/_castree/\(other)", scriptLoad).status, equals: 403)
        }
    }

    @Test func `is told of on standard error if it has had a page and no navigation comes, once`()
        throws
    {
        let (app, query) = try kiosk()
        let stranger = try app.browser()
        try stranger.ask("GET", "/app.js", scriptLoad)
        let browser = try app.browser()
        try browser.ask("GET", "/?\(query)", navigation)
        browser.cookies["castree_token_\(app.port)"] = "old"
        try browser.navigate()
        expect(app.notices.all, equals: [])
        for _ in 0..<2 { try expect(browser.load("/app.js").status, equals: 403) }
        expect(app.notices.all.count, equals: 1)
        expect(app.notices.all.first?.contains("open the address with the token") == true)
    }

    @Test func `is given nothing where no token is needed`() throws {
        let app = try TestApp(try .app(current: "1"))
        let browser = try app.visitor()
        try app.store.versions.activate("2")
        let page = try SocketPage(browser)
        try page.run { !$0.payloads("version-ready").isEmpty }
        app.server.bridge.announce(.checking)
        try page.run { !$0.payloads("checking").isEmpty }
        expect(page.payloads("token"), equals: [])
    }
}
