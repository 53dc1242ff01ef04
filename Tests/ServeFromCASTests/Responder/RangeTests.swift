import Expectations
import ServeFromCAS

@Suite("A request for ranges")
struct RangeTests {
    static let text = "0123456789"

    static let cases: [(range: String, status: Int, body: String)] = [
        ("bytes=0-0", 206, "0"), ("bytes=2-4", 206, "234"), ("bytes=7-", 206, "789"),
        ("bytes=-3", 206, "789"), ("bytes=-99", 206, "0123456789"), ("bytes=0-", 206, "0123456789"),
        ("bytes=8-99", 206, "89"), ("bytes=9-9", 206, "9"), ("BYTES=1-2", 206, "12"),
        ("bytes=1-99999999999999999999999", 206, "123456789"), ("bytes= 1-2 ", 206, "12"),
        ("bytes=,1-2,,", 206, "12"), ("bytes=99-,1-2", 206, "12"),
        // Unsatisfiable: well-formed, and nothing there.
        ("bytes=10-", 416, ""), ("bytes=10-12", 416, ""), ("bytes=-0", 416, ""),
        ("bytes=99999999999999999999999-", 416, ""), ("bytes=10-,-0", 416, ""),
        // Malformed, or in another unit: as if there were none.
        ("bytes=4-2", 200, text), ("bytes=", 200, text), ("bytes", 200, text),
        ("bytes=-", 200, text), ("bytes=a-b", 200, text), ("bytes=1", 200, text),
        ("bytes=1-2-3", 200, text), ("bytes=+1-2", 200, text), ("bytes=--1", 200, text),
        ("bytes=0x1-2", 200, text), ("items=0-1", 200, text), ("bytes=0-1,x", 200, text),
        ("bytes=0-1,4-2", 200, text),
    ]

    @Test("gets one part, 416 or the whole", arguments: cases)
    func single(_ row: (range: String, status: Int, body: String)) throws {
        let sample = try SampleSite(["a.txt": Self.text])
        let answer = try sample.send("GET", "/a.txt", [("Range", row.range)])
        expect(answer.status, equals: row.status)
        switch row.status {
        case 416: expect(answer["Content-Range"], equals: "bytes */10")
        case 206:
            expect(answer.text, equals: row.body)
            let first = Self.text.firstRange(of: row.body)?.lowerBound
            let start = Self.text.distance(from: Self.text.startIndex, to: try require(first))
            let end = start + row.body.count - 1
            expect(answer["Content-Range"], equals: "bytes \(start)-\(end)/10")
            expect(answer["ETag"], equals: (try SampleSite.tag(Self.text)))
            expect(answer["Content-Type"], equals: "text/plain; charset=utf-8")
        default:
            expect(answer.text, equals: row.body)
            expect(answer["Content-Range"] == nil)
        }
        if row.status != 416 { expect(answer["Content-Length"], equals: String(answer.body.count)) }
    }

    @Test func `gets several parts as multipart/byteranges, in the order asked for`() throws {
        let sample = try SampleSite(["a.txt": Self.text])
        let answer = try sample.send("GET", "/a.txt", [("Range", "bytes=8-9, 0-1 ,99-,-1")])
        expect(answer.status, equals: 206)
        expect(answer["Content-Range"] == nil)
        let type = try require(answer["Content-Type"])
        expect(type.hasPrefix("multipart/byteranges; boundary="))
        let boundary = type.dropFirst("multipart/byteranges; boundary=".count)
        expect(boundary.count <= 70)
        func part(_ range: String, _ body: String) -> String {
            "--\(boundary)\r\nContent-Type: text/plain; charset=utf-8\r\n"
                + "Content-Range: bytes \(range)/10\r\n\r\n\(body)\r\n"
        }
        let expected =
            part("8-9", "89") + part("0-1", "01") + part("9-9", "9") + "--\(boundary)--\r\n"
        expect(answer.text, equals: expected)
        expect(answer["Content-Length"], equals: String(expected.utf8.count))
    }

    @Test(arguments: [
        "bytes=" + (0..<1500).map { "\($0 % 10)-" }.joined(separator: ","), "bytes=0-,0-",
        "bytes=0-8,1-9", "bytes=" + Array(repeating: "0-0", count: 17).joined(separator: ","),
        "bytes=0-9223372036854775807,0-9223372036854775807",
    ])
    func `gets the whole when it asks for more than is reasonable`(_ range: String) throws {
        let sample = try SampleSite(["a.txt": Self.text])
        let answer = try sample.send("GET", "/a.txt", [("Range", range)])
        expect(answer.status, equals: 200)
        expect(answer.text, equals: Self.text)
    }

    @Test(arguments: ["bytes=0-", "bytes=0-0", "bytes=-1", "bytes=-0"])
    func `of an empty file gets 416`(_ range: String) throws {
        let sample = try SampleSite(["empty.txt": ""])
        let answer = try sample.send("GET", "/empty.txt", [("Range", range)])
        expect(answer.status, equals: 416)
        expect(answer["Content-Range"], equals: "bytes */0")
        let whole = try sample.send("GET", "/empty.txt", [("Range", "rubbish")])
        expect(whole.status, equals: 200)
        expect(whole["Content-Length"], equals: "0")
    }

    @Test func `is not understood beside HEAD, or sent twice`() throws {
        let sample = try SampleSite(["a.txt": Self.text])
        try expect(sample.send("HEAD", "/a.txt", [("Range", "bytes=0-1")]).status, equals: 200)
        let twice = try sample.send(
            "GET", "/a.txt", [("Range", "bytes=0-1"), ("Range", "bytes=2-3")])
        expect(twice.status, equals: 200)
    }
}
