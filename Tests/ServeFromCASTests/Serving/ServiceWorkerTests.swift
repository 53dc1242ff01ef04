import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md, "Service workers".
@Suite("A service worker")
struct ServiceWorkerTests {
    private func store(knownGood: Bool = true) throws -> TemporaryStore {
        let store = try TemporaryStore()
        for version in ["1", "2"] {
            try store.add(
                version,
                [
                    "index.html": "<title>\(version)</title>", "worker.js": "worker(\(version))",
                    "app.js": "run(\(version))", "same.js": "same",
                ])
        }
        if knownGood { try store.makeKnownGood("1") } else { try store.versions.activate("1") }
        return store
    }

    private func app(_ store: TemporaryStore) throws -> TestApp {
        let app = try TestApp(watching: store)
        // However slow the machine is, a worker installs without a pause.
        app.server.handler.pins.withLock { $0.limits.installing = .seconds(1000) }
        return app
    }

    private func visited() throws -> (TemporaryStore, TestApp, TestBrowser) {
        let app = try app(store())
        return (app.store, app, try app.visitor())
    }

    private static let worker = [
        ("Service-Worker", "script"), ("Sec-Fetch-Mode", "same-origin"),
        ("Sec-Fetch-Dest", "serviceworker"), ("Sec-Fetch-Site", "same-origin"),
    ]

    private func script(_ browser: TestBrowser, _ path: String = "/worker.js") throws -> String {
        try browser.ask("GET", path, Self.worker + [("Referer", browser.origin + "/")]).text
    }

    /// A page that its browser has loaded again and that is still version 1 says so.
    private func tellStale(_ browser: TestBrowser) throws -> String {
        let session = try browser.beginSession(saying: "1")
        let stale = "/_castree/stale-page?session=\(session)&version=1"
        try expect(browser.post(stale).status, equals: 204)
        return session
    }

    @Test("and what it asks for come from what the next page gets, and open pages keep theirs")
    func script() throws {
        let (store, app, browser) = try visited()
        try expect(script(browser), equals: "worker(1)")
        try store.versions.activate("2")
        try expect(app.browser().navigate().text.contains("2"))
        try expect(browser.load("/app.js").text, equals: "run(1)")
        try expect(script(browser), equals: "worker(2)")
        // What it keeps is of its own version; what it passes on for a page has the page's Referer.
        let ofWorker = fetchLoad + [("Referer", browser.origin + "/worker.js")]
        try expect(browser.ask("GET", "/app.js", ofWorker).text, equals: "run(2)")
        try expect(browser.ask("GET", "/", ofWorker).text.contains("2"))
        let ofPage = fetchLoad + [("Referer", browser.origin + "/")]
        try expect(browser.ask("GET", "/app.js", ofPage).text, equals: "run(1)")
        try expect(browser.load("/app.js").text, equals: "run(1)")
    }

    @Test func `starts nothing while its browser's pages are what the server sends`() throws {
        let (store, _, browser) = try visited()
        try store.versions.activateAtNextBoot("2")
        try expect(script(browser), equals: "worker(1)")
        try expect(store.reopened().lifecycle().pending, equals: "2")
    }

    @Test(
        "that keeps pages starts what waits with its script, and a page that it shows confirms it")
    func starts() throws {
        let (store, _, browser) = try visited()
        try store.versions.activateAtNextBoot("2")
        let old = try tellStale(browser)
        // One that has not changed brings no page.
        try expect(script(browser, "/same.js"), equals: "same")
        _ = try script(browser, "/none.js")
        try expect(store.reopened().lifecycle().current, equals: "1")
        try expect(script(browser), equals: "worker(2)")
        try expect(store.reopened().lifecycle().unconfirmed?.version, equals: "2")
        // The page is loaded again, and comes from the worker: no navigation is sent.
        try browser.leave(old)
        let session = try browser.beginSession()
        let confirm = "/_castree/confirm?session=\(session)"
        try expect(browser.post(confirm + "&version=1").status, equals: 204)
        try expect(store.reopened().lifecycle().knownGood, equals: ["1"])
        try store.versions.activateAtNextBoot("2")
        _ = try script(browser)
        try expect(browser.post(confirm + "&version=2").status, equals: 204)
        try expect(store.reopened().lifecycle().knownGood, equals: ["2", "1"])
    }

