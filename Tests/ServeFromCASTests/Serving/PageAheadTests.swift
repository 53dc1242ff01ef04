import StorageTestSupport

@testable import ServeFromCAS

// Speculation Rules: the visit of a page that was fetched ahead sends no navigation.
@Suite("A page fetched ahead")
struct PageAheadTests {
    private static let ahead = [
        ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document"), ("Accept", "text/html"),
    ]

    @Test(
        "is told by its hints as the other pages of its version are, and refused where it cannot be"
    )
    func marked() throws {
        let store = try TemporaryStore.app(good: "1")
        let app = try TestApp(store)
        let browser = try app.browser()
        let page = try browser.ask("GET", "/", navigation + Hints.all)
        let fields = Self.ahead + Hints.all + [("Sec-Purpose", "prefetch")]
        let answer = try browser.ask("GET", "/help/", fields + [("Referer", browser.origin + "/")])
        expect(answer.status, equals: 200)
        let policy = try require(page.value("Permissions-Policy"))
        expect(answer.value("Permissions-Policy"), equals: policy)
        // It is visited when another version has come: what it asks for is of its own.
        try store.versions.activate("2")
        try browser.ask("GET", "/", navigation + Hints.all)
        let referrer = [("Referer", browser.origin + "/help/")]
        let file = try browser.ask("GET", "/app.js", scriptLoad + Hints.left(by: page) + referrer)
        expect(file.text.contains("one"))
        browser.cookies = [:]
        // Without a cookie it may be of either.
        try expect(browser.ask("GET", "/help/", fields + referrer).status, equals: 409)
        let other = try TestApp(store)
        let visitor = try other.browser()
        try visitor.ask("GET", "/", navigation + Hints.all)
        visitor.cookies = [:]
        let here = [("Referer", visitor.origin + "/")]
        try expect(visitor.ask("GET", "/help/", fields + here).status, equals: 503)
    }

    @Test(
        "is refused where its visit would get another version, and is what it was again after that")
    func refused() throws {
        for purpose in ["prefetch", "prefetch;prerender", "prefetch;anonymous-client-ip"] {
            for isPending in [true, false] {
                let (store, app) = try TestApp.kiosk()
                let browser = try app.visitor()
                let fields =
                    Self.ahead + [("Sec-Purpose", purpose), ("Referer", browser.origin + "/")]
                try expect(browser.ask("GET", "/help/", fields).text.contains("help of one"))
                if isPending {
                    try store.versions.activateAtNextBoot("2")
                } else {
                    try store.versions.activate("2")
                }
                app.look(after: .zero)
                let answer = try browser.ask("GET", "/help/", fields)
                expect(answer.status, equals: 503)
                expect(answer.value("Cache-Control"), equals: "no-store")
                let visit = try app.visitor(seeing: "help of two", at: "/help/")
                try expect(visit.confirm(), equals: 204)
                let next =
                    Self.ahead + [("Sec-Purpose", purpose), ("Referer", visit.origin + "/help/")]
                try expect(visit.ask("GET", "/help/", next).text.contains("help of two"))
            }
        }
    }
}
