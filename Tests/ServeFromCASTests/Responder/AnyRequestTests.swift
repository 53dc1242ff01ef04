import ServeFromCAS
import WebTestSupport

@Suite("Any request")
struct AnyRequestTests {
    static let text = "The quick brown fox jumps over the lazy dog."

    static func sample() throws -> SampleSite {
        try SampleSite([
            "index.html": "<title>index</title>", "a.txt": text, "a.txt.br": "brotli",
            "a.txt.gz": "gzipped", "app.3f2a9c1b.js": "hashed", "empty.css": "",
            "docs/index.html": "docs",
        ])
    }

    static let targets = [
        "/", "/a.txt", "/a.txt?x", "/app.3f2a9c1b.js", "/empty.css", "/docs", "/docs/", "/none",
        "/none.js", "/a%2Etxt", "/users/7", "/a.txt.br",
    ]

    static func fields(_ numbers: inout SeededRandom) throws -> [(String, String)] {
        let tags = try [text, "brotli", "hashed", "", "x"].map { try SampleSite.tag($0) }
        let dates = ["Sun, 06 Nov 1994 08:49:37 GMT", "Mon, 07 Nov 1994 08:49:37 GMT", "x"]
        var result: [(String, String)] = []
        func maybe(_ name: String, _ values: [String]) {
            guard Int.random(in: 0..<5, using: &numbers) == 0 else { return }
            result.append((name, values.randomElement(using: &numbers) ?? ""))
        }
        maybe(
            "If-None-Match", tags + ["*", "W/" + tags[0], tags.joined(separator: ","), "rubbish"])
        maybe("If-Match", tags + ["*", tags.joined(separator: ",")])
        maybe("If-Modified-Since", dates)
        maybe("If-Unmodified-Since", dates)
        maybe(
            "Accept-Encoding", ["br", "gzip", "identity;q=0", "*", "gzip;q=0.5, br;q=0.1", "zstd"])
        maybe("Accept", ["text/html", "*/*"])
        maybe("Sec-Fetch-Mode", ["navigate", "no-cors"])
        return result
    }

    @Test func `by HEAD gets the status and fields of GET, and no body; lengths are true`() throws {
        let sample = try Self.sample()
        var numbers = SeededRandom(seed: 1)
        var responder = Responder(site: sample.site, headCountMax: 16)
        for _ in 0..<3000 {
            let target = Self.targets.randomElement(using: &numbers) ?? "/"
            let fields = try Self.fields(&numbers)
            let request = try RequestHead(method: "GET", target: target, fields: fields)
            let get = sample.read(responder.respond(to: request))
            let head = try sample.send("HEAD", target, fields)
            expect(head.body.isEmpty)
            expect(head.head, equals: get.head, "\(target) \(fields)")
            if get.status == 304 {
                expect(get.body.isEmpty && get["Content-Length"] == nil)
            } else {
                expect(get["Content-Length"], equals: String(get.body.count))
            }
            expect(get["Date"] == nil && get["Connection"] == nil, "the transport adds these")
        }
    }

    @Test func `for any ranges gets bytes that stand where the answer says`() throws {
        let sample = try Self.sample()
        let whole = Array(Self.text.utf8)
        var numbers = SeededRandom(seed: 2)
        for _ in 0..<3000 {
            let count = Int.random(in: 1...4, using: &numbers)
            let specs = (0..<count).map { _ in
                let first = Int.random(in: 0..<50, using: &numbers)
                let last = first + Int.random(in: -1..<20, using: &numbers)
                return ["\(first)-\(last)", "\(first)-", "-\(first)"].randomElement(using: &numbers)
                    ?? ""
            }
            let value = "bytes=" + specs.joined(separator: ",")
            let answer = try sample.send("GET", "/a.txt", [("Range", value)])
            expect(answer["Content-Length"], equals: String(answer.body.count))
            switch answer.status {
            case 200: expect(answer.body, equals: whole)
            case 416: expect(answer["Content-Range"], equals: "bytes */\(whole.count)")
            case 206:
                for part in parts(answer) {
                    expect(Array(whole[part.range]), equals: part.body, "\(value)")
                }
            default: Issue.record("\(value) got \(answer.status)")
            }
        }
    }

    /// The parts of a 206 with where they belong, read as a client reads them.
    private func parts(_ answer: SampleSite.Answer) -> [(range: Range<Int>, body: [UInt8])] {
        func range(_ text: some StringProtocol) -> Range<Int> {
            let numbers = text.split { !$0.isNumber }.compactMap { Int($0) }
            return numbers.count == 3 ? numbers[0]..<numbers[1] + 1 : 0..<0
        }
        if let value = answer["Content-Range"] { return [(range(value), answer.body)] }
        let boundary = (answer["Content-Type"] ?? "").split(separator: "boundary=").last ?? ""
        var result: [(range: Range<Int>, body: [UInt8])] = []
        // Swift sees CRLF as one character.
        for part in answer.text.split(
            separator: "--\(boundary)\r\n", omittingEmptySubsequences: true)
        {
            guard let gap = part.firstRange(of: "\r\n\r\n") else { continue }
            let head = part[..<gap.lowerBound]
            let field = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Range") } ?? ""
            var body = part[gap.upperBound...]
            if let end = body.firstRange(of: "\r\n--\(boundary)--") {
                body = body[..<end.lowerBound]
            }
            if body.hasSuffix("\r\n") { body = body.dropLast() }
            result.append((range(field), Array(body.utf8)))
        }
        expect(result.count > 1)
        return result
    }
}
