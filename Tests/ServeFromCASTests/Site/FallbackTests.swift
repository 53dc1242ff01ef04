import Expectations
import ServeFromCAS

@Suite("The fallback to the index")
struct FallbackTests {
    static let accept = [("Accept", "text/html,*/*;q=0.8")]
    static let cases: [(target: String, fields: [(String, String)], isIndex: Bool)] =
        [
            ("/users/7", navigation, true), ("/a/b/c", navigation, true),
            ("/users/john.smith", navigation, true), ("/page.html", navigation, true),
            ("/users/3f2a9c1b", navigation, true), ("/caf%E9", navigation, true),
            ("/a%2Fb", navigation, true),
            ("/users/7", [("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe")], true),
            // Older browsers, and plain http under another name than localhost.
            ("/users/7", accept, true),
            ("/users/7", [("Accept", "application/xhtml+xml, TEXT/HTML;q=0.9")], true),
            // Not navigations.
            ("/users/7", [], false), ("/users/7", [("Accept", "*/*")], false),
            ("/users/7", [("Accept", "text/html;q=0")], false),
            ("/users/7", [("Accept", "text/htmlx")], false), ("/users/7", scriptLoad, false),
            ("/users/7", scriptLoad + accept, false),
            (
                "/users/7", [("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty")] + accept,
                false
            ),
        ]
        + named.flatMap { path in
            // What the browser says counts, and the name only where it says nothing.
            [
                (path, navigation, true), (path, frame("iframe"), true),
                (path, frame("frame"), true),
                (path, frame("object"), false), (path, frame("embed"), false),
                (path, accept, false),
                (path, scriptLoad, false), (path, image, false), (path, [], false),
            ]
        }

    /// Names like those of files, that no file has.
    static let named = [
        "/app.js", "/style.css", "/x.PNG", "/chunk.mjs", "/app.js.map", "/d.json",
        "/app.3f2a9c1b.unknown", "/favicon.ico", "/package/chart.js", "/docs/node.js",
        "/wiki/main.css", "/f/report.pdf", "/u/data.zip",
    ]
    static func frame(_ destination: String) -> [(String, String)] {
        [("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", destination)] + accept
    }
    static let image = [("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "image")]

    @Test("is for navigations; a missing script is 404, not HTML", arguments: cases)
    func table(_ row: (target: String, fields: [(String, String)], isIndex: Bool)) throws {
        let sample = try SampleSite(["index.html": "<title>index</title>"])
        for method in ["GET", "HEAD"] {
            let answer = try sample.send(method, row.target, row.fields)
            expect(answer.status, equals: (row.isIndex ? 200 : 404))
            if row.isIndex {
                expect(answer["Content-Type"], equals: "text/html; charset=utf-8")
                expect(answer["Cache-Control"], equals: "no-cache")
                if method == "GET" { expect(answer.text, equals: "<title>index</title>") }
            } else {
                expect(answer["Content-Type"], equals: "text/plain; charset=utf-8")
                expect(answer["Cache-Control"], equals: "no-store")
                if method == "GET" { expect(answer.text.count < 100) }
            }
        }
    }

    @Test func `is not for other methods`() throws {
        let sample = try SampleSite(["index.html": "index"])
        for method in ["POST", "PUT", "OPTIONS"] {
            try expect(sample.send(method, "/users/7", navigation).status, equals: 404)
        }
    }

    @Test func `can be left out, and is nothing without an index`() throws {
        var options = SiteOptions()
        options.fallback = .none
        let sample = try SampleSite(["index.html": "index"], options: options)
        try expect(sample.send("GET", "/users/7", navigation).status, equals: 404)
        let without = try SampleSite(["a.txt": "a"])
        try expect(without.send("GET", "/users/7", navigation).status, equals: 404)
    }
}
