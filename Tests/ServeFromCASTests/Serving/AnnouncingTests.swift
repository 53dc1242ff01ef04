import StorageTestSupport

@testable import ServeFromCAS

// docs/bridge-protocol.md, "Events": version-ready is told of a version that is served from the next
// navigation on, to pages of another one. README's page loads itself again when it hears of one.
@Suite("What pages are told of a new version")
struct AnnouncingTests {
    /// What a page has heard once all has come that was sent before now.
    private func heard(_ page: SocketPage, _ app: TestApp) throws -> [String] {
        try page.heard("version-ready", app)
    }

    /// Confirms on a connection of its own: the other is the page's WebSocket by now.
    private func confirm(_ browser: TestBrowser, _ app: TestApp) throws -> Int {
        try app.tab(of: browser).confirm()
    }

    private let two = ["{\"version\":\"2\"}"]

    @Test("is nothing while it is pending on a server that starts none, and all when it is current")
    func starter() throws {
        let store = try TemporaryStore.app(good: "1")
        let app = try TestApp(store)
        let browser = try app.visitor()
        let page = try SocketPage(browser)
        try store.versions.activateAtNextBoot("2")
        app.look(after: .zero)
        try expect(heard(page, app), equals: [])
        let later = try app.visitor(seeing: "one")
        try expect(heard(try SocketPage(later), app), equals: [])
        // Somebody else starts it.
        _ = try store.versions.boot()
        app.look(after: .zero)
        try expect(heard(page, app), equals: two)
    }

    @Test func `is nothing once it was found that it cannot be started`() throws {
        let store = try TemporaryStore.app(good: "1", waiting: "2")
        let (disk, versions) = try store.openedOnFaultyDisk()
        disk.arm(.refuseChanges)
        let app = try TestApp(store, over: versions) { $0.confirmation = .seconds(2000) }
        for _ in 0..<3 {
            let browser = try app.visitor(seeing: "one")
            try expect(heard(try SocketPage(browser), app), equals: [])
        }
    }

    @Test
    func `is not kept back for ever by a file that could not be looked at for a moment`() throws {
        let store = try TemporaryStore.app(good: "1")
        let (disk, versions) = try store.openedOnFaultyDisk()
        let notices = Sink<String>()
        let cache = try SiteCache(ServedStore(versions), SiteOptions(), shell: nil) {
            notices.add($0)
        }
        cache.refresh()
        for count in 1...2 {
            disk.arm(.fail(5, at: 1, of: [.status], path: "lifecycle.json"))
            cache.refresh()
            expect(!cache.isFollowing)
            cache.refresh()
            expect(cache.isFollowing)
            expect(notices.all.count, equals: count)
        }
        expect(cache.current?.site.version.description, equals: "1")
    }

    @Test(
        "is nothing while the version before it is being tried, and comes when that has confirmed")
    func afterAnother() throws {
        let store = try TemporaryStore.app(good: "1")
        try store.add("3", ["index.html": "three"])
        let app = try TestApp(watching: store)
        try store.versions.activateAtNextBoot("2")
        let browser = try app.visitor(seeing: "two")
        let page = try SocketPage(browser)
        try store.versions.activateAtNextBoot("3")
        app.look(after: .zero)
        try expect(heard(page, app), equals: [])
        let again = try app.tab(of: browser)
        try expect(again.navigate().text.contains("two"))
        try expect(heard(try SocketPage(again), app), equals: [])
        try expect(confirm(again, app), equals: 204)
        try expect(heard(page, app), equals: ["{\"version\":\"3\"}"])
        try expect(app.browser().navigate().text.contains("three"))
    }

    @Test func `is nothing where another server has the start in its hands`() throws {
        let store = try TemporaryStore.app(good: "1")
        try store.add("3", ["index.html": "three"])
        let (first, second) = (try TestApp(watching: store), try TestApp(watching: store))
        try store.versions.activateAtNextBoot("2")
        try expect(first.browser().navigate().text.contains("two"))
        try store.versions.activateAtNextBoot("3")
        for _ in 0..<3 {
            let browser = try second.visitor(seeing: "two")
            try expect(heard(try SocketPage(browser), second), equals: [])
        }
    }

    @Test(
        "comes to a page that greets after it, however it became current", arguments: [true, false])
    func late(_ isWatched: Bool) throws {
        let store = try TemporaryStore.app(good: "1")
        let app = isWatched ? try TestApp(watching: store) : try TestApp(store)
        let browser = try app.visitor(seeing: "one")
        try store.versions.activate("2")
        app.look(after: .zero)
        try expect(heard(try SocketPage(browser), app), equals: two)
        // A page of that version has nothing to wait for.
        let next = try app.visitor(seeing: "two")
        try expect(heard(try SocketPage(next), app), equals: [])
    }

    @Test func `comes over requests, too, with the first that names the session`() throws {
        let store = try TemporaryStore.app(good: "1")
        let app = try TestApp(store)
        let browser = try app.visitor()
        try store.versions.activate("2")
        app.look(after: .zero)
        let welcome = try browser.post("/_castree/bridge", "5\nH 1 -")
        let session = welcome.text.split { $0 == " " || $0 == "\n" }[3]
        let answer = try browser.ask(
            "GET", "/_castree/bridge?session=\(session)&ack=0",
            [("Sec-Fetch-Site", "same-origin")])
        expect(answer.text.contains("version-ready\n{\"version\":\"2\"}"))
    }

    @Test func `comes once, and to pages of other versions only`() throws {
        let (store, app) = try TestApp.kiosk()
        let old = try app.visitor()
        let page = try SocketPage(old)
        try store.versions.activateAtNextBoot("2")
        for _ in 0..<3 { app.look(after: .zero) }
        let new = try app.visitor(seeing: "two")
        let second = try SocketPage(new)
        for _ in 0..<3 { app.look(after: .zero) }
        try expect(confirm(new, app), equals: 204)
        app.look(after: .zero)
        try expect(heard(page, app), equals: two)
        try expect(heard(second, app), equals: [])
    }
}
