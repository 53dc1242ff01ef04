import ServeFromCAS
import WebTestSupport

@Suite("A representation")
struct RepresentationTests {
    @Test func `has the fields that a browser needs, each once`() throws {
        let sample = try SampleSite(["app.js": "let a = 1"])
        let answer = try sample.send("GET", "/app.js")
        expect(answer.status, equals: 200)
        expect(answer.text, equals: "let a = 1")
        let expected = [
            "ETag": try SampleSite.tag("let a = 1"), "Cache-Control": "no-cache",
            "Content-Type": "text/javascript; charset=utf-8", "Content-Length": "9",
            "Accept-Ranges": "bytes", "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "same-origin", "Vary": "Cookie",
        ]
        for (name, value) in expected { expect(answer[name], equals: value, "\(name)") }
        expect(answer["Server-Timing"]?.hasPrefix("castree;desc=") == true)
        expect(answer.head.fields.count, equals: expected.count + 1)
    }

    @Test
    func `is kept for a year below a prefix that the operator has named, and pages never`() throws {
        var options = SiteOptions()
        options.immutablePrefixes = ["/assets/"]
        let sample = try SampleSite(
            [
                "app.3f2a9c1b.js": "1", "page.3f2a9c1b.html": "2", "assets/index-DzX3k2a9.js": "3",
                "assets/page.html": "4", "app.js": "5",
            ], options: options)
        let year = "public, max-age=31536000, immutable"
        for (path, value) in [
            ("/app.3f2a9c1b.js", "no-cache"), ("/page.3f2a9c1b.html", "no-cache"),
            ("/assets/index-DzX3k2a9.js", year), ("/assets/page.html", "no-cache"),
            ("/app.js", "no-cache"), ("/app.js?3f2a9c1b", "no-cache"),
        ] {
            try expect(sample.send("GET", path)["Cache-Control"], equals: value, "\(path)")
        }
    }

    @Test func `names its source map`() throws {
        let sample = try SampleSite([
            .init("a.js", "1"), .init("a.js.map", "{}"), .init("b.css", "2"),
            .init("c.js", "3", foreign: [("sourceMapUrl", .string("/maps/c d.map"))]),
            .init("d.png", "4"), .init("d.png.map", "{}"),
        ])
        for (path, map) in [
            ("/a.js", "/a.js.map"), ("/b.css", nil), ("/c.js", "/maps/c%20d.map"), ("/d.png", nil),
        ] {
            let answer = try sample.send("GET", path)
            expect(answer["SourceMap"], equals: map)
            expect(answer["X-SourceMap"], equals: map)
        }
    }

    @Test func `has the fields that the site adds, and its own stay its own`() throws {
        var options = SiteOptions()
        try options.add("Content-Security-Policy", "default-src 'self'")
        try options.add("Referrer-Policy", "no-referrer")
        try options.add("Cache-Control", "no-store")
        for (name, value) in [
            ("ETag", "x"), ("bad name", "x"), ("", "x"), ("X", "a\r\nb"), ("X", "a\0"),
            ("Content-Length", "1"), ("X:", "y"),
        ] {
            #expect(throws: (any Error).self) { try options.add(name, value) }
        }
        let sample = try SampleSite(["a.txt": "a"], options: options)
        let answer = try sample.send("GET", "/a.txt")
        expect(answer["Content-Security-Policy"], equals: "default-src 'self'")
        expect(answer["Referrer-Policy"], equals: "no-referrer")
        expect(answer["Cache-Control"], equals: "no-store")
    }

    static let types: [(name: String, type: String)] = [
        ("a.html", "text/html; charset=utf-8"), ("a.HTM", "text/html; charset=utf-8"),
        ("a.js", "text/javascript; charset=utf-8"), ("a.mjs", "text/javascript; charset=utf-8"),
        ("a.css", "text/css; charset=utf-8"), ("a.json", "application/json"),
        ("a.map", "application/json"), ("a.webmanifest", "application/manifest+json"),
        ("a.wasm", "application/wasm"), ("a.svg", "image/svg+xml; charset=utf-8"),
        ("a.xml", "application/xml; charset=utf-8"), ("a.txt", "text/plain; charset=utf-8"),
        ("a.pdf", "application/pdf"), ("a.png", "image/png"), ("a.jpg", "image/jpeg"),
        ("a.jpeg", "image/jpeg"), ("a.gif", "image/gif"), ("a.webp", "image/webp"),
        ("a.avif", "image/avif"), ("a.ico", "image/vnd.microsoft.icon"),
        ("a.cur", "image/vnd.microsoft.icon"), ("a.woff", "font/woff"), ("a.woff2", "font/woff2"),
        ("a.ttf", "font/ttf"), ("a.otf", "font/otf"), ("a.mp4", "video/mp4"),
        ("a.webm", "video/webm"), ("a.m4a", "audio/mp4"), ("a.mp3", "audio/mpeg"),
        ("a.zip", "application/zip"), ("a.gz", "application/gzip"),
        ("a.tar.gz", "application/gzip"),
        ("a.unknown", "application/octet-stream"), ("noending", "application/octet-stream"),
        ("js", "application/octet-stream"), ("d.js/file", "application/octet-stream"),
        ("a.", "application/octet-stream"),
    ]

    @Test(arguments: types)
    func `has the type of its file's name`(_ row: (name: String, type: String)) throws {
        let sample = try SampleSite([SampleSite.File(row.name, "x")])
        try expect(sample.send("GET", "/\(row.name)")["Content-Type"], equals: row.type)
    }

    static let methods: [(method: String, target: String, status: Int)] = [
        ("GET", "/a.txt", 200), ("HEAD", "/a.txt", 200), ("OPTIONS", "/a.txt", 204),
        ("OPTIONS", "*", 204), ("POST", "/a.txt", 405), ("PUT", "/a.txt", 405),
        ("DELETE", "/a.txt", 405), ("PATCH", "/a.txt", 405), ("TRACE", "/a.txt", 405),
        ("POST", "/none", 404), ("OPTIONS", "/none", 404), ("get", "/a.txt", 501),
        ("PROPFIND", "/a.txt", 501), ("PROPFIND", "/none", 501),
    ]

    @Test(arguments: methods)
    func `is for GET and HEAD`(_ row: (method: String, target: String, status: Int)) throws {
        let sample = try SampleSite(["a.txt": "a"])
        let answer = try sample.send(row.method, row.target)
        expect(answer.status, equals: row.status)
        let hasAllow = row.status == 204 || row.status == 405
        expect(answer["Allow"], equals: (hasAllow ? "GET, HEAD, OPTIONS" : nil))
        if row.status == 204 { expect(answer["Content-Length"] == nil) }
    }

    @Test func `is refused a path with NUL`() throws {
        let sample = try SampleSite(["f.js": "a"])
        guard let request = try? RequestHead(method: "GET", target: "/f%00k.js") else { return }
        expect(Responder.respond(to: request, site: sample.site).head.status, equals: 400)
    }
}
