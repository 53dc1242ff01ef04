import Expectations
import HotPush

@Suite("A URL in Meteor's manifest") struct MeteorURLTests {
    func release(_ url: String, _ path: String = "p") throws -> Release {
        try MeteorFormat().read(
            MeteorFixture.manifest(MeteorFixture.asset(path, url: url)), ReleaseContext())
    }

    @Test(
        "gives a route without query and a source that asks for no index page",
        arguments: [
            ("/app/a.js?hash=1", "/app/a.js", "app/a.js"),
            ("/a.js?57d1", "/a.js", "a.js"),
            ("/__cordova/a.js?meteor_js_resource=true", "/__cordova/a.js", "a.js"),
            ("/a.css?meteor_css_resource=true", "/a.css", "a.css"),
            ("/__cordova_more/a.js", "/__cordova_more/a.js", "__cordova_more/a.js"),
            ("/a b.png", "/a b.png", "a%20b.png"),
            ("/a%20b.png", "/a%20b.png", "a%20b.png"),
            ("/100%.png", "/100%.png", "100%25.png"),
            ("/x:y.png", "/x:y.png", "x:y.png"),
            ("/\u{fc}/\u{1f600}.png", "/\u{fc}/\u{1f600}.png", "%C3%BC/%F0%9F%98%80.png"),
            ("/e\u{301}.png", "/e\u{301}.png", "e%CC%81.png"),
            ("/a#f?x", "/a#f", "a%23f"),
            ("/a?b?c", "/a", "a"),
            ("/[x]^{y}.js", "/[x]^{y}.js", "%5Bx%5D%5E%7By%7D.js"),
            ("/a+b&c=d.js", "/a+b&c=d.js", "a+b&c=d.js"),
            ("//cdn/x.js", "//cdn/x.js", "/cdn/x.js"),
        ])
    func routesAndSources(_ url: String, _ route: String, _ source: String) throws {
        let file = try require(try release(url).files.last)
        expect(file.routes.count, equals: 1)
        expect(file.routes.first?.utf8.elementsEqual(route.utf8), equals: true)
        expect(file.source, equals: "__cordova/\(source)?meteor_dont_serve_index=true")
    }

    @Test func `of another server is asked for as it is`() throws {
        let file = try require(try release("https://cdn.example/y/a b.js?z=1&s=%2F").files.last)
        expect(file.source, equals: "https://cdn.example/y/a%20b.js?z=1&s=%2F")
        expect(file.routes, equals: ["/y/a b.js"])
    }

    @Test func `of another server must be as safe as the manifest`() throws {
        let bytes = MeteorFixture.manifest(MeteorFixture.asset("p", url: "http://cdn/a.js"))
        let secure = ReleaseContext(origin: try OriginURL("https://h/"))
        #expect(throws: (any Error).self) { try MeteorFormat().read(bytes, secure) }
        let plain = ReleaseContext(origin: try OriginURL("http://h/"))
        try expect(MeteorFormat().read(bytes, plain).files.count, equals: 2)
    }

    @Test(arguments: [
        "", "a.js", "foo.js?x=1", "?x", "/../x", "/a/../../x", "/a/..", "/./x", "/%2e%2e/x",
        "/%2E./x", "/a/%2e", "/a\\\\b", "/a%5cb", "/a%00b", "file:///etc/passwd",
        "ftp://h/x", "javascript:alert(1)", "https://",
    ])
    func `must stay in the folder`(_ url: String) {
        let error = #expect(throws: (any Error).self) { try release(url) }
        let message = error.map { "\($0)" } ?? ""
        expect(message.contains("Error parsing asset manifest: "), "\(message)")
        expect(message.contains("at byte "), "\(message)")
    }

    @Test func `is that of one file only, and never the index page's`() {
        for other in ["/y", "/y?1", "/y?"] {
            let entries =
                MeteorFixture.asset("a", url: "/y") + "," + MeteorFixture.asset("b", url: other)
            #expect(throws: (any Error).self) {
                try MeteorFormat().read(MeteorFixture.manifest(entries), ReleaseContext())
            }
        }
        for url in ["/", "/?x=1"] {
            #expect(throws: (any Error).self) { try release(url) }
        }
        #expect(throws: (any Error).self) { try release("/i", "index.html") }
    }

    @Test func `may be another file's path; the URL decides`() throws {
        let entries =
            MeteorFixture.asset("a", url: "/b") + "," + MeteorFixture.asset("b", url: "/a")
        let release = try MeteorFormat().read(MeteorFixture.manifest(entries), ReleaseContext())
        expect(release.files.map(\.routes), equals: [["/"], ["/b"], ["/a"]])
    }
}
