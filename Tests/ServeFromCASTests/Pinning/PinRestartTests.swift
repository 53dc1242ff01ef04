import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md, "No mixed page": after a restart of the server the cookie alone says what was open.
@Suite("Pins after a restart of the server")
final class PinRestartTests {
    private var server: PinServer
    private var browser = PinBrowser(connection: 1)

    /// Restarted before it sends its first page.
    init() throws {
        server = try PinServer()
        restart()
        server.go("/", in: &browser)
    }

    /// The server once more; every run has a name of its own.
    private func restart() {
        server.restarts += 1
        server.table = PinTable(run: "run\(server.restarts)")
    }

    @Test("never guess between the pages of two versions that were open, whichever asks first")
    func twoTabs() throws {
        server.go("/", of: server.b, in: &browser, connection: 2)
        for _ in 0..<3 {
            restart()
            expect(server.get("/late.js", by: browser, from: "/"), equals: "doubt")
            expect(server.pinned, equals: ["A", "B"])
            server.wait(60)
            expect(server.get("/late.js", by: browser, from: "/other"), equals: "doubt")
        }
        // A script that only one of them has says which.
        server.only = ["/app.3f2a9c1b.js": server.a]
        expect(server.get("/dep.js", by: browser, from: "/app.3f2a9c1b.js"), equals: "A")
    }

    @Test(arguments: [false, true])
    func `take no page that comes back for one that is loading`(isOlderLast: Bool) throws {
        server.go("/", of: server.b, in: &browser, connection: 2)
        restart()
        let pages = [("old", UInt64(8), server.a), ("new", UInt64(9), server.b)]
        for (session, connection, version) in isOlderLast ? pages.reversed() : pages {
            server.connect(
                session, by: browser, connection: connection, word: PageWord.version(version))
        }
        // A worker's script, or what a page loads into a window that it writes itself.
        for referrer in [nil, "/"] {
            let got = server.get("/worker.js", by: browser, from: referrer, connection: 3)
            expect(got, equals: "doubt")
        }
    }

    @Test("never take an older page's request for that of a page that begins after the restart")
    func navigation() throws {
        restart()
        expect(server.go("/", of: server.b, in: &browser, connection: 2), equals: "B")
        server.wait(10)
        expect(server.get("/late.js", by: browser, from: "/"), equals: "doubt")
        // And through a second restart.
        restart()
        expect(server.get("/late.js", by: browser, from: "/"), equals: "doubt")
    }

    @Test(arguments: [false, true])
    func `take no older page for the newest one, unless a worker may have shown it`(
        isFromNetwork: Bool
    ) {
        restart()
        server.current = server.b
        expect(server.go("/", in: &browser, connection: 2), equals: "B")
        for (session, connection, version) in [("old", UInt64(8), server.a), ("new", 9, server.b)] {
            _ = server.get("/_castree/bridge", by: browser, from: "/", connection: connection)
            server.table.hold(
                session: session, connection: connection, word: .version(version),
                address: Array("/".utf8), isFromNetwork: isFromNetwork, now: server.now)
            expect(server.table.version(session: session), equals: version)
        }
        let (old, new) = (server.a, server.b)
        expect(server.table.answered(session: "old"), equals: isFromNetwork ? old : new)
        expect(server.table.answered(session: "new"), equals: new)
    }

    @Test func `are in doubt for the grace only, if none of them has the bridge`() throws {
        server.go("/", of: server.b, in: &browser)
        restart()
        expect(server.get("/late.js", by: browser, from: "/"), equals: "doubt")
        server.wait(61)
        for _ in 0..<3 {
            server.table.expire(now: server.now)
            expect(server.get("/late.js", by: browser, from: "/"), equals: "B")
            // Silent, until nothing is known of it.
            server.table.close(connection: 1, now: server.now)
            server.wait(3600)
        }
    }

    @Test
    func `are in doubt as long as one of them keeps asking, for ten minutes at most`() throws {
        server.go("/", of: server.b, in: &browser, connection: 2)
        restart()
        for _ in 0..<10 {
            expect(server.get("/late.js", by: browser, from: "/"), equals: "doubt")
            // Connections come and go between its requests.
            server.table.close(connection: 1, now: server.now)
            server.wait(50)
            server.table.expire(now: server.now)
        }
        expect(server.pinned, equals: ["A", "B"])
        for _ in 0..<4 {
            _ = server.get("/late.js", by: browser, from: "/")
            server.table.close(connection: 1, now: server.now)
            server.wait(50)
            server.table.expire(now: server.now)
        }
        expect(server.get("/late.js", by: browser, from: "/"), equals: "B")
    }

    @Test func `hold a page that asks in the run that saw it begin, whatever it asks for`() throws {
        server.go("/next", of: server.b, in: &browser, connection: 2)
        server.wait(10)
        for _ in 0..<12 {
            expect(server.get("/late.js", by: browser, from: "/"), equals: "doubt")
            server.table.close(connection: 1, now: server.now)
            // The other tab is not closed either.
            expect(server.get("/late.js", by: browser, from: "/next"), equals: "doubt")
            server.wait(10)
        }
    }

