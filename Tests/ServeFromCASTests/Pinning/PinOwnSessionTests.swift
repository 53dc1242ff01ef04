import StorageTestSupport

@testable import ServeFromCAS

@Suite("The page that a session of the bridge begins with")
struct PinOwnSessionTests {
    @Test(
        "is of the version which it says, though another page of its browser was just given another one"
    )
    func reconnects() throws {
        for hasWord in [true, false] {
            var (server, browser) = try PinServer.withPage()
            server.go("/new", of: server.b, in: &browser, connection: 2)
            // What connects says no more than its cookie, and the newer page is loading.
            expect(
                server.connect(
                    "old", by: browser, connection: 9, word: hasWord ? .version(server.a) : nil),
                equals: "B")
            expect(server.table.answered(session: "old"), equals: hasWord ? server.a : server.b)
            guard hasWord else { continue }
            expect(
                server.connect("new", by: browser, connection: 8, word: .version(server.b)),
                equals: "B")
            expect(server.table.answered(session: "new"), equals: server.b)
            // Each holds its own.
            server.table.leave(session: "new", now: server.now)
            server.table.close(connection: 8, now: server.now)
            server.table.close(connection: 1, now: server.now)
            server.table.close(connection: 2, now: server.now)
            server.wait(3600)
            expect(server.pinned, equals: ["A"])
        }
    }

    @Test(
        "is the one that the worker hides, where its browser has a worker, or no other page of what it says"
    )
    func hidden() throws {
        for hasWorker in [true, false] {
            var (server, browser) = try PinServer.withPage()
            if hasWorker { try loadWorker(&server, browser) }
            server.go("/", of: server.b, in: &browser, isReload: !hasWorker)
            server.connect("s", by: browser, connection: 9, word: .version(server.a))
            expect(server.table.answered(session: "s"), equals: server.b)
            expect(server.table.version(session: "s"), equals: server.a)
        }
    }

    private func loadWorker(_ server: inout PinServer, _ browser: PinBrowser) throws {
        var script = PinRequest(load: .subresource, path: Array("/worker.js".utf8))
        script.isWorkerScript = true
        script.cookie = browser.cookie
        _ = server.ask(script)
    }

    @Test func `is none that its connection served before, if who asks names no browser`() throws {
        for referrer in [nil, "/"] {
            var (server, browser) = try PinServer.withBrowser()
            server.go("/", in: &browser, connection: 7)
            let nobody = PinBrowser(connection: 7)
            _ = server.get("/_castree/bridge", by: nobody, from: referrer)
            server.table.hold(session: "s", connection: 7, now: server.now)
            expect(!server.table.knows(session: "s"))
            // The page itself is there as long as any silent one.
            expect(server.pinned, equals: ["A"])
            server.wait(61)
            expect(server.pinned, equals: [])
        }
    }

    @Test func `may be any, if a worker asks`() throws {
        var (server, browser) = try PinServer.withBrowser()
        server.go("/", in: &browser)
        try loadWorker(&server, browser)
        _ = server.get("/app.js", by: browser, from: "/", connection: 2)
        expect(server.connect("s", by: browser, from: "/worker.js", connection: 2), equals: "A")
        expect(!server.table.knows(session: "s"))
        expect(server.table.browser(ofSession: "s"), equals: browser.cookie?.browser)
        expect(!server.table.isInDoubt(session: "s"), "there is one version only")
    }

    @Test(
        "was not sent by this run if a cookie alone names it: then what it says proves only itself")
    func recalled() throws {
        for (said, isOwn) in [("A", true), ("B", false), (nil, true)] {
            for referrer in ["/", nil] {
                var (server, browser) = try PinServer.withBrowser()
                server.go("/", in: &browser)
                server.table = PinTable(run: "1")
                server.current = server.b
                _ = server.get("/_castree/bridge", by: browser, from: referrer, connection: 9)
                let word = try said.map { PageWord.version(try VersionName($0)) }
                server.table.hold(session: "s", connection: 9, word: word, now: server.now)
                expect(server.table.answered(session: "s"), equals: isOwn ? server.a : nil)
                expect(server.pinned, equals: ["A"])
            }
        }
    }

    @Test
    func `is of several versions while it cannot be told, and its word alone is its own`() throws {
        var (server, browser) = try PinServer.withPage()
        server.go("/new", of: server.b, in: &browser, connection: 2)
        server.wait(10)
        expect(server.connect("s", by: browser, connection: 9), equals: "doubt")
        expect(server.table.isInDoubt(session: "s"))
        expect(server.table.answered(session: "s") == nil)
        expect(server.pinned, equals: ["A", "B"])
    }

    @Test(
        "is one more of the version that its requests have, if it says nothing and came without a navigation"
    )
    func another() throws {
        var (server, browser) = try PinServer.withPage()
        for session in ["first", "second"] {
            server.connect(session, by: browser, from: "/", connection: 1)
        }
        server.go("/new", of: server.b, in: &browser, connection: 2)
        expect(server.table.answered(session: "second"), equals: server.a)
    }

    @Test("is its own, though its cookie was replaced by one that another browser was given")
    func replacedCookie() throws {
        for pause in [40, 0] {
            var server = try PinServer()
            var stranger = PinBrowser(connection: 50)
            server.go("/", in: &stranger)
            server.wait(pause)
            var browser = PinBrowser(connection: 1)
            server.go("/", of: server.b, in: &browser, connection: 1)
            browser.cookie = stranger.cookie
            server.connect("s", by: browser, connection: 9, word: .version(server.b))
            // A page that was sent a moment ago may be hidden by a worker.
            expect(server.table.answered(session: "s"), equals: pause > 0 ? server.b : server.a)
        }
    }
}