    @Test("whose page says that it works before the server has started it is heard when it starts")
    func early() throws {
        let store = try store()
        let app = try app(store)
        let browser = try app.browser()
        try store.versions.activateAtNextBoot("2")
        // Its navigation was answered, and an old page shown; the worker keeps what came.
        try expect(browser.navigate().text.contains("2"))
        let old = try browser.beginSession()
        try expect(browser.post("/_castree/confirm?session=\(old)&version=1").status, equals: 204)
        try browser.leave(old)
        try expect(store.reopened().lifecycle().current, equals: "1")
        let new = try browser.beginSession()
        try expect(browser.post("/_castree/confirm?session=\(new)&version=2").status, equals: 409)
        try expect(store.reopened().lifecycle().knownGood, equals: ["1"])
        try browser.navigate()
        try expect(store.reopened().lifecycle().knownGood, equals: ["2", "1"])
    }

    /// How a worker, or the browser beside it, makes a start while an older page is shown.
    enum Way: CaseIterable { case script, navigation, address, browser }

    @Test(
        "that shows an older page for longer than a start may take counts nothing",
        arguments: Way.allCases)
    func waits(_ way: Way) throws {
        let (store, app, browser) = try visited()
        if way == .browser { try expect(script(browser), equals: "worker(1)") }
        try store.versions.activateAtNextBoot("2")
        _ = try tellStale(browser)
        if way == .script || way == .address {
            // Nobody has navigated: a tab that has been open for long hides what the worker itself asks for.
            app.heardEarlier(by: .seconds(40))
        }
        switch way {
        case .browser:
            // It asks for the page while the worker starts, which has shown its own by then.
            try expect(browser.navigate().text.contains("2"))
        case .script: try expect(script(browser), equals: "worker(2)")
        case .navigation:
            // Stale while revalidate: it is for the next page.
            let sent = [
                ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "empty"),
                ("Accept", "text/html,*/*;q=0.8"),
            ]
            try expect(browser.ask("GET", "/", sent).text.contains("2"))
        case .address:
            let sent = fetchLoad + [("Referer", browser.origin + "/same.js")]
            _ = try script(browser, "/same.js")
            try expect(browser.ask("GET", "/", sent).text.contains("2"))
        }
        // What it installs may have been refused, too.
        app.server.handler.starts.note(.refused)
        app.look(after: .seconds(2001))
        let lifecycle = try store.reopened().lifecycle()
        expect(lifecycle.current, equals: "1")
        expect(lifecycle.pending, equals: "2")
        expect(app.server.handler.nextVersion, equals: "2")
        expect(lifecycle.attempts, equals: [])
        expect(lifecycle.bad, equals: [])
    }

    /// When the server hears that the page in whose place another comes is gone.
    enum Goodbye: CaseIterable { case before, after, never }
    /// How many tabs are open, and how the server hears of the older page's end.
    private static let comings = [1, 2].flatMap { tabs in
        Goodbye.allCases.map { (tabs, $0) }
    }

    @Test(
        "that asks for pages by their addresses shows a version that its page can confirm, and that is not struck",
        arguments: comings)
    func byAddress(_ tabs: Int, _ goodbye: Goodbye) throws {
        let store = try store()
        let app = try app(store)
        let browser = try app.browser()
        var old: [String] = []
        for _ in 1...tabs {
            try browser.navigate()
            old.append(try tellStale(browser))
        }
        try store.versions.activateAtNextBoot("2")
        _ = try tellStale(browser)
        try expect(script(browser), equals: "worker(2)")
        // What a worker asks for by an address is no navigation.
        let fields = fetchLoad + [("Referer", browser.origin + "/worker.js")]
        try expect(browser.ask("GET", "/", fields).text.contains("2"))
        try expect(browser.ask("GET", "/app.js", fields).text, equals: "run(2)")
        func leave() throws { try browser.leave(old[0]) }
        if goodbye == .before { try leave() }
        let session = try browser.beginSession(saying: "2")
        if goodbye == .after { try leave() }
        let confirm = "/_castree/confirm?session=\(session)&version=2"
        try expect(browser.post(confirm).status, equals: 204)
        app.look(after: .seconds(2001))
        let lifecycle = try store.reopened().lifecycle()
        expect(lifecycle.knownGood, equals: ["2", "1"])
        expect(lifecycle.attempts, equals: [])
        expect(lifecycle.bad, equals: [])
    }

    @Test(
        "that sends navigations on by their addresses gets the next page's, however long ago it came"
    )
    func navigationsByAddress() throws {
        let store = try store()
        let app = try TestApp(store)
        let browser = try app.visitor()
        try expect(script(browser), equals: "worker(1)")
        try store.versions.activate("2")
        try expect(app.browser().navigate().text.contains("2"))
        try expect(script(browser), equals: "worker(2)")
        let fields = fetchLoad + [("Referer", browser.origin + "/worker.js")]
        func get(_ path: String, after seconds: Int) throws -> String {
            app.server.handler.pins.withLock { pins in
                for name in pins.browsers.keys {
                    for index in pins.browsers[name]?.workers.indices ?? 0..<0 {
                        pins.browsers[name]?.workers[index].givenAt -= .seconds(seconds)
                        pins.browsers[name]?.workers[index].askedAt -= .seconds(seconds)
                    }
                    for index in pins.browsers[name]?.loads.indices ?? 0..<0 {
                        pins.browsers[name]?.loads[index].begunAt -= .seconds(seconds)
                    }
                }
            }
            let answer = try browser.ask("GET", path, fields)
            return answer.status == 200 ? answer.text : "\(answer.status)"
        }
        try expect(get("/app.js", after: 2), equals: "409")
        try expect(get("/same.js", after: 0), equals: "same")
        try expect(get("/", after: 0).contains("2"))
        try expect(get("/app.js", after: 61), equals: "run(1)")
        try expect(get("/", after: 0).contains("2"))
    }

    @Test("that sends navigations on by their addresses, and never changes, brings what waits")
    func unchangedByAddress() throws {
        let (store, _, browser) = try visited()
        _ = try script(browser, "/same.js")
        let fields = fetchLoad + [("Referer", browser.origin + "/same.js")]
        try store.versions.activateAtNextBoot("2")
        // It may be for its cache: until a page says that it is shown, nothing starts.
        try expect(browser.ask("GET", "/", fields).text.contains("1"))
        try expect(store.reopened().lifecycle().pending, equals: "2")
        let old = try browser.beginSession()
        let stale = "/_castree/stale-page?session=\(old)&version=1"
        // Once, and it is no fault of the worker's yet.
        try expect(browser.post(stale).status, equals: 205)
        try expect(browser.ask("GET", "/app.js", fields).text, equals: "run(1)")
        try expect(browser.ask("HEAD", "/", fields).status, equals: 200)
        try expect(store.reopened().lifecycle().pending, equals: "2")
        try expect(browser.ask("GET", "/", fields).text.contains("2"))
        try expect(store.reopened().lifecycle().unconfirmed?.version, equals: "2")
        try expect(browser.ask("GET", "/app.js", fields).text, equals: "run(2)")
        try expect(browser.post(stale).status, equals: 204)
        try browser.leave(old)
        try expect(browser.confirm(saying: "2"), equals: 204)
        try expect(store.reopened().lifecycle().knownGood, equals: ["2", "1"])
    }

    @Test
    func `that keeps the page of each of several tabs starts what waits with its script`() throws {
        for tabs in 1...4 {
            let (store, _, browser) = try visited()
            try store.versions.activateAtNextBoot("2")
            // Each page but the first came from the worker, and the last one alone is loaded again.
            for _ in 1..<tabs { _ = try browser.beginSession() }
            _ = try tellStale(browser)
            try expect(script(browser), equals: "worker(2)", "\(tabs) tabs")
        }
    }

    @Test("that keeps a page from which nothing is heard does not keep a version that never works")
    func neverHeard() throws {
        let (store, app, browser) = try visited()
        try store.versions.activateAtNextBoot("2")
        let old = try tellStale(browser)
        try expect(script(browser), equals: "worker(2)")
        try browser.leave(old)
        app.look(after: .seconds(2001))
        // The older page was open for a while: its tab may have been closed.
        try expect(store.reopened().lifecycle().attempts, equals: [])
        try expect(script(browser), equals: "worker(2)")
        app.look(after: .seconds(4002))
        let lifecycle = try store.reopened().lifecycle()
        expect(lifecycle.current, equals: "1")
        expect(lifecycle.attempts.map(\.failedAttempts), equals: [1])
        // Its browser gets the old worker, and with it the old page.
        try expect(script(browser), equals: "worker(1)")
    }

    @Test("that keeps pages is told of once, and not by a page that is what the server sends")
    func stale() throws {
        let (store, app, browser) = try visited()
        func count() -> Int { app.notices.all.count { $0.contains("a service worker shows") } }
        _ = try tellStale(browser)
        try expect(store.versions.lifecycle().current, equals: "1")
        try store.versions.activate("2")
        try expect(app.browser().navigate().text.contains("2"))
        expect(count(), equals: 0)
        for _ in 1...3 { _ = try tellStale(browser) }
        try app.wait(for: "the notice") { count() == 1 }
        let session = try browser.beginSession()
        let stale = "/_castree/stale-page?session=\(session)"
        try expect(browser.post("/_castree/stale-page").status, equals: 403)
        try expect(browser.post(stale, origin: "http://evil.example").status, equals: 403)
        try expect(browser.ask("GET", stale).status, equals: 405)
    }

    @Test func `that keeps pages is told of however many were told of half a day ago`() throws {
        let (store, app, browser) = try visited()
        try store.versions.activate("2")
        try expect(app.browser().navigate().text.contains("2"))
        let before = SystemClock.now - .seconds(43_201)
        app.server.handler.announcements.withLock { said in
            for number in 0..<1000 { _ = said.staysKept("\(number)", insteadOf: "2", now: before) }
        }
        _ = try tellStale(browser)
        try app.wait(for: "the notice") {
            app.notices.all.contains { $0.contains("a service worker shows version 1") }
        }
        expect(app.server.handler.announcements.withLock { $0.stalePages.count }, equals: 1)
    }

    @Test(
        "of a browser that came without a cookie starts what is current with its page, and nothing that waits",
        arguments: ["2", "1", ""])
    func unasked(_ word: String) throws {
        for isCurrent in [true, false] {
            let store = try store()
            let app = try app(store)
            if isCurrent {
                try store.versions.activate("2")
            } else {
                try store.versions.activateAtNextBoot("2")
            }
            app.server.handler.follow()
            let browser = try app.browser()
            try expect(script(browser), equals: isCurrent ? "worker(2)" : "worker(1)")
            expect(try store.reopened().lifecycle().unconfirmed == nil)
            let session = try browser.beginSession()
            let query = "?session=\(session)&version=\(word)"
            try browser.post("/_castree/bridge" + query, "3\nA 0")
            let isGood = isCurrent && word == "2"
            let status = try browser.post("/_castree/confirm" + query).status
            expect(status, equals: isGood || word == "1" ? 204 : 409, "\(word) \(isCurrent)")
            let lifecycle = try store.reopened().lifecycle()
            expect(lifecycle.knownGood, equals: isGood ? ["2", "1"] : ["1"])
            expect(lifecycle.pending, equals: isCurrent ? nil : "2")
            expect(lifecycle.attempts, equals: [])
        }
    }

    @Test func `is 404 where the server refuses it, and nothing of the app's is cleared`() throws {
        let app = try TestApp(store()) { $0.refusesServiceWorkers = true }
        let browser = try app.visitor()
        for path in ["/worker.js", "/none.js", "/"] {
            let answer = try browser.ask("GET", path, Self.worker)
            expect(answer.status, equals: 404, "\(path)")
            expect(answer.value("Clear-Site-Data"), equals: "\"cache\"", "\(path)")
        }
        try expect(browser.load("/worker.js").text, equals: "worker(1)")
        try expect(browser.load("/_castree/bridge.js").text.contains("const refuses=true;"))
        expect(!String(decoding: BridgeScript.bytes, as: UTF8.self).contains("refuses=true"))
    }
}
