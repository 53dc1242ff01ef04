import StorageTestSupport

@testable import ServeFromCAS

@Suite("A page of an app that is pushed to")
struct SwitchingTests {
    @Test
    func `keeps its version when another process activates one; the next page has that`() throws {
        let app = try TestApp(TemporaryStore.app())
        let browser = try app.visitor(seeing: "one")
        try expect(require(browser.cookies["castree_page_\(app.port)"]).contains(".1:"))
        let other = try app.store.reopened()
        try other.activate("2")
        try expect(browser.load("/app.js").text, equals: "run('one')")
        try expect(browser.load("/gone.js").text, equals: "only in one")
        try expect(browser.load("/new.js").status, equals: 404)
        try expect(browser.load("/same.txt").text, equals: "the same in all")

        let second = try app.visitor(seeing: "two")
        try expect(second.load("/app.js").text, equals: "run('two')")
        try expect(second.load("/gone.js").status, equals: 404)
        expect(app.server.currentVersion, equals: "2")
        try expect(second.status().pinned, equals: ["1", "2"])
        // The first page is where it was.
        try expect(browser.load("/style.css").text, equals: ".one {}")
    }

    @Test func `and continues with the new version when it navigates, unmixed`() throws {
        let app = try TestApp(TemporaryStore.app())
        let browser = try app.visitor()
        try app.store.reopened().activate("2")
        let reload = try browser.ask("GET", "/", navigation + [("Cache-Control", "max-age=0")])
        expect(reload.text.contains("two"))
        for (path, text) in [("/app.js", "run('two')"), ("/style.css", ".two {}")] {
            try expect(browser.load(path).text, equals: text)
        }
    }

    @Test(
        "keeps its version in each of two tabs, whichever bridge connects first, if one is loaded again"
    )
    func reloadedTab() throws {
        for isSwapped in [false, true] {
            let app = try TestApp(TemporaryStore.app())
            // A page of version 1 that was left a moment ago.
            let old = try app.browser()
            try old.navigate("/gone")
            try app.store.reopened().activate("2")
            var cookies = old.cookies
            func tab(_ path: String) throws -> TestBrowser {
                let tab = try app.browser()
                tab.cookies = cookies
                try expect(tab.navigate(path).text.contains("two"))
                cookies = tab.cookies
                return tab
            }
            let paths = isSwapped ? ["/help/", "/"] : ["/", "/help/"]
            let tabs = [try tab("/"), try tab("/help/")]
            let pages = try (isSwapped ? tabs.reversed() : tabs).enumerated().map { number, tab in
                tab.cookies = cookies
                return try SocketPage(tab, saying: "2", loadedFrom: paths[number])
            }
            let last = try app.browser()
            last.cookies = cookies
            try last.ask("GET", paths[1], navigation + [("Cache-Control", "max-age=0")])
            let session = try require(pages[1].bridge.session)
            let query = "?session=\(session)&page=\(paths[1])"
            try expect(last.post("/_castree/bridge" + query, "1\nC").status, equals: 200)
            for path in paths {
                try expect(last.load("/app.js", from: path).text, equals: "run('two')", "\(path)")
            }
            withExtendedLifetime(pages) {}
        }
    }

    @Test("gets no file at all where it cannot be told which version asks, and the files differ")
    func doubt() throws {
        let app = try TestApp(TemporaryStore.app())
        var limits = PinTable.Limits()
        // As if both pages had loaded long ago, so that no request is taken for the newer one's.
        limits.loading = .seconds(-1)
        app.server.handler.pins.withLock { $0 = PinTable(limits: limits) }
        let browser = try app.visitor()
        try app.store.reopened().activate("2")
        // Another tab of the same browser: one cookie, two versions.
        try expect(browser.navigate("/help/").text.contains("two"))
        try expect(browser.load("/same.txt").text, equals: "the same in all")
        for path in ["/app.js", "/style.css", "/gone.js", "/new.js"] {
            let answer = try browser.load(path)
            expect(answer.status, equals: 409, "\(path)")
            expect(answer.value("Cache-Control"), equals: "no-store")
        }
        // A script that only one version has says which page asks.
        try expect(browser.load("/app.js", from: "/new.js").text, equals: "run('two')")
        try expect(browser.load("/app.js", from: "/gone.js").text, equals: "run('one')")
    }

    @Test("keeps its version from being retired by another process, until it is gone for long")
    func pinning() throws {
        let app = try TestApp(TemporaryStore.app())
        let other = try app.store.reopened()
        do {
            let browser = try app.visitor()
            defer { withExtendedLifetime(browser) {} }
            try other.activate("2")
            #expect(throws: StoreError.self) { try other.retire("1") }
            // Its connection holds it however long it is silent.
            app.look(after: .seconds(3600))
            #expect(throws: StoreError.self) { try other.retire("1") }
        }
        try app.browser().navigate()
        app.look(after: .seconds(30))
        #expect(throws: StoreError.self) { try other.retire("1") }
        try app.waitUntilUnpinned("1")
        try other.retire("1")
        try expect(app.browser().navigate().text.contains("two"))
    }

