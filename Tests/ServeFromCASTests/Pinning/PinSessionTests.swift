import StorageTestSupport

@testable import ServeFromCAS

@Suite("A page with a session of the bridge")
struct PinSessionTests {
    @Test("is not gone when its connection breaks, and is again what it was when it connects")
    func broken() throws {
        var (server, browser) = try PinServer.withPage()
        expect(server.connect("s", by: browser, connection: 9), equals: "A")
        server.go("/", of: server.b, in: &browser, connection: 2)
        server.table.close(connection: 9, now: server.now)
        server.table.close(connection: 1, now: server.now)
        server.wait(10)
        expect(server.get("/late.js", by: browser, from: "/", connection: 2), equals: "doubt")
        server.wait(3600)
        server.table.expire(now: server.now)
        expect(server.pinned, equals: ["B"])
        server.table.hold(session: "s", connection: 12, now: server.now)
        expect(server.pinned, equals: ["A", "B"])
        expect(server.get("/late.js", by: browser, from: "/", connection: 2), equals: "doubt")
    }

    @Test func `is one of as many as there are navigations, frames too`() throws {
        var (server, browser) = try PinServer.withPage()
        server.go("/frame.html", in: &browser, load: .frame, from: "/", connection: 1)
        for (session, connection) in [("page", UInt64(8)), ("frame", 9)] {
            expect(server.connect(session, by: browser, connection: connection), equals: "A")
        }
        server.go("/", of: server.b, in: &browser, connection: 1)
        server.table.leave(session: "page", now: server.now)
        server.table.leave(session: "frame", now: server.now)
        server.wait(10)
        expect(server.get("/late.js", by: browser, from: "/", connection: 1), equals: "B")
    }

    @Test("speaks for its frames, and a frame for the page around it, in each version alone")
    func framesSeen() throws {
        for frames in [[], [false], [true], [false, false], [true, false]] {
            for isKnown in [true, false] {
                var (server, browser) = try PinServer.withPage()
                var names: [String] = isKnown ? ["page"] : []
                for (number, hasSession) in frames.enumerated() {
                    let path = "/frame\(number).html"
                    server.go(path, in: &browser, load: .frame, from: "/", connection: 1)
                    if hasSession { names.append("frame \(number)") }
                }
                for (number, name) in names.enumerated() {
                    let connection = UInt64(10 + number)
                    server.connect(name, by: browser, connection: connection)
                }
                // The frames continue asking.
                server.wait(30)
                for number in frames.indices {
                    _ = server.get(
                        "/data.json", by: browser, from: "/frame\(number).html", connection: 1)
                }
                let (a, b, now) = (server.a, server.b, server.now)
                expect(server.table.hasPageWithoutSession(now: now), equals: names.isEmpty)
                expect(server.table.hasPageWithoutSession(of: a, now: now), equals: names.isEmpty)
                expect(!server.table.hasPageWithoutSession(of: b, now: now))
            }
        }
    }

    @Test func `that is reloaded takes its frames along, with and without a session`() throws {
        var (server, browser) = try PinServer.withPage()
        server.go("/frame.html", in: &browser, load: .frame, from: "/")
        server.wait(5)
        server.go("/", of: server.b, in: &browser, isReload: true)
        server.wait(10)
        expect(server.get("/late.js", by: browser, from: "/"), equals: "B")
    }

    /// How a page that cannot be told from others goes, and what comes in its place.
    private struct Going {
        /// What the cookie of before the restart remembers beside the version B.
        var others: [String]
        /// What pages say of themselves.
        var said: String?
        var isReload: Bool
        /// Whether the goodbye comes behind the navigation, and on the bridge's own connection.
        var isLate: Bool
        var isOnOwnConnection: Bool

        static var all: [Going] {
            var all: [Going] = []
            for others in [["A"], ["B"], ["B", "A"], ["A", "B"], ["A", "C"]] {
                for said in [nil, "A", "B", "C"] {
                    for bits in 0..<8 {
                        all.append(
                            Going(
                                others: others, said: said, isReload: bits & 1 == 0,
                                isLate: bits & 2 == 0, isOnOwnConnection: bits & 4 != 0))
                    }
                }
            }
            return all
        }
    }

    // docs/serving.md, "No mixed page": a page that begins after the restart counts as open beside the earlier ones.
    @Test func `takes along, when it goes, no page that has begun after its session`() throws {
        for row in Going.all {
            var server = try PinServer()
            server.table = PinTable(run: "new")
            server.current = server.b
            var browser = PinBrowser(connection: 1)
            browser.cookie = PinCookie(
                browser: "browser-number-one", version: server.b, run: "old",
                others: try row.others.map { try VersionName($0) })
            let word = try row.said.map { PageWord.version(try VersionName($0)) }
            /// Asks for the bridge, or says something by it.
            func say(_ session: Int, _ connection: UInt64) {
                let name = "session \(session)"
                if !server.table.knows(session: name) {
                    _ = server.get(
                        "/_castree/bridge", by: browser, from: "/", connection: connection)
                }
                server.table.hold(
                    session: name, connection: connection, word: word, now: server.now)
            }
            say(0, 100)
            for round in 1...4 {
                server.wait(2)
                let own = UInt64(99 + round)
                func leave() {
                    say(round - 1, row.isOnOwnConnection ? own : 2)
                    server.table.leave(session: "session \(round - 1)", now: server.now)
                    server.table.close(connection: own, now: server.now)
                }
                if !row.isLate { leave() }
                expect(server.go("/", in: &browser, isReload: row.isReload), equals: "B")
                if row.isLate { leave() }
                for path in ["/style.css", "/app.js"] {
                    expect(
                        server.get(path, by: browser, from: "/"), equals: "B",
                        "\(row), \(round). load")
                }
                say(round, own + 1)
            }
            // An older page that nobody has seen go may still ask.
            guard row.others != ["B"] else { continue }
            server.wait(5)
            expect(server.get("/late.js", by: browser, from: "/"), equals: "doubt", "\(row)")
        }
    }

    @Test func `that goes before it holds anything takes nothing along of another page`() throws {
        for said in [nil, "A"] {
            for isReload in [true, false] {
                var (server, browser) = try PinServer.withBrowser()
                server.go("/other", in: &browser, connection: 1)
                expect(
                    server.get("/_castree/bridge", by: browser, from: "/other", connection: 8),
                    equals: "A")
                server.table.open(session: "other")
                server.table.hold(session: "other", connection: 8, now: server.now)
                server.go("/", in: &browser, connection: 2)
                // It has greeted the server, no more.
                server.table.open(session: "own")
                expect(server.go("/", of: server.b, in: &browser, isReload: isReload), equals: "B")
                _ = server.get("/_castree/bridge", by: browser, from: "/", connection: 2)
                let word = try said.map { PageWord.version(try VersionName($0)) }
                server.table.hold(session: "own", connection: 2, word: word, now: server.now)
                server.table.leave(session: "own", now: server.now)
                expect(server.get("/app.js", by: browser, from: "/", connection: 2), equals: "B")
                server.wait(3600)
                expect(server.pinned.first, equals: "A", "the other tab is open")
            }
        }
    }
}
