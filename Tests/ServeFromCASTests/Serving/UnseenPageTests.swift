import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md: time counts while a page of the version being tried may be seen, or none is open.
@Suite("A version being tried whose pages nobody sees")
struct UnseenPageTests {
    /// A page that is open: its version, and what it says of itself.
    struct Page: Sendable {
        enum State: Sendable { case seen, hidden, bare, gone }
        var version: String
        var state: State
    }

    /// What is open, and whether the version is left when its time has passed.
    static let scenes: [(open: [Page], isLeft: Bool)] = {
        let own = { Page(version: "2", state: $0) }
        let old = { Page(version: "1", state: $0) }
        return [
            ([own(.seen)], true), ([own(.hidden)], false), ([own(.bare)], true),
            ([own(.gone)], true),
            ([own(.hidden), own(.hidden)], false), ([own(.hidden), own(.seen)], true),
            ([own(.hidden), own(.bare)], true), ([own(.hidden), own(.gone)], false),
            ([old(.seen), own(.hidden)], false), ([old(.bare), own(.hidden)], false),
            ([old(.hidden), own(.seen)], true), ([old(.hidden), own(.gone)], true),
            ([old(.hidden), own(.bare)], true),
        ]
    }()

    private static func app() throws -> TestApp {
        let store = try TemporaryStore.app(good: "1")
        return try TestApp(store) { $0.confirmation = .seconds(100) }
    }

    /// Opens a page in a browser of its own; its session, if it has one.
    private static func open(
        _ page: Page, _ app: TestApp, isBlocked: Bool = false
    ) throws -> (TestBrowser, String?) {
        let browser = try app.visitor()
        if isBlocked { browser.cookies = [:] }
        if page.state == .bare { return (browser, nil) }
        let session = try browser.beginSession()
        let query = "?session=\(session)&version=\(page.version)"
        try browser.post("/_castree/bridge" + query, "3\nA 0")
        if page.state == .hidden {
            try expect(browser.post("/_castree/hidden?session=\(session)").status, equals: 204)
        }
        if page.state == .gone { try browser.post("/_castree/bridge" + query, "1\nC") }
        return (browser, session)
    }

    @Test(
        "is not left while each says that it is hidden, whatever pages of other versions are seen",
        arguments: [false, true])
    func hidden(_ isBlocked: Bool) throws {
        // Where cookies are blocked, none tells which navigation was that of a page with a session; the page itself says
        // its version, and nobody hears that it has gone.
        let scenes = Self.scenes.filter { !isBlocked || !$0.open.contains { $0.state == .gone } }
        for (index, scene) in scenes.enumerated() {
            let app = try Self.app()
            func open(_ version: String) throws -> [(TestBrowser, String?)] {
                try scene.open.filter { $0.version == version }
                    .map { try Self.open($0, app, isBlocked: isBlocked) }
            }
            var tabs = try open("1")
            try app.store.versions.activateAtNextBoot("2")
            tabs += try open("2")
            app.look(after: .seconds(1))
            app.look(after: .seconds(150))
            let lifecycle = try app.store.reopened().lifecycle()
            expect(lifecycle.current, equals: scene.isLeft ? "1" : "2", "scene \(index)")
            // Nobody has confirmed it, however long it stays.
            expect(lifecycle.knownGood, equals: ["1"], "scene \(index)")
            withExtendedLifetime(tabs) {}
        }
    }

    @Test func `has the rest of its time when it is seen, and no more`() throws {
        for endsBySession in [false, true] {
            let app = try Self.app()
            try app.store.versions.activateAtNextBoot("2")
            let (browser, named) = try Self.open(Page(version: "2", state: .hidden), app)
            let session = try require(named)
            app.look(after: .seconds(1))
            app.look(after: .seconds(150))
            if endsBySession {
                try browser.leave(session)
            } else {
                try browser.post("/_castree/visible?session=\(session)")
            }
            app.look(after: .seconds(151))
            app.look(after: .seconds(200))
            try expect(app.store.reopened().lifecycle().current, equals: "2")
            app.look(after: .seconds(260))
            let lifecycle = try app.store.reopened().lifecycle()
            expect(lifecycle.current, equals: "1")
            expect(lifecycle.attempts.first?.failedAttempts, equals: 1)
        }
    }

    @Test func `is confirmed by a hidden page as by any other`() throws {
        let app = try Self.app()
        try app.store.versions.activateAtNextBoot("2")
        let (browser, session) = try Self.open(Page(version: "2", state: .hidden), app)
        app.look(after: .seconds(1))
        app.look(after: .seconds(150))
        let confirm = "/_castree/confirm?session=\(try require(session))&version=2"
        try expect(browser.post(confirm).status, equals: 204)
        try expect(app.store.reopened().lifecycle().knownGood, equals: ["2", "1"])
    }

    @Test
    func
        `holds no waiting version back, of whatever version, once its browser has been dead for a minute`()
        throws
    {
        let app = try Self.app()
        func isSeen(after time: Duration) -> Bool {
            app.server.handler.isInForeground(now: SystemClock.now + time)
        }
        // Over requests, and by a WebSocket; both are killed: no page says that it goes.
        _ = try Self.open(Page(version: "1", state: .seen), app)
        do {
            let page = try SocketPage(app.visitor())
            expect(isSeen(after: .seconds(200)), "a page with a connection is not seen")
            withExtendedLifetime(page) {}
        }
        try app.wait(for: "the end of the connections") {
            app.server.bridge.absent(for: .zero, now: SystemClock.now).count == 2
        }
        expect(isSeen(after: .seconds(30)), "a page may be about to connect again")
        expect(!isSeen(after: .seconds(90)))
        // An attempt continues all the same: its page may be frozen, and then was hidden before.
        expect(app.server.bridge.sessions.count, equals: 2)
    }

    @Test func `is in the background only for as long as the program says so, too`() throws {
        let app = try Self.app()
        try app.store.versions.activateAtNextBoot("2")
        let tab = try Self.open(Page(version: "2", state: .seen), app)
        app.server.setForeground(false)
        app.look(after: .seconds(1))
        app.look(after: .seconds(150))
        try expect(app.store.reopened().lifecycle().current, equals: "2")
        app.server.setForeground(true)
        app.look(after: .seconds(151))
        app.look(after: .seconds(260))
        try expect(app.store.reopened().lifecycle().current, equals: "1")
        withExtendedLifetime(tab) {}
    }
}
