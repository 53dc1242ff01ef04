import CurlTransport
import Expectations
import HotPush

@Suite("A transfer over a bad network") struct FaultTests {
    static let bytes = sampleBytes(50_000)

    private func origin(_ faults: Fault...) throws -> FaultyOrigin {
        let origin = try FaultyOrigin(["/f": Content(Self.bytes)])
        origin.play(faults, on: "/f")
        return origin
    }

    @Test(arguments: 0..<10)
    func `that is cut ends as broken, after the bytes that came`(_ tenth: Int) throws {
        let count = Self.bytes.count / 10 * tenth
        let origin = try origin(.cut(after: count))
        let result = try fetch(origin.url + "/f")
        expect(result.failure, equals: .broken)
        expect(result.bytes, equals: Array(Self.bytes.prefix(count)))
        expect(result.message.contains(origin.url + "/f"))
        expect(origin.requests.count, equals: 1, "a transport does not repeat what has begun")
    }

    @Test(
        "that fails ends as what it is, says why, and has brought nothing but right bytes",
        arguments: [
            (.cut(after: 20_000, .reset), .broken, 0...20_000, ""),
            (.hangUp(.closed), .broken, 0...0, ""), (.hangUp(.reset), .broken, 0...0, ""),
            (.stall(after: 12_345), .timeout, 12_345...12_345, "nothing came for 0.5 s"),
            (.silence, .timeout, 0...0, "nothing came for 0.5 s"),
            (.interims(100, milliseconds: 30), .timeout, 0...0, "nothing came for 0.5 s"),
            (.dripHead(milliseconds: 250), .timeout, 0...0, "nothing came for 0.5 s"),
            // As fast as they go: that is not tried again.
            (.interims(2000, milliseconds: 0), .malformed, 0...0, "interim responses"),
            (.announce(more: 100), .broken, 50_000...50_000, ""),
            (.chunked(isCut: true), .broken, 0...50_000, ""),
        ] as [(Fault, TransferFailure.Kind, ClosedRange<Int>, String)])
    func failing(
        _ fault: Fault, _ kind: TransferFailure.Kind, _ byteCount: ClosedRange<Int>, _ words: String
    ) throws {
        let origin = try origin(fault)
        let result = try fetch(
            origin.url + "/f", .local.with { $0.stallTimeout = .milliseconds(500) })
        expect(result.failure, equals: kind)
        expect(byteCount.contains(result.bytes.count))
        expect(result.bytes.elementsEqual(Self.bytes.prefix(result.bytes.count)))
        expect(result.head == nil || byteCount != 0...0)
        expect(words.isEmpty || result.message.contains(words), "\(result.message)")
    }

    @Test(
        "whose connection ends before it begins may be tried again",
        arguments: [Fault.Ending.closed, .reset])
    func slammed(_ ending: Fault.Ending) throws {
        let origin = try origin()
        origin.slam(ending)
        let failure = try fetch(origin.url + "/f").failure
        // A reset may come before the client has noticed that it is connected.
        expect(failure == .broken || ending == .reset && failure == .connect)
        origin.slam(nil)
        try expect(fetch(origin.url + "/f").bytes, equals: Self.bytes)
    }

    @Test func `that takes too long in all ends as a time-out though bytes keep coming`() throws {
        let origin = try origin(.drip(milliseconds: 20))
        let result = try fetch(origin.url + "/f", .local.with { $0.totalTimeout = .seconds(1) })
        expect(result.failure, equals: .timeout)
        expect(result.message.contains("longer than 1 s"))
        expect(result.bytes.elementsEqual(Self.bytes.prefix(result.bytes.count)))
    }

    @Test func `that drips comes whole, however long a stall may be`() throws {
        let origin = try FaultyOrigin(["/f": Content("slow but sure")])
        origin.play([.drip(milliseconds: 30)])
        let result = try fetch(origin.url + "/f")
        expect(result.outcome, equals: .finished)
        expect(result.bytes, equals: Array("slow but sure".utf8))
    }

