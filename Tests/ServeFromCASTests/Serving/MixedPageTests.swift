import StorageTestSupport

@testable import ServeFromCAS

// A service worker shows the page of one version with a script that it kept of another.
@Suite("A page with files of several versions")
struct MixedPageTests {
    /// What a page of version 2 says of its files, and whether it is mixed.
    private static let pages: [(files: String, isMixed: Bool)] = [
        ("1 /app.js\n", true), ("1 /style.css\n", true), ("1 /gone.js\n", true),
        ("1 /app.js?x=1\n", true), ("1 /%61pp.js\n", true),
        ("1 /same.txt\n1 /app.js\n", true),
        // The same bytes, no file of that version, a version that is gone, nothing, nonsense.
        ("1 /same.txt\n", false), ("1 /new.js\n", false), ("0 /app.js\n", false), ("", false),
        ("2 /app.js\n", false), ("\n\n1\n/app.js\n1 \n../.. /app.js\n", false), ("1 /%\n", false),
    ]

    @Test(
        "is of none: it hides a start, which counts nothing, and one whose bytes are the same is whole"
    )
    func judges() throws {
        for page in Self.pages {
            let (store, app) = try TestApp.kiosk(waiting: "2")
            let browser = try app.visitor(seeing: "two")
            let session = try browser.beginSession()
            let query = "?session=\(session)&version=2"
            try browser.post("/_castree/bridge" + query, "3\nA 0")
            let answer = try browser.post("/_castree/mixed" + query, page.files)
            expect(answer.status, equals: page.isMixed ? 409 : 204, "\(page)")
            let lifecycle = try store.reopened().lifecycle()
            expect(lifecycle.current, equals: page.isMixed ? "1" : "2", "\(page)")
            expect(lifecycle.pending, equals: page.isMixed ? "2" : nil, "\(page)")
            expect(lifecycle.knownGood, equals: ["1"])
            expect(lifecycle.bad, equals: [])
            // The next page starts it again, and is whole.
            try expect(browser.navigate().text.contains("two"))
            try expect(browser.confirm(saying: "2"), equals: 204)
            try expect(store.reopened().lifecycle().knownGood, equals: ["2", "1"])
        }
    }

    // docs/serving.md, "Service workers": the words blame a worker only where the page has one.
    @Test(
        "tells its worker or the browser's cache, and is not started again if that has them still")
    func blames() throws {
        for (how, blamed, isWaiting) in [
            ("&worker=1", "a service worker showed files of version 1", false),
            ("", "the browser's cache showed files of version 1", false),
            ("&again=1", "the browser's cache showed files of version 1", true),
        ] {
            let (store, app) = try TestApp.kiosk(waiting: "2")
            let browser = try app.browser()
            try browser.navigate()
            let page = try SocketPage(browser, saying: "2", loadedFrom: "/")
            let script = try app.tab(of: browser)
            let query = "?session=\(try require(page.bridge.session))&version=2\(how)"
            try expect(script.post("/_castree/mixed" + query, "1 /app.js\n").status, equals: 409)
            try page.run { !$0.payloads("rolled-back").isEmpty }
            let event = try require(page.payloads("rolled-back").first)
            expect(event.contains(blamed), "\(how): \(event)")
            // One of no version is told nothing of its own.
            expect(event.contains("\"own\":true"), equals: how != "&worker=1", "\(how)")
            let blamesWorker = app.notices.all.contains { $0.contains("service worker") }
            expect(blamesWorker, equals: how == "&worker=1")
            try expect(store.reopened().lifecycle().current, equals: "1")
            try expect(script.navigate().text.contains(isWaiting ? "one" : "two"), "\(how)")
            try expect(store.reopened().lifecycle().pending, equals: isWaiting ? "2" : nil)
            try expect(store.reopened().lifecycle().bad, equals: [])
        }
    }

    @Test("takes nothing back that another tab shows whole, and is told to load again all the same")
    func otherTab() throws {
        let (store, app) = try TestApp.kiosk(waiting: "2")
        let shown = try app.visitor(seeing: "two")
        let page = try SocketPage(shown, saying: "2")
        let mixed = try app.visitor()
        let session = try mixed.beginSession()
        let query = "?session=\(session)&version=2"
        try expect(mixed.post("/_castree/mixed" + query, "1 /app.js\n").status, equals: 409)
        try expect(store.reopened().lifecycle().unconfirmed?.version, equals: "2")
        try expect(mixed.post("/_castree/mixed?session=x", "1 /app.js\n").status, equals: 403)
        withExtendedLifetime(page) {}
    }
}
