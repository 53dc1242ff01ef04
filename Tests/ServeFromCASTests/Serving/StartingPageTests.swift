import WebTestSupport

@testable import ServeFromCAS

// docs/serving.md, "What counts as a start, and the failed attempts": who sends the browser, and which page it asks
// for.
@Suite("A navigation")
struct StartingPageTests {
    /// Version 1, which is known good, and 2, which waits; each has pages with the bridge and without.
    private func app(requiresToken: Bool = false) throws -> TestApp {
        let store = try TemporaryStore()
        for version in ["1", "2"] {
            let script = "<script src=/_castree/bridge.js></script>"
            try store.add(
                version,
                [
                    "index.html": "start \(version)", "app.html": "\(script) app \(version)",
                    "terms.html": "terms \(version)",
                    "book.xhtml":
                        "<html xmlns='http://www.w3.org/1999/xhtml'>\(script) book \(version)",
                ])
        }
        try store.makeKnownGood("1")
        try store.versions.activateAtNextBoot("2")
        return try TestApp(store) {
            $0.confirmation = .seconds(2000)
            $0.requiresToken = requiresToken
        }
    }

    private static let otherSites: [[(String, String)]] = [
        [("Sec-Fetch-Site", "cross-site")],
        [("Sec-Fetch-Site", "cross-site"), ("Referer", "https://other.example/")],
        [("Referer", "https://other.example/")], [("Referer", "http://localhost.other.example/x")],
        [("Referer", "http://other.example:80/localhost")], [("Origin", "https://other.example")],
        [("Origin", "null")],
    ]

    @Test(
        "that another site sends is answered with what runs, and starts nothing",
        arguments: otherSites
    )
    func ofAnotherSite(_ fields: [(String, String)]) throws {
        let app = try app()
        for path in ["/", "/app.html", "/terms.html", "/nothing"] {
            let answer = try app.browser().ask("GET", path, navigation + fields)
            expect(!answer.text.contains("2"), "\(path): \(answer.text)")
        }
        app.look(after: .seconds(2001))
        let lifecycle = try app.store.versions.lifecycle()
        expect(lifecycle.current == "1" && lifecycle.pending == "2" && lifecycle.attempts.isEmpty)
        // The app's own navigation starts it.
        try expect(app.browser().navigate().text, equals: "start 2")
    }

    // `castree serve --open --token`: the browser is given a file that leads here.
    @Test("that brings the token starts what waits, from wherever it comes", arguments: otherSites)
    func withToken(_ fields: [(String, String)]) throws {
        let app = try app(requiresToken: true)
        let query = try require(app.server.url.split(separator: "?").last)
        try expect(app.browser().ask("GET", "/?\(query)0", navigation + fields).status, equals: 403)
        try expect(app.store.versions.lifecycle().pending, equals: "2")
        let answer = try app.browser().ask("GET", "/?\(query)", navigation + fields)
        expect(answer.text, equals: "start 2")
    }

    private static let ownPages: [[(String, String)]] = [
        [], [("Sec-Fetch-Site", "none")], [("Sec-Fetch-Site", "same-origin")],
        [("Sec-Fetch-Site", "same-site"), ("Referer", "http://localhost:1/")],
        [("Referer", "http://LOCALHOST:9/x?y")], [("Referer", "http://localhost")],
        [("Origin", "http://localhost:9")], [("Referer", "")],
    ]

    @Test(arguments: ownPages)
    func `of the app itself starts what waits`(_ fields: [(String, String)]) throws {
        try expect(app().browser().ask("GET", "/", navigation + fields).text, equals: "start 2")
    }

    @Test
    func `to a page that can say nothing starts nothing, unless it is the start page`() throws {
        for encoding in [[], [("Accept-Encoding", "gzip, br")]] {
            let app = try app()
            let answer = try app.browser().ask("GET", "/terms.html", navigation + encoding)
            expect(answer.text, equals: "terms 1")
            try expect(app.store.versions.lifecycle().pending, equals: "2")
            let started = try app.browser().ask("GET", "/app.html", navigation + encoding)
            expect(started.text.hasSuffix("app 2"))
            try expect(self.app().browser().navigate("/index.html").text, equals: "start 2")
            let book = try self.app().browser().ask("GET", "/book.xhtml", navigation + encoding)
            expect(book.text.hasSuffix("book 2"))
        }
    }
}
