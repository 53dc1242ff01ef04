import ServeFromCAS
import StorageTestSupport

@Suite("A file with precompressed variants")
struct VariantTests {
    // The texts stand for compressed bytes; their lengths are what counts: br < zst < gz < file.
    static let files: KeyValuePairs<String, String> = [
        "a.js": "the file, not compressed", "a.js.br": "brotli", "a.js.zst": "zstandard",
        "a.js.gz": "gzip......", "alone.js": "alone",
    ]

    static let cases: [(accept: String?, coding: String?)] = [
        (nil, nil), ("", nil), ("identity", nil), ("gzip, deflate, br, zstd", "br"),
        ("gzip", "gzip"), ("x-gzip", "gzip"), ("GZIP", "gzip"), ("zstd", "zstd"), ("*", "br"),
        ("deflate", nil), ("br;q=0", nil), ("br;q=0, *", "zstd"), ("br;q=0.5, gzip", "gzip"),
        ("br;q=0.5,gzip;q=0.8,zstd;q=0.7", "gzip"), ("gzip;q=0.001", "gzip"),
        ("identity, gzip;q=0.5", nil), ("identity;q=0.5, gzip;q=0.5", "gzip"),
        ("*;q=0, gzip", "gzip"), ("br;q=0,gzip;q=0,zstd;q=0", nil), ("gzip ; q=1.000", "gzip"),
        ("gzip;q=2", nil), ("gzip;q=x", nil), (",, gzip ,,", "gzip"), ("gzip;q=0.0000", nil),
        ("identity;q=0, gzip", "gzip"),
    ]

    @Test("is sent in the most welcome coding, the shortest of equals", arguments: cases)
    func choice(_ row: (accept: String?, coding: String?)) throws {
        let sample = try SampleSite(Self.files)
        let fields = row.accept.map { [("Accept-Encoding", $0)] } ?? []
        let answer = try sample.send("GET", "/a.js", fields)
        let texts = ["br": "brotli", "zstd": "zstandard", "gzip": "gzip......"]
        let text = row.coding.flatMap { texts[$0] } ?? "the file, not compressed"
        expect(answer.status, equals: 200)
        expect(answer.text, equals: text)
        expect(answer["Content-Encoding"], equals: row.coding)
        expect(answer["Vary"], equals: "Accept-Encoding, Cookie")
        expect(answer["ETag"], equals: (try SampleSite.tag(text)))
        expect(answer["Content-Type"], equals: "text/javascript; charset=utf-8")
        expect(answer["Content-Length"], equals: String(text.utf8.count))
    }

    /// docs/serving.md, "Compressed files".
    static let alone: [(path: String, coding: String?, type: String)] = [
        ("Build/game.framework.js.gz", "gzip", "text/javascript; charset=utf-8"),
        ("Build/game.wasm.gz", "gzip", "application/wasm"),
        ("Build/game.data.gz", "gzip", "application/octet-stream"),
        ("Build/br.framework.js.br", "br", "text/javascript; charset=utf-8"),
        ("Build/z.css.zst", "zstd", "text/css; charset=utf-8"),
        ("icon.svgz", "gzip", "image/svg+xml; charset=utf-8"),
        ("ICON.SVGZ", "gzip", "image/svg+xml; charset=utf-8"),
        ("page.html.gz", "gzip", "text/html; charset=utf-8"),
        ("m.usdz.br", "br", "model/vnd.usdz+zip"),
        // To be had as they are.
        ("backup.tar.gz", nil, "application/gzip"), ("a.zip.gz", nil, "application/gzip"),
        ("notes.gz", nil, "application/gzip"), ("dump.sql.gz", nil, "application/gzip"),
        ("a.zip.br", nil, "application/octet-stream"), ("x.tgz", nil, "application/gzip"),
        ("a.7z.zst", nil, "application/zstd"),
    ]

    @Test(
        "alone is sent as what is inside it, unless that is an archive or nothing known",
        arguments: alone)
    func precompressed(_ row: (path: String, coding: String?, type: String)) throws {
        var options = SiteOptions()
        try options.setType("model/vnd.usdz+zip", ofEnding: ".USDZ")
        let sample = try SampleSite([.init(row.path, "bytes")], options: options)
        let refusing = [("Accept-Encoding", "identity")]
        for fields in [[], [("Accept-Encoding", "gzip, br, zstd")], refusing] {
            for method in ["GET", "HEAD"] {
                let answer = try sample.send(method, "/" + row.path, fields)
                expect(answer.status, equals: 200)
                expect(answer["Content-Encoding"], equals: row.coding)
                expect(answer["Content-Type"], equals: row.type)
                expect(answer["Content-Length"], equals: "5")
                let marks = row.type.hasPrefix("image/") || row.type.hasPrefix("font/")
                expect(
                    answer["Vary"],
                    equals: "Cookie"
                        + (marks ? ", Sec-CH-UA, Sec-CH-UA-Mobile, Sec-CH-UA-Platform" : ""))
            }
        }
        let part = try sample.send("GET", "/" + row.path, [("Range", "bytes=1-2")])
        expect(part.status == 206 && part.text == "yt")
        expect(part["Content-Encoding"], equals: row.coding)
        // Beside the plain file it is a variant of that, and by its own name a file like any other.
        guard row.coding != nil, !row.path.lowercased().hasSuffix(".svgz") else { return }
        let plain = String(row.path[..<(row.path.lastIndex(of: ".") ?? row.path.endIndex)])
        let both = try SampleSite(
            [.init(row.path, "bytes"), .init(plain, "long enough")], options: options)
        try expect(both.send("GET", "/" + row.path)["Content-Encoding"] == nil)
    }

