import WebTestSupport

@testable import ServeFromCAS

@Suite("Pins")
final class PinTableTests {
    private var server: PinServer
    private var browser: PinBrowser

    init() throws { (server, browser) = try PinServer.withBrowser() }

    @Test func `keep a page's version when another becomes current, until it navigates`() throws {
        expect(server.go("/", in: &browser), equals: "A")
        server.current = server.b
        expect(server.get("/app.js", by: browser, from: "/"), equals: "A")
        expect(server.get("/dep.js", by: browser, from: "/app.js"), equals: "A")
        expect(server.get("/font.woff2", by: browser, from: "/style.css"), equals: "A")
        expect(server.get("/fetch.json", by: browser, from: nil), equals: "A")
        expect(server.get("/fetch.json", by: browser, from: "/pushed/state"), equals: "A")
        server.wait(3600)
        expect(server.get("/late.js", by: browser, from: "/"), equals: "A")
        expect(server.go("/", in: &browser), equals: "B")
        expect(server.get("/app.js", by: browser, from: "/"), equals: "B")
    }

    @Test(arguments: [true, false])
    func `hold through 200 switches while one tab loads over and over`(_ isReload: Bool) throws {
        for round in 0..<200 {
            server.current = round % 2 == 0 ? server.a : server.b
            let page = server.go("/", in: &browser, isReload: isReload && round > 0)
            expect(page, equals: server.current.description)
            for file in 0..<50 {
                // The switch may come at any moment of the load.
                if file == round % 50 { server.current = round % 2 == 0 ? server.b : server.a }
                server.now += .milliseconds(5)
                let referrer = file < 10 ? "/" : "/module\(file - 1).js"
                let got = server.get("/module\(file).js", by: browser, from: referrer)
                expect(got, equals: page, "round \(round), file \(file)")
            }
        }
    }

    @Test func `tell browsers apart by their cookies`() throws {
        var server = try PinServer()
        var (first, second) = (PinBrowser(connection: 1), PinBrowser(connection: 2))
        expect(server.go("/", in: &first), equals: "A")
        expect(server.go("/", of: server.b, in: &second), equals: "B")
        expect(first.cookie?.browser != second.cookie?.browser)
        for _ in 0..<10 {
            server.wait(20)
            expect(server.get("/app.js", by: first, from: "/"), equals: "A")
            expect(server.get("/app.js", by: second, from: "/"), equals: "B")
        }
    }

    @Test func `never guess between two tabs of one browser once the newer has loaded`() throws {
        expect(server.go("/", in: &browser, connection: 1), equals: "A")
        server.wait(10)
        expect(server.go("/", of: server.b, in: &browser, connection: 2), equals: "B")
        expect(server.get("/app.js", by: browser, from: "/", connection: 2), equals: "B")
        server.wait(10)
        expect(server.get("/app.js", by: browser, from: "/"), equals: "doubt")
        expect(server.get("/x.json", by: browser, from: nil), equals: "doubt")
        // A script that only one of them has says which.
        server.only = ["/app.3f2a9c1b.js": server.a, "/app.77aa9c1b.js": server.b]
        expect(server.get("/dep.js", by: browser, from: "/app.3f2a9c1b.js"), equals: "A")
        expect(server.get("/dep.js", by: browser, from: "/app.77aa9c1b.js"), equals: "B")
    }

    @Test func `do not take the end of a connection for a page that is loading`() throws {
        server.go("/", in: &browser, connection: 1)
        server.go("/", of: server.b, in: &browser, connection: 2)
        server.wait(30)
        server.table.close(connection: 2, now: server.now)
        expect(server.get("/app.js", by: browser, from: "/", connection: 1), equals: "doubt")
    }

    @Test func `do not take a page that asks again and again for one that is loading`() throws {
        server.go("/", in: &browser, connection: 1)
        server.go("/", of: server.b, in: &browser, connection: 2)
        for _ in 0..<15 {
            expect(server.get("/poll", by: browser, from: "/", connection: 2), equals: "B")
            server.wait(2)
        }
        server.wait(1)
        expect(server.get("/poll", by: browser, from: "/", connection: 2), equals: "doubt")
    }

    @Test(
        "do not take a page that asks after a pause for one that is loading",
        arguments: [false, true])
    func pausing(isMarked: Bool) throws {
        server.go("/", in: &browser, connection: 1)
        server.current = server.b
        var request = PinRequest(
            load: .page, path: Array("/".utf8), cookie: browser.cookie, connection: 2)
        request.hints = 7
        guard case .serve(_, let cookie, let mark) = server.ask(request) else { return }
        browser.cookie = cookie ?? browser.cookie
        server.wait(4)
        expect(server.get("/data", by: browser, from: "/", connection: 1), equals: "doubt")
        request.load = .subresource
        request.hints = try isMarked ? require(mark).hints : 0
        request.referrer = Array("/module.js".utf8)
        server.only = ["/module.js": server.b]
        expect(server.ask(request).name, equals: "B")
        expect(server.get("/data", by: browser, from: "/", connection: 1), equals: "doubt")
    }

