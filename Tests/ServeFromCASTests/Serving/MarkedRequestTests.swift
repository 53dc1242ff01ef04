import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md, "No mixed page": the hints that a request does not have name the version of its page.
@Suite("What does not have some of its browser's hints")
struct MarkedRequestTests {
    /// What a service worker sends on with `fetch(event.request)`: a navigation without its destination.
    private static let sentOn = [
        ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "empty"), ("Accept", "text/html"),
        ("Sec-Fetch-Site", "same-origin"),
    ]

    @Test(
        "and is a navigation that a service worker sends on is a frame's: of its page's version, it starts nothing"
    )
    func frames() throws {
        for isPending in [true, false] {
            for target in ["/", "/help/"] {
                let (store, app) = try TestApp.kiosk()
                let browser = try app.browser()
                let page = try browser.ask("GET", "/", navigation + Hints.all)
                let referrer = [("Referer", browser.origin + "/")]
                if isPending {
                    try store.versions.activateAtNextBoot("2")
                } else {
                    try store.versions.activate("2")
                }
                app.look(after: .zero)
                for _ in 1...2 {
                    let frame = try browser.ask(
                        "GET", target, Self.sentOn + Hints.left(by: page) + referrer)
                    expect(frame.text.contains("one"), "\(target)")
                    expect(frame.value("Permissions-Policy") == page.value("Permissions-Policy"))
                }
                try expect(store.reopened().lifecycle().attempts, equals: [])
                // A tab's navigation has all hints.
                let tab = try browser.ask("GET", target, Self.sentOn + Hints.all + referrer)
                expect(tab.text.contains("two"), "\(target)")
                // Nor is it a frame's in a browser that has no more hints by nature.
                let other = try app.browser()
                for _ in 1...2 {
                    let plain = try other.ask(
                        "GET", target, Self.sentOn + Hints.all.prefix(1) + referrer)
                    expect(plain.text.contains("two"))
                }
            }
        }
    }

    @Test(
        "and has no cookie gets a file that differs between versions only if a page that is known has those hints"
    )
    func unknown() async throws {
        for count in [1, 2] {
            let store = try TemporaryStore.app(current: "1")
            if count == 1 { try store.versions.retire("2") }
            var app = try TestApp(store)
            var browser = try app.browser()
            let marks = try Hints.left(by: browser.ask("GET", "/", navigation + Hints.all))
            expect((1...2).contains(marks.count))
            func ask(_ target: String, _ fields: [(String, String)]) throws -> TestResponse {
                browser.cookies = [:]
                return try browser.ask(
                    "GET", target,
                    fields + marks + [
                        ("Referer", browser.origin + "/"), ("Sec-Fetch-Site", "same-origin"),
                    ])
            }
            for fields in [scriptLoad, fetchLoad] {
                try expect(ask("/app.js", fields).text.contains("one"))
            }
            // Nobody knows of that page after a restart, nor beside one that begins then.
            await app.stop()
            if count == 2 { try store.versions.activate("2") }
            let port = app.port
            app = try TestApp.again { try TestApp(store) { $0.port = .exactly(port) } }
            browser = try app.browser()
            for hasOther in [false, true] {
                if hasOther { try app.browser().ask("GET", "/", navigation + Hints.all) }
                for fields in [scriptLoad, fetchLoad, frameLoad] {
                    let path = fields[1].1 == "iframe" ? "/help/" : "/app.js"
                    let answer = try ask(path, fields)
                    expect(answer.status == (count == 1 ? 200 : 409) || answer.text.contains("one"))
                    try expect(ask("/same.txt", fields).status, equals: 200)
                }
            }
        }
    }
}
