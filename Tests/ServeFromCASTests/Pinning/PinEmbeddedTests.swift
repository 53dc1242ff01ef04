import StorageTestSupport

@testable import ServeFromCAS

// An app in a frame of a shell's page: no page of this server is around it.
@Suite("A page in a frame of another origin's page")
struct PinEmbeddedTests {
    private static func frame(_ path: String, _ browser: PinBrowser) -> PinRequest {
        var request = PinRequest(load: .frame, isForFrame: true, path: Array(path.utf8))
        request.sender = .page
        request.cookie = browser.cookie
        request.connection = browser.connection
        return request
    }

    /// Shows the app in a shell's frame; its mark.
    @discardableResult private static func embed(
        _ server: inout PinServer, _ browser: inout PinBrowser, hints: UInt8
    ) -> PageMark? {
        var request = frame("/", browser)
        request.sender = .stranger
        request.hints = hints
        expect(server.table.isEmbeddedPage(request, now: server.now))
        request.load = .page
        request.isEmbedded = true
        guard case .serve(_, let cookie, let mark) = server.ask(request) else { return nil }
        browser.cookie = cookie ?? browser.cookie
        return mark
    }

    @Test(arguments: 0...7 as ClosedRange<UInt8>)
    func `is a page of its own, and so is its reload; a frame in it is not`(_ hints: UInt8) throws {
        var (server, browser) = try PinServer.withBrowser()
        let mark = Self.embed(&server, &browser, hints: hints)
        var own = Self.frame("/", browser)
        own.referrer = Array("/".utf8)
        own.isReload = true
        own.hints = hints
        expect(server.table.isEmbeddedPage(own, now: server.now))
        // Where its requests are marked, one without a mark is its own; else it may be a frame's in it.
        own.isReload = false
        own.path = Array("/two".utf8)
        expect(server.table.isEmbeddedPage(own, now: server.now), equals: hints > 0)
        own.hints = mark?.hints ?? 0
        expect(!server.table.isEmbeddedPage(own, now: server.now))
        // Its scripts may have changed its address.
        own.hints = hints
        own.referrer = Array("/unknown".utf8)
        expect(server.table.isEmbeddedPage(own, now: server.now), equals: hints > 0)
    }

    @Test("is not what a page of this server has in its frames, wherever that frame was before")
    func inside() throws {
        for hints: UInt8 in [0, 7] {
            var (server, browser) = try PinServer.withBrowser()
            server.go("/", in: &browser)
            var frame = Self.frame("/frame", browser)
            frame.referrer = Array("/".utf8)
            frame.hints = hints
            expect(!server.table.isEmbeddedPage(frame, now: server.now))
            frame.isReload = true
            expect(!server.table.isEmbeddedPage(frame, now: server.now))
        }
    }

    @Test("has a mark of its own within what another castree's page leaves it, or none")
    func within() throws {
        for hints: UInt8 in 1...6 {
            var (server, browser) = try PinServer.withBrowser()
            let first = try require(Self.embed(&server, &browser, hints: hints))
            server.current = server.b
            let second = try require(Self.embed(&server, &browser, hints: hints))
            for mark in [first, second] { expect(mark.isProperPart(of: hints)) }
            expect(first == second, equals: first == .silent)
            expect(first == .silent, equals: hints.nonzeroBitCount == 1)
            // Nor has a tab's page theirs, or the one around them, unless it is of the same version.
            for (path, isKnown) in [("/one", true), ("/two", false)] {
                if !isKnown { server.current = try VersionName("C") }
                let request = PinRequest(
                    load: .page, path: Array(path.utf8), cookie: browser.cookie, hints: 7)
                guard case .serve(_, let cookie, let mark?) = server.ask(request) else {
                    throw Unexpected("no page with a mark")
                }
                browser.cookie = cookie ?? browser.cookie
                expect(mark.hints != hints && mark != first)
                expect(mark == second, equals: isKnown && second != .silent)
            }
        }
    }

    /// A page without hints beside a tab's page of another version: what only it can ask for.
    @Test(arguments: [false, true])
    func `is told from a tab's page where its requests carry no hints`(_ isRestarted: Bool) throws {
        var (server, browser) = try PinServer.withBrowser()
        var tab = PinRequest(load: .page, path: [47], connection: 2, hints: 7)
        func go() throws -> PageMark {
            tab.cookie = browser.cookie
            guard case .serve(server.current, let cookie, let mark?) = server.ask(tab) else {
                throw Unexpected("no page")
            }
            browser.cookie = cookie
            return mark
        }
        // The shell's mark is not the tab's.
        let first = try go()
        let other = UInt8(first.hints == 1 ? 2 : 1)
        expect(Self.embed(&server, &browser, hints: other), equals: .silent)
        if isRestarted {
            server.table = PinTable(run: "run1")
            _ = server.get("/_castree/bridge", by: browser, from: "/", connection: 3)
            server.table.hold(
                session: "one", connection: 3, address: [47], isEmbedded: true, now: server.now)
        }
        server.current = server.b
        expect(try go() != .silent)
        expect(server.get("/late.json", by: browser, from: "/"), equals: "A")
        // A worker of the tab's page has no hints, too, and its script is no page.
        expect(server.get("/late.json", by: browser, from: "/app.js"), equals: "doubt")
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
        server.go("/", in: &browser)
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
