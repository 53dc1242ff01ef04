import Expectations
import ServeFromCAS

@Suite("A conditional request")
struct ConditionalRequestTests {
    // 784111777 is Sun, 06 Nov 1994 08:49:37 GMT.
    static let ours = "Sun, 06 Nov 1994 08:49:37 GMT"
    static let before = "Sun, 06 Nov 1994 08:49:36 GMT"
    static let after = "Mon, 07 Nov 1994 08:49:37 GMT"
    static let text = "let a = 1"

    static let cases: [(fields: [(String, String)], status: Int)] = [
        // RFC 9110, 13.1.2: If-None-Match, weak comparison, lists, star.
        ([("If-None-Match", "TAG")], 304),
        ([("If-None-Match", "W/TAG")], 304),
        ([("If-None-Match", "\"x\", TAG")], 304),
        ([("If-None-Match", "\"x,y\",\"z\" ,, W/TAG ,")], 304),
        ([("If-None-Match", "\"x\""), ("If-None-Match", "TAG")], 304),
        ([("If-None-Match", "*")], 304),
        ([("If-None-Match", "\"x\"")], 200),
        ([("If-None-Match", "")], 200),
        ([("If-None-Match", "HASH")], 200),
        ([("If-None-Match", "TAG \"x\"")], 200),
        ([("If-None-Match", "w/TAG")], 200),
        ([("If-None-Match", "TAG, rubbish")], 200),
        ([("If-None-Match", "\"x, TAG")], 200),
        // 13.1.3: no file has a date, so none counts: not the version's own, in no spelling.
        ([("If-Modified-Since", ours)], 200),
        ([("If-Modified-Since", "Sunday, 06-Nov-94 08:49:37 GMT")], 200),
        ([("If-Modified-Since", "Sun Nov  6 08:49:37 1994")], 200),
        ([("If-Modified-Since", before)], 200),
        ([("If-Modified-Since", after)], 200),
        ([("If-Modified-Since", "yesterday")], 200),
        ([("If-Modified-Since", ours), ("If-Modified-Since", ours)], 200),
        ([("If-None-Match", "\"x\""), ("If-Modified-Since", ours)], 200),
        ([("If-None-Match", "TAG"), ("If-Modified-Since", before)], 304),
        // 13.1.1: If-Match, strong comparison.
        ([("If-Match", "TAG")], 200),
        ([("If-Match", "\"x\", TAG")], 200),
        ([("If-Match", "*")], 200),
        ([("If-Match", "W/TAG")], 412),
        ([("If-Match", "\"x\"")], 412),
        ([("If-Match", "rubbish")], 412),
        // 13.1.4: ignored where there is no date.
        ([("If-Unmodified-Since", ours)], 200),
        ([("If-Unmodified-Since", after)], 200),
        ([("If-Unmodified-Since", before)], 200),
        ([("If-Unmodified-Since", "rubbish")], 200),
        ([("If-Match", "TAG"), ("If-Unmodified-Since", before)], 200),
        // 13.2.2: the order.
        ([("If-Match", "\"x\""), ("If-None-Match", "TAG")], 412),
        ([("If-Match", "TAG"), ("If-None-Match", "TAG")], 304),
        ([("If-Unmodified-Since", before), ("If-None-Match", "TAG")], 304),
        ([("If-None-Match", "TAG"), ("Range", "bytes=0-1")], 304),
        ([("If-Match", "\"x\""), ("Range", "bytes=0-1")], 412),
        ([("If-Match", "TAG"), ("Range", "bytes=0-1")], 206),
        // 13.1.5: If-Range with our strong tag only; in doubt the whole.
        ([("Range", "bytes=0-1"), ("If-Range", "TAG")], 206),
        ([("Range", "bytes=0-1"), ("If-Range", "W/TAG")], 200),
        ([("Range", "bytes=0-1"), ("If-Range", "\"x\"")], 200),
        ([("Range", "bytes=0-1"), ("If-Range", "*")], 200),
        ([("Range", "bytes=0-1"), ("If-Range", after)], 200),
        ([("Range", "bytes=0-1"), ("If-Range", ours)], 200),
        ([("Range", "bytes=99-"), ("If-Range", "\"x\"")], 200),
        ([("Range", "bytes=99-"), ("If-Range", "TAG")], 416),
    ]

    @Test("gets what RFC 9110, section 13, says", arguments: cases)
    func table(_ row: (fields: [(String, String)], status: Int)) throws {
        let sample = try SampleSite(["app.js": Self.text])
        let tag = try SampleSite.tag(Self.text)
        let fields = row.fields.map { name, value in
            (
                name,
                value.replacing("TAG", with: tag).replacing(
                    "HASH", with: tag.dropFirst().dropLast())
            )
        }
        for method in ["GET", "HEAD"] {
            let answer = try sample.send(method, "/app.js", fields)
            // Ranges are for GET (14.2).
            let expected = method == "HEAD" && [206, 416].contains(row.status) ? 200 : row.status
            expect(answer.status, equals: expected, "\(method) \(fields)")
            if expected == 304 {
                expect(answer.body.isEmpty)
                expect(answer["ETag"], equals: tag)
                expect(answer["Cache-Control"], equals: "no-cache")
                for name in ["Content-Length", "Content-Type", "Last-Modified", "Content-Encoding"]
                {
                    expect(answer[name] == nil, "\(name)")
                }
            }
        }
    }

    /// Two versions may come within one second, with files of equal size.
    @Test(arguments: [0, 784_111_777])
    func `has no date to go by, whenever the version was made`(_ time: Int64) throws {
        let first = try SampleSite(["a.js": "1"], createdAt: time)
        try expect(first.send("GET", "/a.js")["Last-Modified"] == nil)
        let second = try SampleSite(["a.js": "2"], version: "v2", createdAt: time)
        for date in [Self.before, Self.ours, Self.after] {
            for name in ["If-Modified-Since", "If-Unmodified-Since"] {
                try expect(second.send("GET", "/a.js", [(name, date)]).text, equals: "2", "\(name)")
            }
            let part = try second.send(
                "GET", "/a.js", [("Range", "bytes=0-0"), ("If-Range", date)])
            expect(part.status, equals: 200)
        }
    }
}