    @Test func `has its version pinned when it is answered, however pins end meanwhile`() throws {
        let app = try TestApp(TemporaryStore.app())
        let other = try app.store.reopened()
        let first = try app.visitor()
        try other.activate("2")
        let isDone = Atomic<Bool>(false)
        let ending = DispatchGroup()
        ending.enter()
        Thread {
            // All pages without a connection end at every look.
            while !isDone.load(ordering: .acquiring) { app.look(after: .seconds(61)) }
            ending.leave()
        }.start()
        for _ in 0..<200 {
            // A connection of its own, that nothing held the version before.
            try expect(app.tab(of: first).load("/app.js").text, equals: "run('one')")
            try expect(other.pinnedVersions().contains("1"))
        }
        isDone.store(true, ordering: .releasing)
        ending.wait()
    }

    @Test("is told to load again when its version was retired while the server was down")
    func gone() async throws {
        let store = try TemporaryStore.app()
        let first = try TestApp(store)
        let (_, browser) = try await first.restarted(first.visitor()) { other in
            try other.activate("2")
            try other.retire("1")
        }
        let answer = try browser.load("/app.js")
        expect(answer.status, equals: 409)
        expect(answer.text.contains("load the page again"))
        try expect(browser.navigate().text.contains("two"))
    }

    // docs/bridge-protocol.md, "Events".
    @Test("is told to load itself as it connects if its version was retired while it slept")
    func asleep() throws {
        for isWatching in [false, true] {
            let store = try TemporaryStore.app(good: "1")
            let app = try isWatching ? TestApp(watching: store) : TestApp(store)
            let other = try store.reopened()
            func told(_ version: String) throws -> [String] {
                try SocketPage(app.browser(), saying: version).heard("version-ready", app)
            }
            try store.makeKnownGood("2")
            app.look(after: .zero)
            try expect(told("1"), equals: [#"{"version":"2"}"#])
            try app.waitUntilUnpinned("1")
            try other.retire("1")
            try expect(told("1"), equals: [#"{"version":"2","reload":true}"#])
            try expect(told("2"), equals: [])
            try expect(store.reopened().lifecycle().attempts.isEmpty)
        }
    }

    @Test func `is told so in the session that it had before it slept, too`() throws {
        for isRetired in [true, false] {
            let app = try TestApp(TemporaryStore.app())
            let other = try app.store.reopened()
            let cookies: [String: String]
            let session: String
            do {
                let browser = try app.visitor()
                session = try browser.beginSession(saying: "1")
                cookies = browser.cookies
            }
            try other.activate("2")
            try app.waitUntilUnpinned("1")
            if isRetired { try other.retire("1") }
            let browser = try app.browser()
            browser.cookies = cookies
            func hear() throws -> String {
                try browser.ask(
                    "GET", "/_castree/bridge?session=\(session)&version=1&ack=0",
                    [("Sec-Fetch-Site", "same-origin")]
                ).text
            }
            try expect(hear().contains(#"{"version":"2"}"#))
            if isRetired {
                try app.wait(for: "the word") {
                    try hear().contains(#"{"version":"2","reload":true}"#)
                }
            } else {
                // It has its version again at once, before it asks for a file.
                try app.wait(for: "the pin") { try other.pinnedVersions().contains("1") }
                try expect(!hear().contains("reload"))
            }
        }
    }

    @Test("is given no file while it may be of a version retired while the server was down")
    func otherGone() async throws {
        let store = try TemporaryStore.app()
        let first = try TestApp(store)
        let browser = try first.visitor()
        try store.versions.activate("2")
        try browser.navigate("/help/")
        let (_, again) = try await first.restarted(browser) { try $0.retire("1") }
        // What the other one had is not known any more: nothing is surely the same in both.
        for path in ["/app.js", "/same.txt", "/gone.js"] {
            try expect(again.load(path).status, equals: 409, "\(path)")
        }
        try expect(again.navigate().text.contains("two"))
    }

    @Test func `holds no version any more once its server has stopped`() async throws {
        let app = try TestApp(TemporaryStore.app())
        let browser = try app.visitor()
        _ = try SocketPage(browser)
        try app.store.reopened().activate("2")
        await app.stop()
        try expect(app.store.reopened().pinnedVersions().isEmpty)
        try app.store.reopened().retire("1")
    }

    @Test func `keeps its version through a restart of the server`() async throws {
        let store = try TemporaryStore.app()
        let first = try TestApp(store)
        let browser = try first.visitor()
        let (_, again) = try await first.restarted(browser) { try $0.activate("2") }
        try expect(again.load("/app.js").text, equals: "run('one')")
        try expect(again.status().pinned.contains("1"))
    }

    @Test("gets no file of another version after a restart, when pages of two were open")
    func restartOfTwo() async throws {
        let store = try TemporaryStore.app()
        let first = try TestApp(store)
        let browser = try first.visitor()
        try store.versions.activate("2")
        // Another tab of the same browser.
        try browser.navigate("/help/")
        let (_, again) = try await first.restarted(browser)
        // docs/serving.md: what differs is refused, what is the same is served, a navigation helps.
        for path in ["/app.js", "/style.css", "/gone.js", "/new.js"] {
            try expect(again.load(path).status, equals: 409, "\(path)")
        }
        try expect(again.load("/same.txt").text, equals: "the same in all")
        try expect(again.status().pinned, equals: ["1", "2"])
        try expect(again.navigate().text.contains("two"))
        try expect(again.load("/app.js").text, equals: "run('two')")
    }

    @Test
    func `keeps its cookie when a link from another site opens the app in another tab`() throws {
        let app = try TestApp(TemporaryStore.app())
        let tab = try app.browser()
        let set = try require(tab.navigate().value("Set-Cookie"))
        try app.store.reopened().activate("2")
        // What a browser sends with a link of another site: of the cookies only those that are Lax.
        let link = try app.browser()
        if set.contains("SameSite=Lax") { link.cookies = tab.cookies }
        let page = try link.ask(
            "GET", "/help/",
            navigation + [
                ("Sec-Fetch-Site", "cross-site"), ("Referer", "http://elsewhere.example/"),
            ])
        expect(page.text.contains("two"))
        // As if both had loaded long ago, so that no request is taken for the newer one's.
        app.server.handler.pins.withLock { $0.limits.loading = .seconds(-1) }
        // The tabs share their cookies.
        tab.cookies = link.cookies
        for path in ["/app.js", "/style.css", "/gone.js"] {
            // Refused, and not of the other version.
            try expect(tab.load(path).status, equals: 409, "\(path)")
        }
    }

    @Test(
        "waits with 503 until some version is current, has browsers ask again, and needs no restart then",
        arguments: [false, true])
    func waiting(hasUpdates: Bool) throws {
        let app = try TestApp(TemporaryStore.app(current: nil)) {
            if hasUpdates { $0.updates = ServedUpdates(ask: { _ in }, noteForeground: { _ in }) }
        }
        let browser = try app.browser()
        expect(app.server.currentVersion == nil)
        let answer = try browser.navigate()
        expect(answer.status, equals: 503)
        expect(answer.value("Retry-After"), equals: "1")
        expect(answer.value("Refresh"), equals: "1")
        expect(answer.text.contains("castree activate"), equals: !hasUpdates)
        try expect(browser.status().version == nil)
        try app.store.reopened().activate("1")
        try expect(browser.navigate().text.contains("one"))
        try expect(browser.status().version, equals: "1")
    }

    @Test("is shown from a store that cannot be written, and the operator is told what is lost")
    func readOnly() throws {
        let store = try TemporaryStore.app()
        let (disk, versions) = try store.openedOnFaultyDisk()
        disk.arm(.refuseChanges)
        let app = try TestApp(store, over: versions) {
            $0.port = .app("castree-test-\(UInt32.random(in: 0 ... .max))")
            $0.requiresToken = true
            $0.confirmation = .seconds(20)
        }
        expect(app.notices.all.contains { $0.contains("not remembered") })
        let browser = try app.browser()
        let query = try require(app.server.url.split(separator: "?").last)
        try expect(browser.navigate("/?\(query)").text.contains("one"))
        try expect(browser.load("/app.js").text, equals: "run('one')")
        for _ in 0..<5 { try browser.navigate() }
        app.look(after: .seconds(1))
        // Each of it once, however many pages there are.
        expect(app.notices.all.filter { $0.contains("unable to start") }.count, equals: 1)
        expect(app.notices.all.filter { $0.contains("not remembered") }.count, equals: 1)
    }

    @Test func `gets no damaged byte: 500, and the operator is told which object`() throws {
        let app = try TestApp(TemporaryStore.app())
        let address = try address(of: "run('one')")
        try Damage.flip(app.store.objectPath(address), at: 2)
        let browser = try app.visitor()
        let answer = try browser.load("/app.js")
        expect(answer.status, equals: 500)
        expect(!answer.text.contains("run"))
        expect(app.notices.all.contains { $0.contains(address.description) })
        // The transport closes after an error of its own; all else is served.
        try expect(app.tab(of: browser).load("/style.css").text, equals: ".one {}")
    }
}