    @Test func `has the type that its ending was given, the longest ending first`() throws {
        var options = SiteOptions()
        try options.setType("model/vnd.usdz+zip", ofEnding: ".usdz")
        try options.setType("text/x-notes", ofEnding: ".notes")
        try options.setType("application/x-one", ofEnding: ".one.js")
        let sample = try SampleSite(
            ["a.USDZ": "1", "b.notes": "2", "c.one.js": "3", "d.js": "4"], options: options)
        for (path, type) in [
            ("/a.USDZ", "model/vnd.usdz+zip"), ("/b.notes", "text/x-notes; charset=utf-8"),
            ("/c.one.js", "application/x-one"), ("/d.js", "text/javascript; charset=utf-8"),
        ] {
            try expect(sample.send("GET", path)["Content-Type"], equals: type)
        }
        for (type, ending) in [
            ("a/b", "usdz"), ("a/b", "."), ("a/b", ".a/b"), ("ab", ".x"), ("a/", ".x"),
            ("a/b\n", ".x"),
            ("a b/c", ".x"),
        ] {
            #expect(throws: StoreError.self) { try options.setType(type, ofEnding: ending) }
        }
    }

    @Test
    func `has the fields of the files that it belongs to, in the place of those for all`() throws {
        var options = SiteOptions()
        try options.add("X-All", "1")
        try options.add("Cache-Control", "no-store", toFiles: "/live")
        try options.add("x-all", "2", toFiles: "/**/*.wasm")
        try options.add("Referrer-Policy", "origin", toFiles: "/a.js")
        let sample = try SampleSite(
            [
                "a.js": "1", "live/b.js": "2", "lively.js": "3", "deep/er/c.wasm": "4",
                "d.wasm": "5",
            ],
            options: options)
        for (path, all, caching, policy) in [
            ("/a.js", "1", "no-cache", "origin"), ("/live/b.js", "1", "no-store", "same-origin"),
            ("/lively.js", "1", "no-cache", "same-origin"),
            ("/deep/er/c.wasm", "2", "no-cache", "same-origin"),
            ("/d.wasm", "2", "no-cache", "same-origin"),
        ] {
            let tag = try require(sample.send("GET", path)["ETag"])
            for fields in [[], [("Range", "bytes=0-0")], [("If-None-Match", tag)]] {
                let answer = try sample.send("GET", path, fields)
                expect(answer["X-All"], equals: all, "\(path)")
                expect(answer["Cache-Control"], equals: caching, "\(path)")
                expect(answer["Referrer-Policy"], equals: policy, "\(path)")
            }
        }
        for files in ["live", "", "/a/**/b/**", "/x**y"] {
            #expect(throws: StoreError.self) { try options.add("X-A", "1", toFiles: files) }
        }
        #expect(throws: StoreError.self) { try options.add("ETag", "1", toFiles: "/a") }
    }

    @Test(arguments: ["identity;q=0", "*;q=0"])
    func `is 406 for a client that refuses all there is`(_ accept: String) throws {
        let sample = try SampleSite(Self.files)
        let fields = [("Accept-Encoding", accept)]
        try expect(sample.send("GET", "/alone.js", fields).status, equals: 406)
        let answer = try sample.send("GET", "/a.js", fields)
        expect(answer.status, equals: 406)
        expect(answer["Vary"], equals: "Accept-Encoding")
    }

    @Test
    func `is 304 for the variant that the client has, with Vary, and not for another`() throws {
        let sample = try SampleSite(Self.files)
        let brotli = try SampleSite.tag("brotli")
        let same = try sample.send(
            "GET", "/a.js", [("Accept-Encoding", "br"), ("If-None-Match", brotli)])
        expect(same.status, equals: 304)
        expect(same["Vary"], equals: "Accept-Encoding, Cookie")
        expect(same["ETag"], equals: brotli)
        try expect(sample.send("GET", "/a.js", [("If-None-Match", brotli)]).status, equals: 200)
    }

    @Test func `is sent in ranges of the file itself`() throws {
        let sample = try SampleSite(Self.files)
        let answer = try sample.send(
            "GET", "/a.js", [("Accept-Encoding", "br"), ("Range", "bytes=0-2")])
        expect(answer.status, equals: 206)
        expect(answer.text, equals: "the")
        expect(answer["Content-Encoding"] == nil)
        expect(answer["Vary"], equals: "Accept-Encoding, Cookie")
        let tag = try SampleSite.tag("brotli")
        let other = try sample.send(
            "GET", "/a.js",
            [("Accept-Encoding", "br"), ("Range", "bytes=0-2"), ("If-Range", tag)])
        expect(other.status, equals: 200)
    }

    @Test
    func `has no variant that compresses nothing, or that a route has taken the place of`() throws {
        let sample = try SampleSite([
            .init("a.js", "short"), .init("a.js.gz", "longer than the file"),
            .init("b.js", "hidden by a route"), .init("b.js.gz", "gz"),
            .init("c.js", "in its place", routes: ["/b.js"]),
        ])
        let gzip = [("Accept-Encoding", "gzip")]
        try expect(sample.send("GET", "/a.js", gzip).text, equals: "short")
        try expect(sample.send("GET", "/b.js", gzip).text, equals: "in its place")
    }

    @Test func `shows the compressed file itself as a file`() throws {
        let sample = try SampleSite(Self.files)
        let answer = try sample.send("GET", "/a.js.gz", [("Accept-Encoding", "gzip")])
        expect(answer["Content-Encoding"] == nil)
        expect(answer["Content-Type"], equals: "application/gzip")
    }
}
