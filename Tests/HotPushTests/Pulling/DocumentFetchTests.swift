import CurlTransport
import OriginTestSupport

@testable import HotPush

@Suite("A document over a bad network", .timeLimit(.minutes(60))) struct DocumentFetchTests {
    private static let text = String(repeating: "0123456789", count: 30_000)
    private static let path = "/manifest.json"
    private let origin: FaultyOrigin

    init() throws {
        origin = try FaultyOrigin([Self.path: Content(Self.text, type: "application/json")])
    }

    private func fetch(
        _ set: (inout RetryPolicy) -> Void = { _ in }, limit: Int64 = 1 << 20,
        timeout: Duration = DocumentFetch.timeout
    ) throws -> DocumentFetch.Answer {
        var retries = PullingFixture.options.retries
        set(&retries)
        let fetch = DocumentFetch(
            origin.url + Self.path, accept: "application/json", byteCountMax: limit,
            timeout: timeout)
        let fetches = DocumentFetches([fetch], RetryBudget(retries), isInterrupted: { false })
        try fetches.run(over: try PullingFixture.transport())
        return try fetches.answers()[0]
    }

    private func expectWhole(_ answer: DocumentFetch.Answer) {
        expect(String(decoding: answer.bytes, as: UTF8.self), equals: Self.text)
        expect(answer.head.status, equals: 200)
        expect(answer.head["content-type"], equals: "application/json")
    }

    private var asked: [[String?]] { origin.requests.map { [$0["range"], $0["if-range"]] } }

    private var tag: String? { Content(Self.text).tag }

    @Test(arguments: [1, 100_000, 299_999])
    func `continues where it was cut, of the same document`(_ count: Int) throws {
        origin.play([.cut(after: count)], on: Self.path)
        expectWhole(try fetch())
        expect(asked, equals: [[nil, nil], ["bytes=\(count)-", tag]])
        // Ranges count the bytes as they are.
        expect(origin.requests.last?["accept-encoding"], equals: "identity")
    }

    @Test func `continues as often as something new comes`() throws {
        origin.play((0..<20).map { _ in .cut(after: 10_000) }, on: Self.path)
        expectWhole(try fetch())
        expect(origin.requests.count, equals: 21)
        expect(origin.requests.last?["range"], equals: "bytes=200000-")
    }

    @Test func `begins anew where nothing makes sure that the rest fits`() throws {
        let content = Content(Self.text, type: "application/json").tagged("W/\"weak\"")
        origin.put(content, at: Self.path)
        origin.play([.cut(after: 100_000)], on: Self.path)
        expectWhole(try fetch())
        expect(asked, equals: [[nil, nil], [nil, nil]])
    }

    @Test func `takes the new document whole if it has changed meanwhile`() throws {
        let new = Content(String(Self.text.reversed()), type: "application/json")
        origin.play([.switchAll(after: 100_000, to: [Self.path: new])], on: Self.path)
        try expect(fetch().bytes, equals: new.bytes)
        expect(origin.requests.last?["if-range"], equals: tag)
    }

    @Test(
        "ends right after the answer to a request for the rest was of no use",
        arguments: [
            Fault.ignoreRange, .shiftRange(by: 10), .shiftRange(by: -10), .anonymousRange,
            .multipart, .unsatisfiable(total: nil), .unsatisfiable(total: 5), .status(503),
            .tag("\"another\""), .tag(nil), .gzip, .hangUp(),
        ])
    func resuming(_ fault: Fault) throws {
        origin.play([.cut(after: 100_000), fault], on: Self.path)
        // An answer that was not asked to be encoded is refused, as for files.
        if case .gzip = fault {
            expectRefusal(.network) { try fetch() }
        } else {
            expectWhole(try fetch())
        }
    }

    @Test
    func `asks for what can be continued when encoded answers are cut again and again`() throws {
        let encoded = Gzip.encoded(Array(Self.text.utf8)).count
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n"
            + "Content-Length: \(encoded)\r\nETag: \"x\"\r\n\r\n"
        origin.play([.raw(head), .raw(head), .cut(after: 100_000)], on: Self.path)
        expectWhole(try fetch())
        expect(
            origin.requests.map { $0["accept-encoding"] == "identity" },
            equals: [false, false, true, true])
        expect(origin.requests.last?["range"], equals: "bytes=100000-")
    }

    /// An answer with bytes of the document, and whatever fields are given.
    private func answer(_ status: String, _ bytes: Range<Int>, _ fields: String) -> Fault {
        let part = Self.text.dropFirst(bytes.lowerBound).prefix(bytes.count)
        return .raw(
            "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\nETag: \(tag ?? "")\r\n"
                + "Content-Length: \(bytes.count)\r\n\(fields)\r\n\r\n\(part)")
    }

    @Test("continues where a part was shorter than what was asked for (RFC 9110, section 15.3.7)")
    func shortPart() throws {
        let parts = [100_000..<100_100, 100_100..<250_000, 250_000..<299_999]
        origin.play(
            [.cut(after: 100_000)]
                + parts.map { part in
                    answer(
                        "206 Partial Content", part,
                        "Content-Range: bytes \(part.lowerBound)-\(part.upperBound - 1)/300000")
                }, on: Self.path)
        expectWhole(try fetch())
        expect(
            origin.requests.map { $0["range"] },
            equals: [nil] + [100_000, 100_100, 250_000, 299_999].map { "bytes=\($0)-" })
    }

    @Test func `is asked for encoded again where it never comes otherwise`() throws {
        let encoded = Gzip.encoded(Array(Self.text.utf8)).count
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n"
            + "Content-Length: \(encoded)\r\nETag: \"x\"\r\n\r\n"
        origin.play([.raw(head), .raw(head), .gzip, .raw(head), .gzip], on: Self.path)
        expectWhole(try fetch { $0.failureCountMax = 8 })
        expect(
            origin.requests.map { $0["accept-encoding"] == "identity" },
            equals: [false, false, true, false, false])
        // Such an answer is a failure as any other: there is an end to it.
        origin.forgetRequests()
        origin.play([.raw(head), .raw(head), .gzip], on: Self.path)
        origin.always(.raw(head), on: Self.path)
        expectRefusal(.network) { try fetch { $0.failureCountMax = 6 } }
        expect(origin.requests.count, equals: 6)
    }

    @Test func `is given up when nothing new comes, and when there is too much of it`() throws {
        expectRefusal(.tooLarge) { try fetch(limit: 299_999) }
        origin.play([.cut(after: 200_000)], on: Self.path)
        expectRefusal(.tooLarge) { try fetch(limit: 299_999) }
        origin.forgetRequests()
        origin.always(.hangUp(), on: Self.path)
        expectRefusal(.network) { try fetch() }
        expect(origin.requests.count, equals: PullingFixture.options.retries.failureCountMax)
    }

    @Test(
        "that is answered with a time to ask again after its deadline ends with that answer, at once",
        arguments: [503, 429])
    func retryAfter(_ status: Int) throws {
        origin.always(.status(status, retryAfter: "3600"), on: Self.path)
        // The longest wait that the origin can impose ends when nobody waits any more.
        let timeout = Duration.seconds(100)
        let answer = try fetch({ $0.retryAfterMax = timeout }, timeout: timeout)
        expect(answer.head.status == status && answer.bytes.isEmpty)
        expect(origin.requests.count, equals: 1)
    }

    @Test func `that drips is given up for another connection, and what has come stays`() throws {
        origin.play([.drip(milliseconds: 20)], on: Self.path)
        expectWhole(try fetch { $0.dripTime = .milliseconds(100) })
        expect(origin.requests.count, equals: 2)
        let offset = origin.requests.last?["range"].map { Int($0.dropFirst(6).dropLast()) ?? 0 }
        expect(offset ?? 0 > 0)
    }

    // MARK: Within a pull

    @Test(arguments: ["channels", "manifests"])
    func `a pull continues where its pointer or manifest was cut`(_ folder: String) throws {
        let fixture = try PullingFixture(offering: "2")
        let names = try fixture.place.published().keys.filter { $0.hasPrefix(folder + "/") }
        let path = "/" + (try require(names.first))
        for count in [0, 1, 100] {
            let another = fixture.with(try TemporaryStore())
            fixture.origin.forgetRequests()
            fixture.origin.play([.cut(after: count)], on: path)
            try expect(another.run().version, equals: "2")
            let ranges = fixture.origin.requests(for: path).map { $0["range"] }
            expect(ranges, equals: [nil, count > 0 ? "bytes=\(count)-" : nil])
            try another.expectSecond()
        }
    }

    @Test(arguments: 0..<11)
    func `a pull continues where a small file was cut`(_ count: Int) throws {
        let fixture = try PullingFixture(offering: "2")
        let path = try fixture.path(of: "<h1>two</h1>")
        fixture.origin.play([.cut(after: count)], on: path)
        try fixture.run()
        let ranges = fixture.origin.requests(for: path).map { $0["range"] }
        expect(ranges, equals: [nil, count > 0 ? "bytes=\(count)-" : nil])
        try fixture.expectSecond()
    }
}
