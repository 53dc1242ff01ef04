import StorageTestSupport

@testable import ServeFromCAS

@Suite("A new version")
struct ConfirmingTests {
    private let store: TemporaryStore

    init() throws { store = try TemporaryStore.app(good: "1") }

    @Test func `is known good once its page confirms, and is never left then`() throws {
        let app = try TestApp(watching: store)
        try store.versions.activateAtNextBoot("2")
        let browser = try app.visitor()
        try expect(browser.confirm(), equals: 204)
        try expect(store.reopened().lifecycle().knownGood, equals: ["2", "1"])
        // Again is as good as once.
        try expect(browser.confirm(), equals: 204)
        app.look(after: .seconds(36_000))
        try expect(store.reopened().lifecycle().current, equals: "2")
        expect(app.server.currentVersion, equals: "2")
    }

    @Test("is confirmed by its own pages only: another version's get 409, other sites 403")
    func strangers() throws {
        let store = try TemporaryStore.app()
        let app = try TestApp(watching: store)
        let old = try app.visitor()
        try store.reopened().activate("2")
        let new = try app.visitor(seeing: "two")
        try expect(old.confirm(), equals: 409)
        let confirm = "/_castree/confirm?session=\(try new.beginSession())"
        try expect(new.post(confirm, origin: "http://evil.example").status, equals: 403)
        try expect(new.post(confirm, origin: "http://localhost:1").status, equals: 403)
        try expect(new.post(confirm, origin: "null").status, equals: 403)
        try expect(new.ask("POST", confirm).status, equals: 403)
        for site in ["cross-site", "same-site"] {
            try expect(new.ask("POST", confirm, [("Sec-Fetch-Site", site)]).status, equals: 403)
        }
        let get = try new.ask("GET", "/_castree/confirm", [("Origin", new.origin)])
        expect(get.status, equals: 405)
        expect(get.value("Allow"), equals: "POST")
        try expect(store.reopened().lifecycle().knownGood, equals: [])
        try expect(new.confirm(), equals: 204)
        try expect(store.reopened().lifecycle().knownGood, equals: ["2"])
    }

    // Browsers without client hints; docs/serving.md, "Starting a new version, and going back".
    @Test(
        "is confirmed by its page's session where the request alone does not say which page asks")
    func session() throws {
        let app = try TestApp(watching: store)
        let old = try app.visitor(seeing: "one")
        let oldPage = try SocketPage(old)
        try store.versions.activateAtNextBoot("2")
        // Another tab of the same browser.
        let new = try app.tab(of: old)
        try expect(new.navigate("/help/").text.contains("two"))
        let newPage = try SocketPage(new)
        // As if both had loaded long ago, so that no request is taken for the newer one's.
        app.server.handler.pins.withLock { $0.limits.loading = .seconds(-1) }
        func confirm(_ page: SocketPage?) throws -> Int {
            // The page's socket is a connection of its own.
            let browser = try app.tab(of: new)
            let session = try page.map { "?session=\(try require($0.bridge.session))" } ?? ""
            return try browser.post("/_castree/confirm\(session)").status
        }
        try expect(confirm(nil), equals: 403)
        // A session of no page that is known says no more than the request itself.
        try expect(app.tab(of: new).confirm(), equals: 409)
        // The old page confirms its own version only, which is known good.
        try expect(confirm(oldPage), equals: 204)
        try expect(store.reopened().lifecycle().knownGood, equals: ["1"])
        try expect(confirm(newPage), equals: 204)
        try expect(store.reopened().lifecycle().knownGood, equals: ["2", "1"])
    }

    // docs/bridge-protocol.md, "Confirming".
    @Test("is not confirmed by who names no session of the bridge, or one that has ended")
    func secret() throws {
        let app = try TestApp(watching: store)
        try store.versions.activateAtNextBoot("2")
        let browser = try app.visitor(seeing: "two")
        let session = try browser.beginSession()
        for query in ["", "?", "?session=", "?session=" + session.dropLast()] {
            try expect(browser.post("/_castree/confirm" + query).status, equals: 403, "\(query)")
        }
        let other = String(repeating: "0", count: 32)
        try expect(browser.post("/_castree/confirm?session=" + other).status, equals: 410)
        let ended = try browser.beginSession()
        try expect(browser.post("/_castree/bridge?session=" + ended, "1\nC").status, equals: 200)
        try expect(browser.post("/_castree/confirm?session=" + ended).status, equals: 410)
        try expect(store.reopened().lifecycle().knownGood, equals: ["1"])
        try expect(browser.post("/_castree/confirm?session=" + session).status, equals: 204)
        try expect(store.reopened().lifecycle().knownGood, equals: ["2", "1"])
    }

    @Test
    func `that another process activates at once is watched as one that was pending`() throws {
        let app = try TestApp(watching: store)
        try app.browser().navigate()
        try store.reopened().activate("2")
        try expect(app.browser().navigate().text.contains("two"))
        try expect(store.reopened().lifecycle().boot?.version, equals: "2")
        app.look(after: .seconds(2001))
        try expect(store.reopened().lifecycle().current, equals: "1")
        try expect(app.browser().navigate().text.contains("one"))
    }

    @Test func `that nothing is behind is kept, and may be confirmed as late as it likes`() throws {
        let store = try TemporaryStore.app()
        let app = try TestApp(watching: store)
        let browser = try app.visitor()
        app.look(after: .seconds(2001))
        app.look(after: .seconds(36_000))
        expect(app.notices.all.count, equals: 1, "it is said once")
        try expect(browser.navigate().text.contains("one"))
        try expect(browser.confirm(), equals: 204)
        try expect(store.reopened().lifecycle().knownGood, equals: ["1"])
    }

