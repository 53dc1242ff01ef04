import WebTestSupport

@testable import ServeFromCAS

// Plain http to a name other than localhost, and browsers before 2023: no request says what it is for.
@Suite("A request without Fetch Metadata")
struct NavigationKindTests {
    typealias Fields = [(String, String)]

    /// How scripts ask for a page's HTML, to put it into the page that stays.
    static let scripts: [(name: String, fields: Fields)] = [
        ("Turbo Drive", [("Accept", "text/html, application/xhtml+xml")]),
        (
            "Turbo, a frame",
            [("Accept", "text/html, application/xhtml+xml"), ("Turbo-Frame", "list")]
        ),
        (
            "Turbo, streams",
            [("Accept", "text/vnd.turbo-stream.html, text/html, application/xhtml+xml")]
        ),
        ("htmx", [("Accept", "text/html, */*"), ("HX-Request", "true")]),
        (
            "jQuery's load",
            [("Accept", "text/html, */*; q=0.01"), ("X-Requested-With", "XMLHttpRequest")]
        ),
        ("pjax", [("Accept", "text/html, */*; q=0.01"), ("X-PJAX", "true")]),
        ("Unpoly", [("Accept", "text/html, */*"), ("X-Up-Version", "3.8.0")]),
        ("Inertia", [("Accept", "text/html, application/xhtml+xml"), ("X-Inertia", "true")]),
        ("swup", [("Accept", "text/html, application/xhtml+xml"), ("X-Requested-With", "swup")]),
        (
            "barba",
            [("Accept", "text/html,application/xhtml+xml,application/xml"), ("X-Barba", "yes")]
        ),
        ("a fetch", [("Accept", "text/html")]),
        ("an XMLHttpRequest", [("Accept", "text/html, */*")]),
    ]

    private static let usual = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    private static let upgrade = ("Upgrade-Insecure-Requests", "1")

    /// How browsers and tools go to a page.
    static let navigations: [(name: String, fields: Fields)] = [
        ("Chromium, Firefox, Safari", [upgrade, ("Accept", usual)]),
        ("a web view", [upgrade, ("Accept", usual), ("X-Requested-With", "com.example.kiosk")]),
        ("an old web view", [("Accept", usual), ("X-Requested-With", "com.example.kiosk")]),
        ("an old browser", [("Accept", "text/html, application/xhtml+xml, image/jxr, */*")]),
        ("an old Safari over https", [("Accept", usual)]),
    ]

    private func load(_ fields: Fields, _ more: Fields) throws -> RequestHead.Load {
        try RequestHead(method: "GET", target: "/two.html", fields: fields + more).load
    }

    private static let own = ("Referer", "http://localhost/one.html")
    private static let cookie = ("Cookie", "castree_page_80=x")

    @Test(arguments: scripts)
    func `is a page's own if a script has made it`(_ row: (name: String, fields: Fields)) throws {
        for more in [[Self.own], [Self.own, Self.cookie]] {
            try expect(load(row.fields, more), equals: .subresource, "\(row.name)")
        }
    }

    @Test("goes to a page if a browser sends it so, wherever it comes from", arguments: navigations)
    func navigation(_ row: (name: String, fields: Fields)) throws {
        let other = ("Referer", "http://localhost:81/")
        for more in [[], [Self.own], [Self.cookie], [Self.own, Self.cookie], [other]] {
            try expect(load(row.fields, more), equals: .page, "\(row.name) \(more)")
        }
    }

    @Test("goes to a page if somebody types it at a tool, or another site's page leads here")
    func tool() throws {
        for accept in ["text/html", "text/html, */*", "text/html, application/xhtml+xml"] {
            for more in [
                [], [Self.cookie], [("Referer", "http://localhost:81/two")], [("Referer", "")],
            ] {
                try expect(load([("Accept", accept)], more), equals: .page, "\(accept) \(more)")
            }
        }
        try expect(load([("Accept", "*/*")], [Self.own]), equals: .subresource)
    }

    @Test("of a script starts nothing, and gets and leaves its page's version", arguments: scripts)
    func served(_ row: (name: String, fields: Fields)) throws {
        for isWaiting in [true, false] {
            let store = try TemporaryStore()
            for version in ["1", "2"] {
                try store.add(
                    version,
                    [
                        "index.html": "<title>\(version)</title>", "data.json": version,
                        "two.html": "<script src=/_castree/bridge.js></script>\(version)",
                    ])
            }
            try store.makeKnownGood("1")
            let app = try TestApp(watching: store)
            let browser = try app.browser()
            let going = [Self.upgrade, ("Accept", Self.usual)]
            try expect(browser.ask("GET", "/", going).text, equals: "<title>1</title>")
            if isWaiting {
                try store.versions.activateAtNextBoot("2")
            } else {
                try store.versions.activate("2")
            }
            let ofPage = [("Referer", browser.origin + "/")]
            for _ in 1...2 {
                let fragment = try browser.ask("GET", "/two.html", row.fields + ofPage).text
                expect(fragment.hasSuffix("1"), "\(row.name): \(fragment)")
                let data = try browser.ask("GET", "/data.json", [("Accept", "*/*")] + ofPage)
                expect(data.text, equals: "1", "\(row.name)")
            }
            let lifecycle = try store.reopened().lifecycle()
            expect(lifecycle.current, equals: isWaiting ? "1" : "2")
            expect(lifecycle.unconfirmed == nil)
            // The person goes there.
            try expect(browser.ask("GET", "/two.html", going + ofPage).text.hasSuffix("2"))
            try expect(store.reopened().lifecycle().current, equals: "2")
        }
    }
}
