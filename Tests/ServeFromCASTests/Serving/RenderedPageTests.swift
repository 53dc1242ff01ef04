import StorageTestSupport

@testable import ServeFromCAS

@Suite("A page that another server renders")
final class RenderedPageTests {
    private static let html = "Content-Type: text/html; charset=utf-8\r\n"
    private var upstreams: [ScriptedUpstream] = []

    private func kiosk(
        _ fields: String = html, status: String = "200 OK", confirms: Bool = false
    ) throws -> (TestApp, TestBrowser) {
        let upstream = try ScriptedUpstream(
            answering: "HTTP/1.1 \(status)\r\n\(fields)Content-Length: 0\r\n\r\n")
        upstreams.append(upstream)
        let route = try ProxyRoute("/shop=http://127.0.0.1:\(upstream.port)")
        let store = try TemporaryStore.app(good: "1")
        let app = try TestApp(store) {
            $0.proxies = [route]
            if confirms { $0.confirmation = .seconds(2000) }
        }
        return (app, try app.browser())
    }

    @Test func `has files of one version, and of the current one when it is loaded again`() throws {
        for visitsApp in [true, false] {
            for (fields, status) in [
                (Self.html, "200 OK"), ("content-type: Text/HTML\r\n", "200 OK"),
                (Self.html, "404 Not Found"),
                ("", "304 Not Modified"), ("Content-Type: application/xhtml+xml\r\n", "200 OK"),
            ] {
                let (app, browser) = try kiosk(fields, status: status)
                if visitsApp { try browser.navigate() }
                let page = try browser.ask("GET", "/shop/", navigation)
                expect(visitsApp || page.head.contains("castree_page_"), "\(status) \(fields)")
                expect(
                    page.value("Permissions-Policy") == nil, "the frames in it are marked by nobody"
                )
                expect(page.value("Vary") == "Cookie", "what the browser keeps is of its version")
                try expect(browser.load("/app.js", from: "/shop/").text, equals: "run('one')")
                try app.store.versions.activate("2")
                app.look(after: .zero)
                try expect(browser.load("/style.css", from: "/shop/").text, equals: ".one {}")
                try browser.ask("GET", "/shop/", navigation + [("Cache-Control", "max-age=0")])
                try expect(browser.load("/app.js", from: "/shop/").text, equals: "run('two')")
                try expect(browser.status().pinned.contains("2"))
            }
        }
    }

    @Test(
        "is none where the browser shows nothing, or anybody may be given it",
        arguments: [
            ("Content-Type: text/csv\r\n", "200 OK"), ("", "204 No Content"),
            ("Location: /\r\n", "302 Found"),
            (html + "Content-Disposition: attachment\r\n", "200 OK"),
            (html + "Cache-Control: public\r\n", "200 OK"),
        ])
    func none(_ fields: String, _ status: String) throws {
        let (_, browser) = try kiosk(fields, status: status)
        try expect(!browser.ask("GET", "/shop/", navigation).head.contains("castree_page_"))
        try expect(browser.status().pinned, equals: [])
    }

    @Test func `begins as the answer to a form`() throws {
        let (app, browser) = try kiosk()
        try browser.ask("GET", "/shop/", navigation)
        try expect(browser.load("/app.js", from: "/shop/").text, equals: "run('one')")
        try app.store.versions.activate("2")
        app.look(after: .zero)
        let fetch = [("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty"), ("Accept", "*/*")]
        try browser.ask("POST", "/shop/", fetch + [("Content-Length", "0")])
        try expect(browser.load("/app.js", from: "/shop/").text, equals: "run('one')")
        let page = try browser.ask("POST", "/shop/", navigation + [("Content-Length", "0")])
        expect(page.head.contains("castree_page_"))
        try expect(browser.load("/app.js", from: "/shop/").text, equals: "run('two')")
    }

    @Test func `is none where the browser saves it`() throws {
        let (_, browser) = try kiosk()
        let download = [("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "empty")]
        try expect(!browser.ask("GET", "/shop/", download).head.contains("castree_page_"))
        try expect(browser.status().pinned, equals: [])
    }

    @Test func `starts no version and confirms none`() throws {
        let (app, browser) = try kiosk(confirms: true)
        try app.store.versions.activateAtNextBoot("2")
        for _ in 1...3 {
            try browser.ask("GET", "/shop/", navigation)
            try expect(browser.load("/app.js", from: "/shop/").text, equals: "run('one')")
        }
        try expect(browser.navigate().text.contains("two"))
        try browser.ask("GET", "/shop/", navigation)
        let session = try browser.beginSession()
        let confirmation = "/_castree/confirm?session=\(session)"
        try expect(browser.post(confirmation, from: "/shop/").status, equals: 409)
        try expect(app.store.reopened().lifecycle().knownGood, equals: ["1"])
        // A page of the app may give itself any address.
        try expect(browser.post(confirmation + "&version=2", from: "/shop/").status, equals: 204)
    }

    @Test(
        "has the app in its frame as a page of its own, which starts a version once and counts nothing if it fails"
    )
    func frame() throws {
        let frame = [
            ("Sec-Fetch-Mode", "navigate"), ("Accept", "text/html"),
            ("Sec-Fetch-Site", "same-origin"),
        ]
        for destination in ["iframe", "frame"] {
            let (app, browser) = try kiosk(confirms: true)
            let fields =
                frame + [("Sec-Fetch-Dest", destination), ("Referer", browser.origin + "/shop/")]
            try browser.ask("GET", "/shop/", navigation)
            try expect(browser.ask("GET", "/", fields).text.contains("one"))
            try app.store.versions.activateAtNextBoot("2")
            for round in 1...3 {
                try browser.ask("GET", "/shop/", navigation)
                let text = try browser.ask("GET", "/", fields).text
                expect(text.contains(round == 1 ? "two" : "one"), "\(round)")
                if destination == "frame" {
                    expect(try browser.confirm(), equals: 204)
                    try expect(app.store.reopened().lifecycle().knownGood, equals: ["2", "1"])
                    break
                }
                app.look(after: .seconds(2001 * round))
                let lifecycle = try app.store.reopened().lifecycle()
                expect(lifecycle.attempts, equals: [])
                expect(lifecycle.bad, equals: [])
            }
        }
    }

    @Test func `in a frame of the app is part of the app's page`() throws {
        let (app, browser) = try kiosk()
        try browser.navigate()
        try app.store.versions.activate("2")
        let frame = [
            ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe"),
            ("Sec-Fetch-Site", "same-origin"),
            ("Referer", browser.origin + "/"),
        ]
        try expect(!browser.ask("GET", "/shop/", frame).head.contains("castree_page_"))
        try expect(browser.load("/app.js", from: "/shop/").text, equals: "run('one')")
    }
}