    @Test func `is not watched if it is known good`() throws {
        let app = try TestApp(watching: store)
        let browser = try app.visitor()
        defer { withExtendedLifetime(browser) {} }
        app.look(after: .seconds(36_000))
        try expect(store.reopened().lifecycle().current, equals: "1")
        try expect(store.reopened().lifecycle().bad.isEmpty)
        expect(app.notices.all.isEmpty)
    }

    @Test func `is tried again after six hours in the foreground`() throws {
        try store.versions.activateAtNextBoot("2")
        let app = try TestApp(watching: store)
        try expect(app.browser().navigate().text.contains("two"))
        app.look(after: .seconds(2001))
        app.look(after: .seconds(20_000))
        try expect(app.browser().navigate().text.contains("one"))
        try expect(app.browser().navigate().text.contains("one"))
        app.look(after: .seconds(24_000))
        try expect(app.browser().navigate().text.contains("two"))
        try expect(store.reopened().lifecycle().attempts.map(\.failedAttempts), equals: [2])
    }

    @Test func `has the version before it to go back to, though that was never confirmed`() throws {
        let store = try TemporaryStore.app()
        let app = try TestApp(watching: store)
        try expect(app.browser().navigate().text.contains("one"))
        app.look(after: .seconds(2001))
        try store.versions.activate("2")
        try expect(app.browser().navigate().text.contains("two"))
        app.look(after: .seconds(4002))
        let browser = try app.visitor(seeing: "one")
        // What it went back to is not being tried, and its page may confirm it.
        try expect(store.reopened().lifecycle().unconfirmed == nil)
        try expect(browser.confirm(), equals: 204)
        try expect(store.reopened().lifecycle().knownGood, equals: ["1"])
    }

    @Test func `is served without a watch where none was asked for`() throws {
        let app = try TestApp(store)
        try store.versions.activate("2")
        let browser = try app.visitor(seeing: "two")
        app.look(after: .seconds(36_000))
        try expect(browser.confirm(), equals: 204)
        let lifecycle = try store.reopened().lifecycle()
        expect(lifecycle.current == "2" && lifecycle.boot == nil)
    }
}

@Suite("The watch over a start")
struct StartupWatchTests {
    private func started(
        at now: Duration = .zero, allowed: Duration = .seconds(20),
        pace: Duration = .seconds(1_000_000), isInBackground: Bool = false
    ) throws -> (TemporaryStore, TestWatch) {
        let store = try TemporaryStore.app(good: "1", waiting: "2")
        let watch = TestWatch(store.versions, allowed: allowed, pace: pace)
        if isInBackground { watch.setForeground(false, now: now) }
        try expect(watch.pageBegins(store.versions.lifecycle(), now: now)?.version, equals: "2")
        return (store, watch)
    }

    @Test func `counts from the navigation, and rolls back when the time is over, once`() throws {
        let (store, watch) = try started(at: .seconds(100))
        try expect(watch.look(now: .milliseconds(119_999)) == nil)
        try expect(watch.look(now: .seconds(120))?.from, equals: "2")
        try expect(watch.look(now: .seconds(121)) == nil)
        try expect(store.versions.lifecycle().current, equals: "1")
    }

    @Test func `counts no time in the background`() throws {
        let (store, watch) = try started()
        watch.setForeground(false, now: .seconds(5))
        watch.setForeground(false, now: .seconds(50))
        try expect(watch.look(now: .seconds(3600)) == nil)
        watch.setForeground(true, now: .seconds(3600))
        try expect(watch.look(now: .milliseconds(3_614_999)) == nil)
        try expect(watch.look(now: .seconds(3615))?.from, equals: "2")
        try expect(store.versions.lifecycle().current, equals: "1")
    }

    @Test func `counts nothing at all for a page that was loaded in the background`() throws {
        let (store, watch) = try started(isInBackground: true)
        try expect(watch.look(now: .seconds(3600)) == nil)
        watch.setForeground(true, now: .seconds(3600))
        try expect(watch.look(now: .seconds(3620))?.from, equals: "2")
        try expect(store.versions.lifecycle().current, equals: "1")
    }

    @Test func `judges nothing when it looks late, and counts no more time than it looks`() throws {
        let (store, watch) = try started(pace: .seconds(2))
        for second in 1...19 { try expect(watch.look(now: .seconds(second)) == nil) }
        // Frozen for an hour: what came meanwhile is read before the next look.
        try expect(watch.look(now: .seconds(3619)) == nil)
        try expect(watch.confirm("2"))
        try expect(watch.look(now: .seconds(3620)) == nil)
        try expect(store.versions.lifecycle().knownGood.first, equals: "2")
    }

    @Test func `leaves alone what somebody else has decided meanwhile`() throws {
        let (store, watch) = try started()
        let other = try store.reopened()
        try other.activate("1")
        try expect(watch.look(now: .seconds(60)) == nil)
        try expect(other.lifecycle().bad.isEmpty)
    }

    @Test(
        "says the time that was allowed as it was given",
        arguments: [(500, "500 ms"), (20_000, "20 s")])
    func words(_ milliseconds: Int64, _ words: String) throws {
        let (store, watch) = try started(allowed: .milliseconds(milliseconds))
        try expect(require(try watch.look(now: .seconds(60))).reason.contains("within \(words)"))
        try expect(store.versions.lifecycle().current, equals: "1")
    }
}
