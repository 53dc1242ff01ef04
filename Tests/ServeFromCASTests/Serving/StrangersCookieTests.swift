import StorageTestSupport

@testable import ServeFromCAS

// A page of another port of localhost sets cookies for this server, too.
@Suite("Cookies that servers at other ports set")
struct StrangersCookieTests {
    /// A kiosk whose next page starts version 2, and the cookie that a stranger was given for version 1.
    private final class Kiosk {
        let app: TestApp
        let browser: TestBrowser
        let planted: String
        var own = ""
        /// The fields that the page's own policy leaves.
        var marks: [(String, String)] = []
        private let stranger: TestBrowser

        init(isMarked: Bool, isStrangerMarked: Bool) throws {
            let store = try TemporaryStore.app(good: "1")
            app = try TestApp(watching: store)
            stranger = try app.browser()
            try stranger.ask("GET", "/", navigation + (isStrangerMarked ? Hints.all : []))
            planted = Self.pair(stranger)
            try store.versions.activateAtNextBoot("2")
            browser = try app.browser()
            let page = try browser.ask("GET", "/", navigation + (isMarked ? Hints.all : []))
            expect(page.text.contains("two"))
            own = Self.pair(browser)
            browser.cookies = [:]
            marks = isMarked ? Hints.left(by: page) : []
        }

        private static func pair(_ browser: TestBrowser) -> String {
            browser.cookies.map { "\($0.key)=\($0.value)" }.joined()
        }

        func ask(
            _ method: String, _ target: String, _ cookies: [String], _ body: String = ""
        ) throws -> TestResponse {
            var fields =
                method == "GET"
                ? scriptLoad : [("Origin", browser.origin), ("Sec-Fetch-Site", "same-origin")]
            fields += [("Referer", browser.origin + "/")] + marks + cookies.map { ("Cookie", $0) }
            let answer = try browser.ask(method, target, fields, body: body)
            browser.cookies = [:]
            return answer
        }

        func confirm(_ cookies: [String]) throws -> Int {
            let greeting = try ask("POST", "/_castree/bridge", cookies, "5\nH 1 -")
            let session = try require(
                greeting.text.split(separator: " ").first { BridgeSessionID(String($0)) != nil })
            return try ask("POST", "/_castree/confirm?session=\(session)&version=2", cookies).status
        }

        var lifecycle: Lifecycle { get throws { try app.store.reopened().lifecycle() } }
    }

    @Test(
        "in the name of the pins mix no page, and a version that works is confirmed",
        arguments: [true, false], [true, false])
    func planted(_ isMarked: Bool, _ isStrangerMarked: Bool) throws {
        for place in 0..<4 {
            let kiosk = try Kiosk(isMarked: isMarked, isStrangerMarked: isStrangerMarked)
            let cookies = [
                ["\(kiosk.planted); \(kiosk.own)"], ["\(kiosk.own); \(kiosk.planted)"],
                [kiosk.planted, kiosk.own], [kiosk.own, kiosk.planted],
            ][place]
            let file = try kiosk.ask("GET", "/app.js", cookies)
            expect(file.status, equals: isMarked ? 200 : 409)
            expect(!file.text.contains("one"))
            // Nor does the browser keep them.
            let name = try require(kiosk.own.split(separator: "=").first)
            for gone in [
                "\(name)=x; Path=/app.js; Max-Age=0", "=x; Path=/app.js; Max-Age=0",
                "=x; Path=/; Max-Age=0",
            ] { expect(file.head.contains("Set-Cookie: \(gone)\r\n"), "\(file.head)") }
            expect(!file.head.contains("\(name)=x; Path=/; "))
            try expect(kiosk.ask("GET", "/same.txt", cookies).status, equals: 200)
            try expect(kiosk.confirm(cookies), equals: 204)
            try expect(kiosk.lifecycle.knownGood, equals: ["2", "1"])
        }
    }

    @Test("in place of the page's own one are refused where marks tell", arguments: [true, false])
    func replaced(_ isStrangerMarked: Bool) throws {
        let kiosk = try Kiosk(isMarked: true, isStrangerMarked: isStrangerMarked)
        try expect(kiosk.ask("GET", "/app.js", [kiosk.planted]).status, equals: 409)
        try expect(kiosk.ask("GET", "/same.txt", [kiosk.planted]).status, equals: 200)
    }

