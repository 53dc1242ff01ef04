import Expectations
import Testing
import VersionTree

@testable import ServeFromCAS
@testable import WebServer

@Suite("A page with a session of the bridge")
struct PinSessionTests {
    typealias Server = PinTableTests.Server
    typealias Browser = PinTableTests.Browser

    @Test("is not gone when its connection breaks, and is again what it was when it connects")
    func broken() throws {
        var server = try Server()
        var browser = Browser(connection: 1)
        _ = server.go("/", in: &browser, connection: 1)
        expect(server.get("/_castree/bridge", by: browser, from: nil, connection: 9), equals: "A")
        server.table.hold(session: "s", connection: 9, now: server.now)
        server.current = server.b
        _ = server.go("/", in: &browser, connection: 2)
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

    @Test("is one of as many as there are navigations, frames too")
    func frames() throws {
        var server = try Server()
        var browser = Browser(connection: 1)
        _ = server.go("/", in: &browser, connection: 1)
        _ = server.go("/frame.html", in: &browser, load: .frame, from: "/", connection: 1)
        for (session, connection) in [("page", UInt64(8)), ("frame", 9)] {
            expect(
                server.get("/_castree/bridge", by: browser, from: nil, connection: connection),
                equals: "A")
            server.table.hold(session: session, connection: connection, now: server.now)
        }
        server.current = server.b
        _ = server.go("/", in: &browser, connection: 1)
        server.table.leave(session: "page", now: server.now)
        server.table.leave(session: "frame", now: server.now)
        server.wait(10)
        expect(server.get("/late.js", by: browser, from: "/", connection: 1), equals: "B")
    }

    @Test("speaks for its frames, and a frame for the page around it, in each version alone")
    func framesSeen() throws {
        for frames in [[], [false], [true], [false, false], [true, false]] {
            for isKnown in [true, false] {
                var server = try Server()
                var browser = Browser(connection: 1)
                _ = server.go("/", in: &browser, connection: 1)
                var names: [String] = isKnown ? ["page"] : []
                for (number, hasSession) in frames.enumerated() {
                    let path = "/frame\(number).html"
                    _ = server.go(path, in: &browser, load: .frame, from: "/", connection: 1)
                    if hasSession { names.append("frame \(number)") }
                }
                for (number, name) in names.enumerated() {
                    let connection = UInt64(10 + number)
                    _ = server.get(
                        "/_castree/bridge", by: browser, from: nil, connection: connection)
                    server.table.hold(session: name, connection: connection, now: server.now)
                }
                // The frames go on asking.
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

    @Test("that is reloaded takes its frames along, with and without a session")
    func reloaded() throws {
        var server = try Server()
        var browser = Browser(connection: 1)
        _ = server.go("/", in: &browser)
        _ = server.go("/frame.html", in: &browser, load: .frame, from: "/")
        server.wait(5)
        server.current = server.b
        _ = server.go("/", in: &browser, isReload: true)
        server.wait(10)
        expect(server.get("/late.js", by: browser, from: "/"), equals: "B")
    }
}
