import CASStore
import Expectations
import StorageTestSupport
import VersionTree

@testable import ServeFromCAS
@testable import WebServer

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
            let store = try TemporaryStore.app(good: "1")
            let app = try TestApp(watching: store)
            try store.versions.activateAtNextBoot("2")
            let browser = try app.browser()
            try expect(browser.navigate().text.contains("two"))
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
            let next = try browser.beginSession()
            let confirm = "/_castree/confirm?session=\(next)&version=2"
            try expect(browser.post(confirm).status, equals: 204)
            try expect(store.reopened().lifecycle().knownGood, equals: ["2", "1"])
        }
    }

    @Test("takes nothing back that another tab shows whole, and is told to load again all the same")
    func otherTab() throws {
        let store = try TemporaryStore.app(good: "1")
        let app = try TestApp(watching: store)
        try store.versions.activateAtNextBoot("2")
        let shown = try app.browser()
        try expect(shown.navigate().text.contains("two"))
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
