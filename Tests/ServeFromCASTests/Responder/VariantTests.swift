import Expectations
import ServeFromCAS
import Testing

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
        expect(answer["Vary"], equals: "Accept-Encoding")
        expect(answer["ETag"], equals: (try SampleSite.tag(text)))
        expect(answer["Content-Type"], equals: "text/javascript; charset=utf-8")
        expect(answer["Content-Length"], equals: String(text.utf8.count))
    }

    @Test("is 406 for a client that refuses all there is", arguments: ["identity;q=0", "*;q=0"])
    func nothing(_ accept: String) throws {
        let sample = try SampleSite(Self.files)
        let fields = [("Accept-Encoding", accept)]
        try expect(sample.send("GET", "/alone.js", fields).status, equals: 406)
        let answer = try sample.send("GET", "/a.js", fields)
        expect(answer.status, equals: 406)
        expect(answer["Vary"], equals: "Accept-Encoding")
    }

    @Test("is 304 for the variant that the client has, with Vary, and not for another")
    func conditions() throws {
        let sample = try SampleSite(Self.files)
        let brotli = try SampleSite.tag("brotli")
        let same = try sample.send(
            "GET", "/a.js", [("Accept-Encoding", "br"), ("If-None-Match", brotli)])
        expect(same.status, equals: 304)
        expect(same["Vary"], equals: "Accept-Encoding")
        expect(same["ETag"], equals: brotli)
        let other = try sample.send("GET", "/a.js", [("If-None-Match", brotli)])
        expect(other.status, equals: 200)
    }

    @Test("is sent in ranges of the file itself")
    func ranges() throws {
        let sample = try SampleSite(Self.files)
        let answer = try sample.send(
            "GET", "/a.js", [("Accept-Encoding", "br"), ("Range", "bytes=0-2")])
        expect(answer.status, equals: 206)
        expect(answer.text, equals: "the")
        expect(answer["Content-Encoding"] == nil)
        expect(answer["Vary"], equals: "Accept-Encoding")
        let tag = try SampleSite.tag("brotli")
        let other = try sample.send(
            "GET", "/a.js",
            [("Accept-Encoding", "br"), ("Range", "bytes=0-2"), ("If-Range", tag)])
        expect(other.status, equals: 200)
    }

    @Test("has no variant that compresses nothing, or that a route has taken the place of")
    func useless() throws {
        let sample = try SampleSite([
            .init("a.js", "short"), .init("a.js.gz", "longer than the file"),
            .init("b.js", "hidden by a route"), .init("b.js.gz", "gz"),
            .init("c.js", "in its place", routes: ["/b.js"]),
        ])
        let gzip = [("Accept-Encoding", "gzip")]
        try expect(sample.send("GET", "/a.js", gzip).text, equals: "short")
        try expect(sample.send("GET", "/b.js", gzip).text, equals: "in its place")
    }

    @Test("shows the compressed file itself as a file")
    func itself() throws {
        let sample = try SampleSite(Self.files)
        let answer = try sample.send("GET", "/a.js.gz", [("Accept-Encoding", "gzip")])
        expect(answer["Content-Encoding"] == nil)
        expect(answer["Content-Type"], equals: "application/gzip")
    }
}
