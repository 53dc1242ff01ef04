import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md, "No mixed page": a page with the bridge's script says when it goes, and which frames go with it. The
// requests here are those of browsers that say neither hints nor what they load.
@Suite("A page that goes")
struct PinGoingTests {
    /// A tab whose page of A, with a session and frames, is left for one of B.
    private struct Tab {
        var server: PinServer
        var browser = PinBrowser(connection: 1)

        /// - Parameter isLate: whether it connects when its frames have come.
        init(frames: [String] = [], isLate: Bool = false) throws {
            server = try PinServer()
            server.go("/", in: &browser)
            if isLate { for frame in frames { _ = server.go(frame, in: &browser, from: "/") } }
            _ = server.get("/_castree/bridge", by: browser, from: nil, connection: 9)
            server.table.hold(session: "old", connection: 9, address: [47], now: server.now)
            if !isLate { for frame in frames { _ = server.go(frame, in: &browser, from: "/") } }
            server.current = server.b
        }

        /// What the old page says when the new one has come.
        mutating func goes(_ frames: [String]? = [], isKept: Bool) {
            server.table.close(connection: 9, now: server.now)
            if let frames {
                server.table.goes(
                    session: "old", paths: (["/"] + frames).map { Array($0.utf8) }, isKept: isKept,
                    now: server.now)
            }
            if !isKept { server.table.leave(session: "old", now: server.now) }
            server.wait(10)
        }

        /// Versions of what a page asks for, by fetch, from a style, and without a cookie as for a manifest.
        mutating func asks(from page: String) -> Set<String> {
            var bare = browser
            bare.cookie = nil
            return [
                server.get("/data.json", by: browser, from: page),
                server.get("/font.woff2", by: browser, from: "/style.css"),
                server.get("/manifest.json", by: bare, from: page),
            ]
        }
    }

    @Test("into the browser's memory asks for nothing, and what asks is the page that came")
    func kept() throws {
        for path in ["/page2", "/"] {
            for isSaid in [true, false] {
                var tab = try Tab()
                _ = tab.server.go(path, in: &tab.browser, from: "/")
                if isSaid { tab.goes(isKept: true) } else { tab.server.wait(10) }
                expect(tab.asks(from: path), equals: [isSaid ? "B" : "doubt"], "\(path)")
                expect(tab.server.pinned, equals: ["A", "B"])
            }
        }
    }

    @Test("may be back where no other has the address that asks, and is once its session is")
    func back() throws {
        var tab = try Tab()
        _ = tab.server.go("/page2", in: &tab.browser, from: "/")
        tab.goes(isKept: true)
        let (browser, now) = (tab.browser, tab.server.now)
        expect(tab.server.get("/data.json", by: browser, from: "/"), equals: "doubt")
        tab.server.table.hold(session: "old", connection: 11, now: now)
        expect(tab.asks(from: "/page2"), equals: ["doubt"])
    }

    @Test func `takes its frames with it, but no other tab's page of that address`() throws {
        for choice in 0..<16 {
            let (isKept, isSaid) = (choice & 1 != 0, choice & 2 != 0)
            let (hasTab, isLate) = (choice & 4 != 0, choice & 8 != 0)
            var tab = try Tab(frames: ["/frame", "/ads"], isLate: isLate)
            if hasTab {
                tab.server.current = tab.server.a
                _ = tab.server.go("/frame", in: &tab.browser)
                tab.server.current = tab.server.b
            }
            let isReload = !isKept && isSaid
            _ = tab.server.go("/", in: &tab.browser, isReload: isReload)
            _ = tab.server.go("/frame", in: &tab.browser, from: "/")
            tab.goes(isSaid ? ["/ads", "/frame"] : nil, isKept: isKept)
            expect(
                tab.asks(from: "/"), equals: [isSaid && !hasTab ? "B" : "doubt"],
                "kept \(isKept), said \(isSaid), tab \(hasTab), late \(isLate)")
        }
    }

    @Test func `leaves frames that have sessions to speak for themselves`() throws {
        var tab = try Tab(frames: ["/frame"])
        _ = tab.server.get("/_castree/bridge", by: tab.browser, from: "/frame", connection: 8)
        tab.server.table.hold(
            session: "frame", connection: 8, address: Array("/frame".utf8), now: tab.server.now)
        _ = tab.server.go("/", in: &tab.browser, isReload: true)
        tab.goes(["/frame"], isKept: false)
        expect(tab.asks(from: "/"), equals: ["doubt"])
        tab.server.table.close(connection: 8, now: tab.server.now)
        tab.server.table.leave(session: "frame", now: tab.server.now)
        expect(tab.asks(from: "/"), equals: ["B"])
    }
}
