import StorageTestSupport

@testable import CurlTransport

@Suite("The head of a response") struct HeadReaderTests {
    private func read(
        _ lines: [String], _ reader: inout HeadReader
    ) -> [(status: Int, fields: [String])] {
        var heads: [(status: Int, fields: [String])] = []
        for line in lines {
            Array(line.utf8).withUnsafeBytes { bytes in
                switch reader.read(bytes) {
                case .more: break
                case .malformed(let text): heads.append((-1, [text]))
                case .whole(let status, let fields):
                    heads.append((status, fields.map { "\($0.name)=\($0.value)" }))
                }
            }
        }
        return heads
    }

    @Test(
        "is read with names in lower case and values without blanks around",
        arguments: [
            (
                ["HTTP/1.1 200 OK\r\n", "ETag:  \"A b\" \t\r\n", "X-Empty:\r\n", "\r\n"], 200,
                ["etag=\"A b\"", "x-empty="]
            ),
            (["HTTP/2 404 \r\n", "a: 1\r\n", "A: 2\r\n", "\r\n"], 404, ["a=1", "a=2"]),
            (["HTTP/1.0 206\r\n", "a:b:c\r\n", "\r\n"], 206, ["a=b:c"]),
            (["HTTP/1.1 200 OK\n", "a: 1\n", "\n"], 200, ["a=1"]),
            // A folded line (RFC 9112, section 5.2), a line that is no field.
            (
                ["HTTP/1.1 200 OK\r\n", "a: 1\r\n", "  2 \r\n", "\t3\r\n", "nonsense\r\n", "\r\n"],
                200,
                ["a=1 2 3"]
            ),
            (
                [
                    "HTTP/1.1 100 Continue\r\n", "x: 1\r\n", "\r\n", "HTTP/1.1 103 Early\r\n",
                    "y: 1\r\n",
                    "\r\n", "HTTP/1.1 200 OK\r\n", "z: 1\r\n", "\r\n",
                ], 200, ["z=1"]
            ),
        ])
    func reading(_ lines: [String], _ status: Int, _ fields: [String]) throws {
        var reader = HeadReader()
        let heads = read(lines, &reader)
        try require(heads.count == 1)
        expect(heads[0].status, equals: status)
        expect(heads[0].fields, equals: fields)
    }

    @Test(arguments: [
        ["HTTP/1.1\r\n", "\r\n"], ["HTTP/1.1 2x0 OK\r\n", "\r\n"], ["HTTP/1.1 20\r\n", "\r\n"],
        ["\r\n"], ["HTTP/1.1 099 Odd\r\n", "\r\n"],
    ])
    func `is malformed without a status`(_ lines: [String]) throws {
        var reader = HeadReader()
        expect(read(lines, &reader).map(\.status), equals: [-1])
    }

    @Test func `has space for 64 KiB of interim responses before it, all together, and no more`() {
        var reader = HeadReader()
        let interim = [
            "HTTP/1.1 103 Early\r\n", "x: " + String(repeating: "y", count: 973) + "\r\n",
        ]
        let whole = interim + ["\r\n"]
        expect(whole.joined().utf8.count, equals: 1000)
        let some = (0..<65).flatMap { _ in whole }
        expect(read(some + ["HTTP/1.1 200 OK\r\n", "\r\n"], &reader).map(\.status), equals: [200])
        reader.reset()
        expect(read(some + whole, &reader).map(\.status), equals: [-1])
    }

    @Test func `has space for 64 KiB and no more`() {
        var reader = HeadReader()
        let line = "x: " + String(repeating: "y", count: 995) + "\r\n"
        expect(
            read(
                ["HTTP/1.1 200 OK\r\n"] + Array(repeating: line, count: 65) + ["\r\n"], &reader
            ).map(\.status), equals: [200])
        reader.reset()
        expect(
            read(["HTTP/1.1 200 OK\r\n"] + Array(repeating: line, count: 66), &reader)
                .map(\.status), equals: [-1])
    }
}

@Suite("A rate limit") struct RateLimitTests {
    @Test(
        "lets as much through as its rate, in whatever chunks and at whatever times",
        arguments: [
            (1000, 1), (1000, 5000), (100_000, 16_384), (3, 1), (1 << 40, 1 << 30),
        ] as [(Int64, Int)])
    func rate(_ byteRate: Int64, _ chunk: Int) {
        var generator = SeededRandom(seed: 4)
        var limit = RateLimit(byteRate: byteRate)
        var now: Int64 = 1_000_000
        limit.fill(at: now)
        let begun = now
        var taken: Int64 = 0
        while now - begun < 100_000 {
            while !limit.isEmpty {
                limit.take(chunk)
                taken += Int64(chunk)
            }
            expect(limit.wait > 0)
            now += Int64.random(in: 1...150, using: &generator)
            limit.fill(at: now)
        }
        let allowed = byteRate * (now - begun) / 1000
        // What the bucket holds at the start, and one chunk of debt.
        expect(taken <= allowed + byteRate / 5 + Int64(chunk))
        expect(taken >= allowed - byteRate / 5 - Int64(chunk))
    }

    @Test func `says how long it takes until more may come`() {
        var limit = RateLimit(byteRate: 1000)
        limit.fill(at: 10_000)
        limit.take(700)
        expect(limit.isEmpty)
        let wait = limit.wait
        limit.fill(at: 10_000 + wait - 1)
        expect(limit.isEmpty)
        limit.fill(at: 10_000 + wait)
        expect(!limit.isEmpty)
    }

    @Test func `that is none lets all through`() {
        var limit = RateLimit(byteRate: nil)
        limit.take(1 << 40)
        expect(!limit.isEmpty)
        expect(limit.wait, equals: 0)
    }
}
