import ServeFromCAS
import WebTestSupport

@Suite("A range of a file beyond 32 bits")
struct LargeRangeTests {
    static let cases: [(size: Int64, range: String, expected: Range<Int64>?)] = [
        (1 << 31, "bytes=2147483647-", (1 << 31) - 1..<1 << 31),
        ((1 << 32) + 1, "bytes=4294967296-4294967296", 1 << 32..<(1 << 32) + 1),
        ((1 << 32) + 1, "bytes=4294967295-", (1 << 32) - 1..<(1 << 32) + 1),
        ((1 << 32) + 1, "bytes=4294967297-", nil),
        ((1 << 32) + 1, "bytes=-1", 1 << 32..<(1 << 32) + 1),
        ((1 << 32) + 1, "bytes=1-4294967298", 1..<(1 << 32) + 1),
        ((1 << 53) + 1, "bytes=9007199254740992-", 1 << 53..<(1 << 53) + 1),
        (.max, "bytes=9223372036854775806-", Int64.max - 1..<Int64.max),
        (.max, "bytes=0-9223372036854775807", 0..<Int64.max),
        (.max, "bytes=-9223372036854775807", 0..<Int64.max),
        (.max, "bytes=9223372036854775807-", nil),
    ]

    @Test("is the one that was asked for, in the answer's head and of the object", arguments: cases)
    func single(_ row: (size: Int64, range: String, expected: Range<Int64>?)) throws {
        let address = try SampleSite.address("\(row.size)")
        let manifest = try VersionTree.Manifest(
            version: try VersionName("1"), ordinal: 1, createdAt: 1,
            entries: [
                VersionTree.Manifest.Entry(
                    path: try TreePath("large.bin"), address: address, byteCount: row.size)
            ])
        let request = try RequestHead(
            method: "GET", target: "/large.bin", fields: [("Range", row.range)])
        let response = Responder.respond(to: request, site: Site(manifest))
        guard let expected = row.expected else {
            expect(response.head.status, equals: 416)
            expect(response.head.values("Content-Range"), equals: ["bytes */\(row.size)"])
            return
        }
        expect(response.head.values("Content-Length"), equals: ["\(expected.count)"])
        if response.head.status == 206 {
            let (first, last) = (expected.lowerBound, expected.upperBound - 1)
            expect(
                response.head.values("Content-Range"),
                equals: ["bytes \(first)-\(last)/\(row.size)"])
        } else {
            // The whole, asked for as a range, may be answered as the whole.
            expect(response.head.status == 200 && expected == 0..<row.size)
        }
        guard case .piece(.object(let object, let range, let size)) = response.body else {
            throw Unexpected("the answer is no part of an object")
        }
        expect(object == address && range == expected && size == row.size)
    }
}