    @Test func `whose length says less than comes ends where the length says`() throws {
        let origin = try origin(.announce(more: -100))
        let result = try fetch(origin.url + "/f")
        expect(result.outcome, equals: .finished)
        expect(result.bytes, equals: Array(Self.bytes.dropLast(100)))
        // The bytes behind it are not taken for the next response.
        try expect(fetch(origin.url + "/f").bytes, equals: Self.bytes)
    }

    @Test("of wrong bytes under the right tag is handed on: whoever knows the digest judges")
    func wrongBytes() throws {
        let origin = try origin(.wrongBytes, .none)
        let (wrong, right) = (try fetch(origin.url + "/f"), try fetch(origin.url + "/f"))
        expect(wrong.head?["etag"], equals: right.head?["etag"])
        expect(wrong.bytes, equals: Self.bytes.map { ~$0 })
        expect(right.bytes, equals: Self.bytes)
    }

    @Test func `that is encoded though nobody asked is refused before its first byte`() throws {
        let origin = try origin(.gzip)
        let result = try fetch(origin.url + "/f")
        expect(result.failure, equals: .malformed)
        expect(result.head == nil)
        expect(result.bytes.isEmpty)
        expect(result.message.contains("encoded as \"gzip\""))
        expect(origin.requests.first?["accept-encoding"], equals: "identity")
    }

    @Test func `that may be encoded comes decoded`() throws {
        let origin = try origin(.gzip)
        let result = try fetch(origin.url + "/f", .local) { $0.acceptsEncodings = true }
        expect(result.outcome, equals: .finished)
        expect(result.bytes, equals: Self.bytes)
        expect(origin.requests.first?["accept-encoding"]?.contains("gzip"), equals: true)
    }

    @Test func `whose encoding cannot be decoded ends as malformed`() throws {
        let origin = try FaultyOrigin()
        origin.always(
            .raw("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\nnot gzip!"))
        let result = try fetch(origin.url + "/f", .local) { $0.acceptsEncodings = true }
        expect(result.failure, equals: .malformed)
    }

    @Test(arguments: ["SSH-2.0-x\r\n", "HTTP/1.1 abc\r\n\r\n"])
    func `that is no HTTP ends as malformed`(_ text: String) throws {
        let origin = try FaultyOrigin()
        origin.always(.raw(text))
        try expect(fetch(origin.url + "/f").failure, equals: .malformed)
    }

    @Test func `that finds nobody ends as connect, and finds the server when it is back`() throws {
        let origin = try origin()
        let transport = try CurlTransport(.local)
        func outcome() throws -> Fetched {
            let client = CollectingClient([TransferRequest(id: 1, url: origin.url + "/f")])
            try transport.run(client)
            return try require(client.results[1])
        }
        try expect(outcome().bytes, equals: Self.bytes)
        origin.close()
        try expect(outcome().failure, equals: .connect)
        try origin.reopen()
        try expect(outcome().bytes, equals: Self.bytes)
    }

    @Test func `whose name nobody knows ends as resolve`() throws {
        // RFC 2606: never a name.
        try expect(fetch("http://nobody.invalid/f").failure, equals: .resolve)
    }

    @Test func `that switches to other content in mid-download ends as broken`() throws {
        let other = Content(sampleBytes(50_000, seed: 2))
        let origin = try origin(.switchAll(after: 10_000, to: ["/f": other]))
        let first = try fetch(origin.url + "/f")
        expect(first.failure, equals: .broken)
        let tag = try require(first.head?["etag"])
        let second = try fetch(origin.url + "/f", .local) {
            ($0.offset, $0.ifRange) = (10_000, tag)
        }
        expect(second.status, equals: 200, "the tag is another: the server starts over")
        expect(second.bytes, equals: other.bytes)
    }

    @Test func `in chunks comes whole, its trailer apart from its head`() throws {
        let origin = try origin(.chunked())
        let result = try fetch(origin.url + "/f")
        expect(result.outcome, equals: .finished)
        expect(result.bytes, equals: Self.bytes)
        expect(result.head?["x-trailer"] == nil)
    }

    @Test func `that a page answers for the file is handed on with its type`() throws {
        let origin = try origin(.page)
        let result = try fetch(origin.url + "/f")
        expect(result.status, equals: 200)
        expect(result.head?["content-type"], equals: "text/html")
    }
}
