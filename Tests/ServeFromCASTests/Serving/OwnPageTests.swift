import StorageTestSupport

@testable import ServeFromCAS

@Suite("A page is begun by a navigation that is answered with it, and confirms for itself")
struct OwnPageTests {
    @Test(arguments: ["/_castree/bridge", "/_castree/confirm", "/_castree/status", "/"])
    func `so nothing else begins one, whatever it says that it loads`(_ target: String) throws {
        let app = try TestApp(try .app())
        let worker = [("Service-Worker", "script"), ("Sec-Fetch-Dest", "serviceworker")]
        for fields in [navigation, frameLoad, worker] {
            for method in target == "/" ? ["HEAD"] : ["GET", "POST", "HEAD"] {
                let browser = try app.browser()
                let answer = try browser.ask(
                    method, target,
                    fields + [("Sec-Fetch-Site", "same-origin"), ("Origin", browser.origin)])
                expect(!answer.head.contains("castree_page_"), "\(method) \(target) \(fields)")
                try expect(browser.status().pinned, equals: [], "\(method) \(target) \(fields)")
            }
        }
    }

    @Test("also where a newer page of its browser loads, and it has said nothing of itself")
    func others() throws {
        for page in ["/", "/help/"] {
            let (store, app) = try TestApp.kiosk()
            let browser = try app.visitor()
            // The second session has no navigation of its own.
            let sessions = try [browser.beginSession(), browser.beginSession()]
            for session in sessions {
                try browser.post("/_castree/bridge?session=\(session)", "3\nA 0")
            }
            try store.versions.activateAtNextBoot("2")
            try expect(browser.navigate("/help/").text.contains("two"))
            for session in sessions {
                let confirmed = try browser.post("/_castree/confirm?session=\(session)", from: page)
                expect(confirmed.status, equals: 204)
            }
            try expect(store.reopened().lifecycle().knownGood, equals: ["1"])
            let own = try browser.beginSession()
            let confirmed = try browser.post("/_castree/confirm?session=\(own)", from: "/help/")
            expect(confirmed.status, equals: 204)
            try expect(store.reopened().lifecycle().knownGood, equals: ["2", "1"])
        }
    }

    @Test(
        "so a document without an address, in an older page or of one, confirms that page's version or none, and hides nothing",
        arguments: ["srcdoc", "blank", "http%3A%2F%2Flocalhost%2Fblob"], ["1", ""])
    func addressless(_ path: String, _ version: String) throws {
        let (store, app) = try TestApp.kiosk()
        let browser = try app.visitor()
        func tab() throws -> TestBrowser {
            return try app.tab(of: browser)
        }
        let old = try SocketPage(tab(), saying: "1", loadedFrom: "%2F")
        try store.versions.activateAtNextBoot("2")
        try expect(browser.navigate().text.contains("two"))
        let session = try browser.beginSession()
        let words = "?session=\(session)&version=\(version)"
        try browser.post("/_castree/bridge\(words)&from=\(path)", "3\nA 0")
        let confirmed = try browser.post("/_castree/confirm\(words)")
        expect(confirmed.status, equals: version == "1" ? 204 : 409)
        let lifecycle = try store.reopened().lifecycle()
        expect(lifecycle.current == "2" && lifecycle.knownGood == ["1"], "\(lifecycle)")
        // The start that nobody has taken back is confirmed by its page.
        let own = try browser.beginSession()
        let said = "?session=\(own)&version=2"
        try browser.post("/_castree/bridge\(said)&from=%2F", "3\nA 0")
        try expect(browser.post("/_castree/confirm\(said)").status, equals: 204)
        try expect(store.reopened().lifecycle().knownGood, equals: ["2", "1"])
        withExtendedLifetime(old) {}
    }
}
