import StorageTestSupport

@testable import ServeFromCAS

/// Whatever a page asks for, however little the request says, is of the page's version or is refused.
@Suite("What an older page asks for")
struct PinPageTests {
    /// What may be missing of a request that a page sends.
    struct Asking: CustomStringConvertible {
        var load: RequestHead.Load
        var hasMark: Bool
        var hasCookie: Bool
        var hasReferrer: Bool
        var sender: PinRequest.Sender

        var description: String {
            let parts = [("mark", hasMark), ("cookie", hasCookie), ("referrer", hasReferrer)]
            return "\(load) of \(sender): \(parts.filter(\.1).map(\.0))"
        }

        /// All that tells a page of ours from a tool, and a frame in it from one in another site's page.
        static let all: [Asking] = {
            var all: [Asking] = []
            for load in [RequestHead.Load.subresource, .frame] {
                for bits in 0..<8 {
                    for sender in [PinRequest.Sender.page, .nameless, .unsaid] {
                        let asking = Asking(
                            load: load, hasMark: bits & 1 != 0, hasCookie: bits & 2 != 0,
                            hasReferrer: bits & 4 != 0, sender: sender)
                        if asking.mayBe { all.append(asking) }
                    }
                }
            }
            return all
        }()

        private var mayBe: Bool {
            if hasReferrer { return sender == .page }
            switch sender {
            // Cookies are there unless scripts leave them out, or a person forbids them.
            case .page: return load == .subresource || hasMark || hasCookie
            // Of an opaque origin come neither cookies nor Referer. A frame inside such a frame is another site's unless
            // it has a mark.
            case .nameless: return !hasCookie && (load == .subresource || hasMark)
            // With marks comes Fetch Metadata. What says nothing at all is a tool's.
            default: return !hasMark && hasCookie
            }
        }
    }

    /// A page of A, while B is current, and, in the second case, open and loaded in another tab.
    private func answer(_ asking: Asking, isAlone: Bool) throws -> String {
        var server = try PinServer()
        var cookie: PinCookie?
        var marks: [PageMark?] = []
        for (version, path) in [(server.a, "/"), (server.b, "/two")].prefix(isAlone ? 1 : 2) {
            server.current = version
            let request = PinRequest(
                load: .page, path: Array(path.utf8), cookie: cookie, connection: 1,
                hints: asking.hasMark ? 7 : 0, sender: .nobody)
            guard case .serve(_, let set, let mark) = server.ask(request) else { return "no page" }
            cookie = set ?? cookie
            marks.append(mark)
            server.wait(10)
        }
        server.current = server.b
        let request = PinRequest(
            load: asking.load, path: Array("/late".utf8),
            referrer: asking.hasReferrer ? [47] : nil, cookie: asking.hasCookie ? cookie : nil,
            connection: 1, hints: marks[0]?.hints ?? 0, sender: asking.sender)
        return server.ask(request).name
    }

    @Test(arguments: Asking.all)
    func `is of its version while no page of another is open`(_ asking: Asking) throws {
        try expect(answer(asking, isAlone: true), equals: "A")
    }

    @Test(arguments: Asking.all)
    func `is never of another page's version`(_ asking: Asking) throws {
        try expect(answer(asking, isAlone: false), equals: asking.hasMark ? "A" : "doubt")
    }

    @Test("is nothing that other sites, tools or nobody ask for: they get the current version")
    func others() throws {
        for sender in [PinRequest.Sender.stranger, .nobody, .unsaid] {
            var (server, browser) = try PinServer.withBrowser()
            server.go("/", in: &browser)
            server.current = server.b
            for load in [RequestHead.Load.subresource, .frame] {
                let request = PinRequest(load: load, path: [47], connection: 2, sender: sender)
                guard case .serve(let version, _, _) = server.ask(request) else {
                    Issue.record("in doubt")
                    continue
                }
                expect(version, equals: server.b, "\(sender) \(load)")
            }
        }
    }

    @Test(arguments: [0, 1, 5, 70])
    func `is as before after a navigation to something that is no page`(_ seconds: Int) throws {
        var (server, browser) = try PinServer.withPage()
        server.wait(10)
        server.current = server.b
        for sender in [PinRequest.Sender.page, .nobody, .unsaid] {
            let served = server.go(
                "/report.zip", in: &browser, connection: 2, sender: sender, leadsToPage: false)
            expect(served, equals: "B")
            server.wait(seconds)
            expect(server.get("/late.js", by: browser, from: "/"), equals: "A")
            expect(server.get("/late.json", by: browser, from: nil), equals: "A")
            expect(browser.cookie?.version, equals: server.a)
            expect(server.pinned, equals: ["A"])
        }
    }

    /// Where it was going, and whether that was a reload.
    static let ways: [(path: String, isReload: Bool)] = [
        ("/", false), ("/", true), ("/other", false), ("/other", true),
    ]

    @Test(
        "is not of the version to which a navigation went that came to nothing", arguments: ways,
        [0, 1, 10])
    func brokenOff(_ way: (path: String, isReload: Bool), _ seconds: Int) throws {
        var (server, browser) = try PinServer.withPage()
        server.wait(10)
        server.current = server.b
        let before = browser
        expect(
            server.go(way.path, in: &browser, isReload: way.isReload, connection: 2), equals: "B")
        server.wait(seconds)
        // The browser has not taken the answer in: its cookie is the old one.
        for referrer in ["/", nil, "/pushed/state"] {
            expect(server.get("/late.js", by: before, from: referrer), equals: "doubt")
        }
        // It has, and gave the page up all the same.
        if way.path != "/" {
            expect(server.get("/late.js", by: browser, from: "/"), equals: "doubt")
        }
    }

    @Test("does not keep the newest page from loading", arguments: ways)
    func loading(_ way: (path: String, isReload: Bool)) throws {
        var (server, browser) = try PinServer.withPage()
        server.current = server.b
        expect(server.go(way.path, in: &browser, isReload: way.isReload), equals: "B")
        for referrer in [way.path, nil, "/style.css", "/pushed/state"] {
            expect(server.get("/app.js", by: browser, from: referrer), equals: "B")
        }
    }
}
