import Expectations
import HotPush

@Suite("The URL of an origin") struct OriginURLTests {
    @Test(
        "ends in a slash, so that nothing relative to it replaces its last part",
        arguments: [
            ("https://h", "https://h/__cordova/"),
            ("https://h/", "https://h/__cordova/"),
            ("https://h/app", "https://h/app/__cordova/"),
            ("https://h/app/", "https://h/app/__cordova/"),
            ("HTTP://H:3000/a b", "http://H:3000/a%20b/__cordova/"),
            ("https://u:p@h/x", "https://u:p@h/x/__cordova/"),
            ("https://u%3A:p%40ss@h/x", "https://u%3A:p%40ss@h/x/__cordova/"),
            ("http://[::1]:3000", "http://[::1]:3000/__cordova/"),
        ])
    func slash(_ text: String, _ base: String) throws {
        try expect(OriginURL(text).url(of: "__cordova/"), equals: base)
    }

    @Test func `is put before sources, but not before absolute ones`() throws {
        let origin = try OriginURL("https://h/app")
        expect(origin.url(of: "a.js?x"), equals: "https://h/app/a.js?x")
        expect(origin.url(of: "/a.js"), equals: "https://h/app/a.js")
        expect(origin.url(of: "x:y.png"), equals: "https://h/app/x:y.png")
        expect(origin.url(of: ""), equals: "https://h/app/")
        expect(origin.url(of: "http://cdn/a.js"), equals: "http://cdn/a.js")
        expect(origin.url(of: "file:///etc/passwd"), equals: "https://h/app/file:///etc/passwd")
    }

    @Test(arguments: [
        ("http://LocalHost:3000/x", "localhost"), ("https://u:p%40ss@Example.org", "example.org"),
        ("http://[::1]:80", "[::1]"), ("http://127.0.0.1", "127.0.0.1"), ("http://h:", "h"),
    ])
    func `knows its host`(_ text: String, _ host: String) throws {
        try expect(OriginURL(text).host, equals: host)
    }

    @Test(arguments: [
        "", "h", "//h", "/x", "ftp://h", "http:", "http://", "http:///x", "http://h?x",
        "http://h/#x", "http://h/?x=1", "http://h:0", "http://h:65536", "http://h:x",
        "http://h h/", "http://h/a\nb", "http://h\\x", "http://\u{fc}/", "http://h%2e/",
        "http://u:p@h%2e/", "http://u:\u{fc}@h/",
        "javascript://h", "http://:80", "http://[::1]:99999",
    ])
    func `is refused with the reason`(_ text: String) {
        let error = #expect(throws: (any Error).self) { try OriginURL(text) }
        expect("\(error.map { "\($0)" } ?? "")".contains("cannot be the URL of an origin: "))
    }
}