    @Test
    func `count nothing against the version whose page they broke, and that is said`() throws {
        let kiosk = try Kiosk(isMarked: false, isStrangerMarked: false)
        let cookies = ["\(kiosk.planted); \(kiosk.own)"]
        try expect(kiosk.ask("GET", "/app.js", cookies).status, equals: 409)
        kiosk.app.look(after: .seconds(36_000))
        let lifecycle = try kiosk.lifecycle
        expect(lifecycle.current, equals: "1")
        expect(lifecycle.pending, equals: "2")
        expect(lifecycle.bad, equals: [])
        expect(lifecycle.attempts, equals: [])
        expect(
            kiosk.app.notices.all.contains { $0.contains("cookies that other servers have set") })
        // It waits as after a failed attempt, or it would be shown again and again.
        for _ in 1...2 { try expect(kiosk.browser.navigate().text.contains("one")) }
    }

    @Test("may be as many as a browser keeps, and the page is shown and confirms all the same")
    func many() throws {
        let kiosk = try Kiosk(isMarked: true, isStrangerMarked: false)
        let bomb = (1...180).map { "b\($0)=" + String(repeating: "x", count: 4090) }
            .joined(separator: "; ")
        let cookies = ["\(bomb); \(kiosk.own)"]
        try expect(kiosk.ask("GET", "/app.js", cookies).text.contains("two"))
        try expect(kiosk.ask("GET", "/_castree/bridge.js", cookies).status, equals: 200)
        try expect(kiosk.confirm(cookies), equals: 204)
        try expect(kiosk.lifecycle.knownGood, equals: ["2", "1"])
        expect(kiosk.app.notices.all.count { $0.contains("16 KiB of cookies") }, equals: 1)
        // Any other field still has its limit, and so do cookies.
        let long = String(repeating: "x", count: 16_384)
        for field in [("X-Long", long), ("Cookie", bomb + bomb)] {
            try expect(kiosk.app.browser().ask("GET", "/", [field]).status, equals: 431)
        }
    }

    @Test
    func `are no secret of the server's own where the app has a host name of its own`() throws {
        let app = try TestApp(.app()) {
            $0.requiresToken = true
            $0.hosts = ["k7f3q.localhost"]
        }
        let query = try require(app.server.url.split(separator: "?").last)
        let host = ("Host", "k7f3q.localhost:\(app.port)")
        let browser = try app.browser()
        let page = try browser.ask("GET", "/?\(query)", navigation + [host])
        expect(page.text.contains("one"))
        // Of that host alone (RFC 6265, section 5.3): servers at `localhost` are not sent it.
        expect(!page.head.lowercased().contains("domain="))
        expect(browser.cookies.keys.contains("castree_token_\(app.port)"))
        try expect(browser.ask("GET", "/app.js", scriptLoad + [host]).text.contains("one"))
        let greeting = try browser.ask(
            "POST", "/_castree/bridge", [host, ("Origin", "http://" + host.1)], body: "5\nH 1 -")
        expect(greeting.status, equals: 200)
        try expect(app.browser().ask("GET", "/", navigation + [host]).status, equals: 403)
    }

    @Test func `share one budget with bodies, and get back what was held`() throws {
        let server = try TestServer {
            $0.connection.parser.cookies = 100_000
            $0.connection.heldBodiesLimit = 100_000
        }
        func request(_ count: Int, end: String = "\r\n\r\n") -> String {
            "GET /small HTTP/1.1\r\nHost: localhost\r\nCookie: a="
                + String(repeating: "c", count: count) + end
        }
        for _ in 1...3 {
            let first = try TestClient(port: server.port)
            first.send(request(60_000, end: ""))
            var status = 0
            // Until the server has read what the first one sent.
            let end = ContinuousClock.now + .seconds(120)
            while status != 503 {
                try require(ContinuousClock.now < end, "never came")
                let second = try TestClient(port: server.port)
                second.send(request(60_000))
                status = try require(second.response()).status
            }
            first.send("\r\n\r\n")
            expect(first.response()?.status != 503)
            let third = try TestClient(port: server.port)
            third.send(request(99_000))
            expect(third.response()?.status != 503)
        }
    }
}