    @Test("do not make a page that was left before it count as open, in the run that saw it go")
    func leftBefore() throws {
        server.go("/next", of: server.b, in: &browser)
        server.wait(20)
        for _ in 0..<3 {
            expect(server.get("/late.js", by: browser, from: "/next"), equals: "doubt")
            server.wait(15)
        }
        expect(server.get("/late.js", by: browser, from: "/next"), equals: "B")
    }

    @Test
    func `are those that are open still, not the one that a tab has left long before`() throws {
        server.go("/next", of: server.b, in: &browser)
        expect(browser.cookie?.others, equals: [server.a])
        func late() -> PinRequest {
            PinRequest(
                load: .subresource, path: Array("/late.js".utf8), referrer: Array("/next".utf8),
                cookie: browser.cookie, connection: 1)
        }
        func cookie(_ decision: PinTable.Decision) -> PinCookie? {
            guard case .serve(let version, let cookie, _) = decision else { return nil }
            expect(version, equals: server.b)
            return cookie
        }
        expect(cookie(server.ask(late())) == nil, "the page that was left still counts")
        server.wait(61)
        let corrected: PinCookie = try require(cookie(server.ask(late())))
        browser.cookie = corrected
        expect(browser.cookie?.others, equals: [])
        expect(cookie(server.ask(late())) == nil)
        restart()
        expect(server.get("/late.js", by: browser, from: "/next"), equals: "B")
    }

    @Test("stay open while a page with the bridge may be theirs, however long the other is gone")
    func bridges() throws {
        server.go("/", of: server.b, in: &browser, connection: 2)
        restart()
        for (session, connection) in [("old", UInt64(8)), ("new", 9)] {
            expect(server.connect(session, by: browser, connection: connection), equals: "doubt")
            server.table.hold(session: session, connection: connection, now: server.now)
        }
        server.go("/", in: &browser, isReload: true, connection: 2)
        server.table.leave(session: "new", now: server.now)
        server.table.close(connection: 9, now: server.now)
        for _ in 0..<3 {
            server.wait(3600)
            server.table.expire(now: server.now)
            expect(server.get("/late.js", by: browser, from: "/", connection: 3), equals: "doubt")
            expect(server.pinned, equals: ["A", "B"])
        }
        // It goes: nothing holds its version any more.
        server.table.leave(session: "old", now: server.now)
        server.table.close(connection: 8, now: server.now)
        server.wait(61)
        expect(server.pinned, equals: ["B"])
        expect(server.get("/late.js", by: browser, from: "/", connection: 3), equals: "B")
        expect(server.table.crowds.isEmpty)
    }

    @Test func `are of the only version there was, be it of one page or of several`() throws {
        server.go("/other", in: &browser, connection: 2)
        server.current = server.b
        restart()
        expect(server.get("/late.js", by: browser, from: "/"), equals: "A")
        expect(server.get("/late.js", by: browser, from: "/other", connection: 2), equals: "A")
        // One of them is loaded again; the other may be open yet.
        expect(server.go("/", in: &browser, isReload: true), equals: "B")
        server.wait(10)
        expect(server.get("/late.js", by: browser, from: "/other", connection: 2), equals: "doubt")
    }

    @Test func `take a reload of the only page for its end, as without a restart`() throws {
        restart()
        expect(server.go("/", of: server.b, in: &browser, isReload: true), equals: "B")
        server.wait(10)
        expect(server.get("/late.js", by: browser, from: "/"), equals: "B")
    }

    @Test("are those of the last navigation only: pages that had gone before are not remembered")
    func gone() throws {
        server.table.close(connection: 1, now: server.now)
        server.current = server.b
        server.wait(61)
        server.go("/", in: &browser)
        restart()
        expect(server.get("/late.js", by: browser, from: "/"), equals: "B")
    }

    @Test func `do not take a page that was only silent for one of an earlier run`() throws {
        server.table.close(connection: 1, now: server.now)
        server.wait(61)
        server.table.expire(now: server.now)
        expect(server.go("/", of: server.b, in: &browser), equals: "B")
        server.wait(10)
        expect(server.get("/late.js", by: browser, from: "/"), equals: "B")
    }

    @Test func `do not doubt in browsers whose requests are marked`() throws {
        server.current = server.b
        let request = PinRequest(
            load: .page, path: [47], cookie: browser.cookie, connection: 2, hints: 7)
        guard case .serve(_, let cookie?, let mark?) = server.ask(request) else {
            throw Unexpected("no mark")
        }
        restart()
        let late = PinRequest(
            load: .subresource, path: Array("/late.js".utf8), cookie: cookie, connection: 2,
            hints: mark.hints)
        guard case .serve(let version, _, _) = server.ask(late) else { throw Unexpected("doubt") }
        expect(version, equals: server.b)
    }

    @Test func `remember eight versions, those of the newest pages`() throws {
        for number in 0..<20 {
            server.current = try VersionName("v\(number)")
            server.go("/", in: &browser)
        }
        let cookie = try require(browser.cookie)
        expect(cookie.others.map(\.description), equals: (11...18).reversed().map { "v\($0)" })
        restart()
        expect(server.get("/late.js", by: browser, from: "/"), equals: "doubt")
        expect(server.pinned.count, equals: 9)
    }
}