    @Test func `do not take a reload for the end of one of two pages at the same path`() throws {
        server.go("/", in: &browser)
        server.go("/", in: &browser)
        expect(server.go("/", of: server.b, in: &browser, isReload: true), equals: "B")
        server.wait(10)
        expect(server.get("/late.js", by: browser, from: "/"), equals: "doubt")
    }

    @Test func `know that a page is gone when its session of the bridge ends`() throws {
        server.go("/", in: &browser, connection: 1)
        expect(server.connect("s", by: browser, connection: 9), equals: "A")
        server.go("/", of: server.b, in: &browser, connection: 2)
        server.table.leave(session: "s", now: server.now)
        server.table.close(connection: 9, now: server.now)
        server.wait(10)
        expect(server.get("/late.js", by: browser, from: "/", connection: 2), equals: "B")
        expect(server.pinned, equals: ["A", "B"], "what the old page has under way still counts")
    }

    @Test func `give a frame the version of the page around it`() throws {
        expect(server.go("/", in: &browser), equals: "A")
        expect(
            server.go("/frame.html", of: server.b, in: &browser, load: .frame, from: "/"),
            equals: "A")
        expect(server.get("/frame.js", by: browser, from: "/frame.html"), equals: "A")
        expect(
            server.go("/frame.html", in: &browser, load: .frame, sender: .stranger), equals: "B",
            "embedded elsewhere")
    }

    @Test func `see whether versions agree about a request in doubt`() throws {
        let old = try SampleSite([
            "index.html": "1", "same.js": "s", "app.js": "old", "gone.js": "g",
        ])
        let new = try SampleSite(["index.html": "2", "same.js": "s", "app.js": "new"])
        func agree(_ target: String, _ fields: [(String, String)] = scriptLoad) throws -> Bool {
            let request = try RequestHead(method: "GET", target: target, fields: fields)
            return PinTable.agree([new.site, old.site], on: request)
        }
        try expect(agree("/same.js"))
        try expect(agree("/same.js?v=2"))
        try expect(agree("/nowhere.js"))
        try expect(!agree("/app.js"))
        try expect(!agree("/gone.js"))
        try expect(!agree("/route", navigation))
        expect(PinTable.refusal(.get).head.status, equals: 409)
    }

    @Test func `end after the last request or connection and the grace`() throws {
        server.go("/", in: &browser)
        server.wait(3600)
        expect(server.pinned, equals: ["A"], "the connection holds it")
        server.table.close(connection: 1, now: server.now)
        server.wait(60)
        expect(server.pinned, equals: ["A"])
        server.wait(1)
        expect(server.pinned, equals: [])
        server.table.expire(now: server.now)
        expect(server.table.browsers.isEmpty)
    }

    @Test func `are held by a connection for the page it served last only`() throws {
        server.go("/", in: &browser)
        server.go("/next", of: server.b, in: &browser)
        expect(server.pinned, equals: ["A", "B"])
        server.wait(61)
        expect(server.pinned, equals: ["B"])
    }

    @Test("give the current version to who is no page, and to no cookie the only one there is")
    func withoutCookies() throws {
        var server = try PinServer()
        let tool = PinBrowser(connection: 5)
        expect(server.get("/app.js", by: tool, from: nil), equals: "A")
        var browser = PinBrowser(connection: 1)
        server.go("/", in: &browser)
        server.current = server.b
        expect(server.get("/app.js", by: tool, from: nil), equals: "B")
        expect(server.get("/app.webmanifest", by: tool, from: "/"), equals: "A")
        var other = PinBrowser(connection: 2)
        server.go("/", in: &other)
        expect(server.get("/app.webmanifest", by: tool, from: "/"), equals: "doubt")
    }

    @Test func `end with their sessions where browsers keep no cookie`() throws {
        var server = try PinServer()
        var page = PinBrowser(connection: 1)
        server.go("/", in: &page)
        server.table.hold(
            session: "one", connection: 9, word: .version(server.a), address: Array("/".utf8),
            now: server.now)
        server.current = server.b
        var reloaded = PinBrowser(connection: 2)
        server.go("/", in: &reloaded)
        reloaded.cookie = nil
        // The older page is there until it says that it goes.
        expect(server.get("/app.js", by: reloaded, from: "/"), equals: "doubt")
        server.table.leave(session: "one", now: server.now)
        expect(server.get("/app.js", by: reloaded, from: "/"), equals: "B")
    }

    @Test func `are bounded, and forget those first that showed no cookie`() throws {
        var limits = PinTable.Limits()
        limits.browsers = 10
        limits.loads = 4
        var server = try PinServer(limits: limits)
        var browser = PinBrowser(connection: 1)
        server.go("/", in: &browser)
        _ = server.get("/app.js", by: browser, from: "/")
        server.current = server.b
        for number in 0..<1000 {
            var stranger = PinBrowser(connection: UInt64(100 + number))
            server.go("/", in: &stranger)
        }
        expect(server.pinned, equals: ["A", "B"])
        for number in 0..<100 { _ = server.go("/page\(number)", in: &browser) }
        expect(server.go("/", in: &browser), equals: "B")
    }
}
