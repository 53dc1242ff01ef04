import Expectations
import VersionTree

@testable import ServeFromCAS

// An app in a frame of a shell's page: no page of this server is around it.
@Suite("A page in a frame of another origin's page")
struct PinEmbeddedTests {
    private static func frame(_ path: String, _ browser: PinBrowser) -> PinRequest {
        var request = PinRequest(load: .frame, path: Array(path.utf8))
        request.cookie = browser.cookie
        request.connection = browser.connection
        return request
    }

    /// Shows the app in a shell's frame.
    private static func embed(_ server: inout PinServer, _ browser: inout PinBrowser, hints: UInt8)
    {
        var request = frame("/", browser)
        request.isFrameOfAnotherOrigin = true
        request.hints = hints
        expect(server.table.isEmbeddedPage(request, now: server.now))
        request.load = .page
        request.isEmbedded = true
        guard case .serve(_, let cookie, _) = server.ask(request) else { return }
        browser.cookie = cookie
    }

    @Test(arguments: [UInt8(0), 7])
    func `is a page of its own, and so is its reload; a frame in it is not`(_ hints: UInt8) throws {
        var (server, browser) = try PinServer.withBrowser()
        Self.embed(&server, &browser, hints: hints)
        var own = Self.frame("/", browser)
        own.referrer = Array("/".utf8)
        own.isReload = true
        own.hints = hints
        expect(server.table.isEmbeddedPage(own, now: server.now))
        // Where its requests are marked, one without a mark is its own; else it may be a frame's in it.
        own.isReload = false
        own.path = Array("/two".utf8)
        expect(server.table.isEmbeddedPage(own, now: server.now), equals: hints == 7)
        own.hints = 5
        expect(!server.table.isEmbeddedPage(own, now: server.now))
        own.hints = hints
        own.referrer = Array("/unknown".utf8)
        expect(!server.table.isEmbeddedPage(own, now: server.now))
    }

    @Test("is not what a page of this server has in its frames, wherever that frame was before")
    func inside() throws {
        for hints: UInt8 in [0, 7] {
            var (server, browser) = try PinServer.withBrowser()
            _ = server.go("/", in: &browser)
            var frame = Self.frame("/frame", browser)
            frame.referrer = Array("/".utf8)
            frame.hints = hints
            expect(!server.table.isEmbeddedPage(frame, now: server.now))
            frame.isReload = true
            expect(!server.table.isEmbeddedPage(frame, now: server.now))
            // The mark is its page's.
            frame.hints = 3
            frame.isFrameOfAnotherOrigin = true
            expect(!server.table.isEmbeddedPage(frame, now: server.now))
        }
    }

    @Test(
        "says so to a server that was restarted, and to another it says nothing",
        arguments: [false, true], ["/", "/two"])
    func restarted(_ saysIt: Bool, _ other: String) throws {
        var (server, browser) = try PinServer.withBrowser()
        Self.embed(&server, &browser, hints: 7)
        // Another one in the same page, or none; which of them asks, the cookie does not say.
        if other != "/" { _ = server.go(other, in: &browser) }
        server.restarts += 1
        server.table = PinTable(run: "run\(server.restarts)")
        _ = server.get("/_castree/bridge", by: browser, from: "/", connection: 3)
        server.table.hold(
            session: "one", connection: 3, address: Array("/".utf8), isEmbedded: saysIt,
            now: server.now)
        var own = Self.frame("/", browser)
        own.referrer = Array("/".utf8)
        own.isReload = true
        own.hints = 7
        expect(server.table.isEmbeddedPage(own, now: server.now), equals: saysIt)
    }

    @Test
    func
        `is a page of its own if it has neither a cookie nor a mark, and is not only fetched ahead`()
        throws
    {
        var (server, browser) = try PinServer.withBrowser()
        _ = server.go("/", in: &browser)
        for (hints, isForFrame) in [(UInt8(7), true), (7, false), (5, true), (0, true)] {
            var own = Self.frame("/two", browser)
            own.cookie = nil
            own.referrer = Array("/".utf8)
            own.hints = hints
            own.isForFrame = isForFrame
            expect(
                server.table.isEmbeddedPage(own, now: server.now),
                equals: hints == 7 && isForFrame)
        }
    }
}
