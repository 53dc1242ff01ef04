import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md, "No mixed page": a navigation that leads to no document begins no page. Chromium sends a link's `download`
// as one to `empty`, without Accept and client hints.
@Suite("What a browser asks for and does not show as a page")
struct SavedFileTests {
    typealias Fields = [(String, String)]

    private static let html = ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
    private static let mode = ("Sec-Fetch-Mode", "navigate")
    private static let destinations = [
        "audio", "audioworklet", "embed", "fencedframe", "font", "frame", "iframe", "image", "json",
        "manifest", "object", "paintworklet", "report", "script", "serviceworker", "sharedworker",
        "style", "track", "video", "webidentity", "worker", "xslt",
    ]
    private static let requests: [(method: String, fields: Fields)] =
        destinations.map { ("GET", [mode, ("Sec-Fetch-Dest", $0), html]) }
        + [
            ("GET", [mode, ("Sec-Fetch-Dest", "empty")]),
            ("HEAD", [mode, ("Sec-Fetch-Dest", "document"), html]),
            ("HEAD", [mode, ("Sec-Fetch-Dest", "empty"), html]),
            ("GET", [mode, ("Sec-Fetch-Dest", "empty"), ("Sec-Purpose", "prefetch")]),
            ("GET", [mode, ("Sec-Fetch-Dest", "document"), html, ("Sec-Purpose", "prefetch")]),
        ]
    private static let cases: [(String, Fields, Bool)] = requests.flatMap { row in
        [true, false].map { (row.method, row.fields, $0) }
    }

    private func app(attaching path: String? = nil) throws -> TestApp {
        let store = try TemporaryStore.app(good: "1")
        var site = SiteOptions()
        if let path { try site.add("Content-Disposition", "attachment", toFiles: path) }
        return try TestApp(store) {
            $0.confirmation = .seconds(2000)
            $0.site = site
        }
    }

    @Test("starts no version, and leaves the open page its own", arguments: cases)
    func startsNothing(_ method: String, _ fields: Fields, _ waits: Bool) throws {
        let app = try app()
        let browser = try app.visitor()
        if waits {
            try app.store.versions.activateAtNextBoot("2")
        } else {
            try app.store.versions.activate("2")
        }
        for path in ["/", "/help/", "/route"] {
            let asked =
                fields + [("Sec-Fetch-Site", "same-origin"), ("Referer", browser.origin + "/")]
            let answer = try browser.ask(method, path, asked)
            expect(!waits || !answer.text.contains("two"), "\(path): \(answer.text)")
            try expect(browser.load("/app.js").text, equals: "run('one')")
        }
        app.look(after: .seconds(2001))
        let lifecycle = try app.store.reopened().lifecycle()
        expect(lifecycle.attempts, equals: [])
        expect(lifecycle.bad, equals: [])
        expect(lifecycle.current, equals: waits ? "1" : "2")
        try expect(browser.navigate().text.contains("two"))
        try expect(app.store.reopened().lifecycle().attempts.count, equals: 1)
    }

    @Test("starts no version if `--header` makes it an attachment")
    func attachment() throws {
        let app = try app(attaching: "/help")
        let browser = try app.visitor()
        try app.store.versions.activateAtNextBoot("2")
        try expect(browser.ask("GET", "/help/", navigation).text.contains("help of one"))
        try expect(app.store.reopened().lifecycle().pending, equals: "2")
        try expect(browser.load("/app.js").text, equals: "run('one')")
        try expect(browser.navigate().text.contains("two"))
    }

    @Test(
        "is not what says nothing of it, nor a navigation that a service worker sends on",
        arguments: [[], [("Sec-Fetch-Dest", "document")], [("Sec-Fetch-Dest", "empty")]])
    func shown(_ fields: Fields) throws {
        let app = try app()
        try app.store.versions.activateAtNextBoot("2")
        let answer = try app.browser().ask("GET", "/", [Self.mode, Self.html] + fields)
        expect(answer.text.contains("two"))
    }
}
