import WebTestSupport

@testable import ServeFromCAS

// A shell that another castree server serves: its mark is on what its frames ask for, and its Referrer-Policy keeps the
// Referer from other origins. All requests are as Chromium 156 sends them.
@Suite("An app in a page of another castree server")
struct MarkedShellTests {
    /// A frame's page, and what its requests carry.
    private struct Frame {
        let browser: TestBrowser
        /// What the shell's mark leaves.
        let hints: [(String, String)]
        var isElsewhere = false
        private var storage: [(String, String)] {
            isElsewhere ? [("Sec-Fetch-Storage-Access", "none")] : []
        }
        private var load: [(String, String)] { frameLoad + storage + [("Accept", "text/html")] }

        init(_ browser: TestBrowser, hints: [(String, String)], isElsewhere: Bool = false) {
            self.browser = browser
            self.hints = hints
            self.isElsewhere = isElsewhere
        }

        /// The shell loads it; the fields of what its page asks for.
        func begin(_ name: String) throws -> [(String, String)] {
            let site = ("Sec-Fetch-Site", isElsewhere ? "cross-site" : "same-site")
            return try own(browser.ask("GET", "/", load + hints + [site]), name)
        }

        /// It loads itself again, or leads elsewhere.
        func go(_ name: String, _ target: String = "/", from page: String = "/") throws
            -> [(String, String)]
        {
            var fields = load + hints + [("Referer", browser.origin + page)]
            if target == page { fields.append(("Cache-Control", "max-age=0")) }
            return try own(
                browser.ask("GET", target, fields + [("Sec-Fetch-Site", "same-origin")]), name)
        }

        private func own(_ page: TestResponse, _ name: String) throws -> [(String, String)] {
            expect(page.text.contains(name), "\(page.status) \(page.text)")
            // The shell's own policy holds, too.
            let left = Hints.left(by: page).map(\.0)
            expect(page.value("Permissions-Policy") != nil)
            return hints.filter { left.contains($0.0) } + [("Sec-Fetch-Site", "same-origin")]
        }

        func file(_ own: [(String, String)], from page: String = "/") throws -> String {
            let fields = scriptLoad + own + [("Referer", browser.origin + page)]
            let answer = try browser.ask("GET", "/app.js", fields)
            return answer.status == 200 ? answer.text : "\(answer.status)"
        }
    }

    private static let shells: [[(String, String)]] = (1...6).map { bits in
        Hints.all.indices.filter { bits & (1 << $0) != 0 }.map { Hints.all[$0] }
    }

    @Test(
        "starts versions by its own reload and its links, and no frame in it does, also beside a tab",
        arguments: 0..<6, [false, true])
    func starts(_ number: Int, _ hasTab: Bool) throws {
        let (store, app) = try TestApp.kiosk()
        let browser = try app.browser()
        if hasTab { try browser.ask("GET", "/", navigation + Hints.all) }
        let frame = Frame(browser, hints: Self.shells[number])
        let first = try frame.begin("one")
        try expect(frame.file(first), equals: "run('one')")
        try store.versions.activateAtNextBoot("2")
        let inner =
            frameLoad + first + [("Accept", "text/html"), ("Referer", browser.origin + "/")]
        try expect(browser.ask("GET", "/help/", inner).text.contains("help of one"))
        let second = try frame.go("two")
        try expect(frame.file(second), equals: "run('two')")
        try expect(browser.confirm(), equals: 204)
        _ = try store.versions.rollback()
        let third = try frame.go("help of one", "/help/")
        try expect(frame.file(third, from: "/help/"), equals: "run('one')")
        try expect(frame.file(frame.begin("one")), equals: "run('one')")
    }

    @Test("keeps the version of each of two frames, if the shell leaves it two hints")
    func frames() throws {
        for hints in Self.shells where hints.count == 2 {
            let app = try TestApp(TemporaryStore.app())
            let frame = Frame(try app.browser(), hints: hints)
            let old = try frame.begin("one")
            _ = try frame.begin("one")
            try app.store.versions.activate("2")
            let new = try frame.go("two")
            for _ in 0..<2 {
                try expect(frame.file(new), equals: "run('two')")
                try expect(frame.file(old), equals: "run('one')")
            }
        }
    }

    @Test(
        "keeps its version when the server is restarted, and loads what is current when it must",
        arguments: 0..<6, [false, true])
    func restarted(_ number: Int, _ isElsewhere: Bool) async throws {
        let app = try TestApp(TemporaryStore.app())
        let browser = try app.browser()
        let hints = Self.shells[number]
        let own = try Frame(browser, hints: hints, isElsewhere: isElsewhere).begin("one")
        let (next, again) = try await app.restarted(browser) { try $0.activate("2") }
        let frame = Frame(again, hints: hints, isElsewhere: isElsewhere)
        try expect(frame.file(own), equals: "run('one')")
        let page = try SocketPage(next.tab(of: again), saying: "1", loadedFrom: "/&shell=1")
        try expect(page.heard("version-ready", next), equals: [#"{"version":"2"}"#])
        try expect(frame.file(frame.go("two")), equals: "run('two')")
    }

    @Test("loads itself again after a restart without the bridge, beside a tab's page")
    func withoutBridge() async throws {
        for hints in Self.shells {
            let app = try TestApp(TemporaryStore.app())
            let browser = try app.browser()
            let tab = try browser.ask("GET", "/", navigation + Hints.all)
            // Of the tab's own mark nobody can tell: it may be a frame in the tab's page.
            if Hints.left(by: tab).map(\.0) == hints.map(\.0) { continue }
            _ = try Frame(browser, hints: hints).begin("one")
            let (next, again) = try await app.restarted(browser) { try $0.activate("2") }
            defer { next.server.stop() }
            _ = try Frame(again, hints: hints).go("two", from: "/route")
        }
    }

    @Test func `in a shell without a mark loads itself again at an address of its script's`() throws
    {
        let app = try TestApp(TemporaryStore.app())
        let frame = Frame(try app.browser(), hints: Hints.all)
        _ = try frame.begin("one")
        try app.store.versions.activate("2")
        _ = try frame.go("two", "/route", from: "/route")
    }
}
