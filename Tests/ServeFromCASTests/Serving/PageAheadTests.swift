import Expectations
import StorageTestSupport
import Testing
import VersionTree

@testable import ServeFromCAS
@testable import WebServer

// Speculation Rules: the visit of a page that was fetched ahead sends no navigation.
@Suite("A page fetched ahead")
struct PageAheadTests {
    private static let ahead = [
        ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document"), ("Accept", "text/html"),
    ]

    @Test(
        "is refused where its visit would get another version, and is what it was again after that")
    func refused() throws {
        for purpose in ["prefetch", "prefetch;prerender", "prefetch;anonymous-client-ip"] {
            for isPending in [true, false] {
                let store = try TemporaryStore.app(current: nil)
                try store.makeKnownGood("1")
                let app = try TestApp(store) { $0.confirmation = .seconds(2000) }
                let browser = try app.browser()
                try browser.navigate()
                let fields =
                    Self.ahead + [
                        ("Sec-Purpose", purpose), ("Referer", browser.origin + "/"),
                    ]
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
                let visit = try app.browser()
                try expect(visit.navigate("/help/").text.contains("help of two"))
                try expect(visit.confirm(), equals: 204)
                let next =
                    Self.ahead + [
                        ("Sec-Purpose", purpose), ("Referer", visit.origin + "/help/"),
                    ]
                try expect(visit.ask("GET", "/help/", next).text.contains("help of two"))
            }
        }
    }
}
