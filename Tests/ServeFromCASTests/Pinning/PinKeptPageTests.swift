import StorageTestSupport

@testable import ServeFromCAS

// A page that a service worker shows sends no navigation: of its coming the bridge's session alone tells.
@Suite("A page without a navigation")
struct PinKeptPageTests {
    /// When the server hears that the page in whose place it comes is gone.
    enum Goodbye: CaseIterable { case before, after, never }
    /// How its browser came by the page's version, B.
    enum Source: CaseIterable { case worker, earlierWorker, page, none }

    /// One way in which such a page comes.
    struct Way: CustomTestStringConvertible {
        var tabs: Int
        var goodbye: Goodbye
        var source: Source
        var testDescription: String { "\(tabs) tabs, goodbye \(goodbye), given by \(source)" }

        static let all = (1...3).flatMap { tabs in
            Goodbye.allCases.flatMap { goodbye in
                Source.allCases.map { Way(tabs: tabs, goodbye: goodbye, source: $0) }
            }
        }
    }

    private static func connect(
        _ session: String, _ server: inout PinServer, _ browser: PinBrowser, connection: UInt64,
        saying version: VersionName? = nil
    ) {
        server.connect(
            session, by: browser, connection: connection, word: version.map { .version($0) })
    }

    @Test(
        "has a browser, is of the version that it says if that was given, and holds that as long as it is open",
        arguments: Way.all)
    func comes(_ way: Way) throws {
        var (server, browser) = try PinServer.withBrowser()
        for tab in 1...UInt64(way.tabs) {
            server.go("/", in: &browser, connection: tab)
            Self.connect("old\(tab)", &server, browser, connection: 100 + tab, saying: server.a)
            server.wait(5)
        }
        server.current = server.b
        switch way.source {
        case .worker, .earlierWorker:
            Self.loadWorker(&server, &browser)
            if way.source == .earlierWorker {
                server.current = server.a
                Self.loadWorker(&server, &browser)
            }
        case .page:
            server.go("/other", in: &browser, connection: 50)
            Self.connect("other", &server, browser, connection: 150, saying: server.b)
            server.wait(5)
        case .none: break
        }
        if way.goodbye == .before { server.table.leave(session: "old1", now: server.now) }
        let word = PageWord.version(server.b)
        server.connect("new", by: browser, connection: 200, word: word)
        if way.goodbye == .after { server.table.leave(session: "old1", now: server.now) }

        let table = server.table
        expect(table.browser(ofSession: "new"), equals: browser.cookie?.browser)
        expect(table.wasGiven(server.b, session: "new", browser: nil), equals: way.source != .none)
        server.table.noteKeeping(session: "new", browser: nil)
        var script = PinRequest(load: .subresource, path: Array("/worker.js".utf8))
        script.cookie = browser.cookie
        expect(server.table.keepsPages(script, server.now))

        // It is quiet for long, and its version is there.
        server.wait(3600)
        server.table.expire(now: server.now)
        // Where no other page is open, the cookie's version is taken for the one that a navigation was answered with.
        let isGuessed = way.source == .earlierWorker && way.tabs == 1 && way.goodbye == .before
        if way.source != .none, !isGuessed {
            expect(server.pinned.contains("B"), "\(server.pinned)")
        }
        if way.source == .none { expect(!server.pinned.contains("B"), "\(server.pinned)") }
        let sessions = ["new", "other", "old1", "old2", "old3"]
        for session in sessions { server.table.leave(session: session, now: server.now) }
        for connection in [1...3, 50...50, 101...103, 150...150, 200...200].joined() {
            server.table.close(connection: UInt64(connection), now: server.now)
        }
        expect(!server.table.hasPageWithoutSession(now: server.now))
        server.wait(61)
        expect(server.pinned, equals: [])
    }

    private static func loadWorker(_ server: inout PinServer, _ browser: inout PinBrowser) {
        var request = PinRequest(load: .subresource, path: Array("/worker.js".utf8))
        request.isWorkerScript = true
        request.cookie = browser.cookie
        guard case .serve(_, let cookie, _) = server.ask(request) else { return }
        browser.cookie = cookie ?? browser.cookie
    }

    @Test func `holds nothing that it makes up: a version that its browser was not given`() throws {
        var (server, browser) = try PinServer.withBrowser()
        server.go("/", in: &browser)
        Self.connect("old", &server, browser, connection: 9, saying: server.a)
        Self.connect("new", &server, browser, connection: 10, saying: server.b)
        expect(server.pinned, equals: ["A"])
        expect(!server.table.wasGiven(server.b, session: "new", browser: nil))
        expect(!server.table.wasGiven(server.b, session: "unknown", browser: nil))
    }

    @Test func `makes no page last that is gone and did not say so, however often it asks`() throws
    {
        var (server, browser) = try PinServer.withPage()
        Self.connect("old", &server, browser, connection: 9, saying: server.a)
        server.wait(5)
        server.current = server.b
        Self.loadWorker(&server, &browser)
        server.table.close(connection: 9, now: server.now)
        server.table.close(connection: 1, now: server.now)
        Self.connect("new", &server, browser, connection: 10, saying: server.b)
        for _ in 0..<60 {
            server.wait(1)
            _ = server.get("/data", by: browser, from: "/", connection: 10)
        }
        server.wait(1)
        expect(server.get("/data", by: browser, from: "/", connection: 10), equals: "B")
        expect(server.pinned, equals: ["B"])
    }

    @Test func `that says its version while it is in doubt holds that and no other`() throws {
        var (server, browser) = try PinServer.withBrowser()
        for (tab, version) in [(1, server.a), (2, server.b)] as [(UInt64, VersionName)] {
            server.go("/", of: version, in: &browser, connection: tab)
            Self.connect("tab\(tab)", &server, browser, connection: 10 + tab, saying: version)
            server.wait(5)
        }
        expect(server.get("/data", by: browser, from: "/", connection: 20), equals: "doubt")
        server.table.hold(
            session: "kept", connection: 20, word: .version(server.b), now: server.now)
        server.table.leave(session: "tab1", now: server.now)
        for connection: UInt64 in [1, 11] {
            server.table.close(connection: connection, now: server.now)
        }
        server.wait(1)
        expect(server.get("/data", by: browser, from: "/", connection: 20), equals: "B")
        server.wait(61)
        expect(server.pinned, equals: ["B"])
    }
}
