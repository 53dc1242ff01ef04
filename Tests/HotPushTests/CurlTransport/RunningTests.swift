import CurlTransport
import Expectations
import HotPush

@Suite("A transport") struct RunningTests {
    @Test func `carries many files over few connections, each once and whole`() throws {
        var contents: [String: Content] = [:]
        for number in 0..<300 {
            contents["/\(number)"] = Content(sampleBytes(number * 7, seed: UInt64(number)))
        }
        let origin = try FaultyOrigin(contents)
        let client = CollectingClient(
            (0..<300).map { TransferRequest(id: $0, url: origin.url + "/\($0)") })
        try run(client, .local.with { $0.parallelCount = 4 })
        for number in 0..<300 {
            expect(client.results[number]?.outcome, equals: .finished)
            expect(client.results[number]?.bytes, equals: contents["/\(number)"]?.bytes)
        }
        expect(origin.requests.count, equals: 300)
        expect(Set(origin.requests.map(\.path)).count, equals: 300)
        expect(client.mostAtOnce, equals: 4)
        expect(origin.connectionCount <= 4)
    }

    @Test func `keeps its connections for the next run`() throws {
        let origin = try FaultyOrigin(["/f": Content("x")])
        let transport = try CurlTransport(.local)
        for _ in 0..<3 {
            let client = CollectingClient([TransferRequest(id: 1, url: origin.url + "/f")])
            try transport.run(client)
            expect(client.results[1]?.outcome, equals: .finished)
        }
        expect(origin.connectionCount, equals: 1)
    }

    @Test func `asks again after the time that a client wants to wait`() throws {
        let origin = try FaultyOrigin(["/f": Content("x")])
        let request = TransferRequest(id: 1, url: origin.url + "/f")
        let client = CollectingClient([.wait(milliseconds: 150), .request(request)])
        let begun = ContinuousClock.now
        try run(client)
        expect(ContinuousClock.now - begun >= .milliseconds(140))
        expect(client.results[1]?.outcome, equals: .finished)
        expect(client.tickCount >= 1)
    }

    @Test func `asks again after each end: one request may lead to the next`() throws {
        let origin = try FaultyOrigin(["/f": Content("x")])
        let client = CollectingClient([TransferRequest(id: 0, url: origin.url + "/f")])
        let url = origin.url + "/f"
        client.ended = { client, id in
            if id < 4 { client.add(TransferRequest(id: id + 1, url: url)) }
        }
        try run(client)
        expect(client.results.count, equals: 5)
        expect(origin.connectionCount, equals: 1)
    }

    @Test func `ends everything when the client wants no more`() throws {
        let origin = try FaultyOrigin(["/f": Content(sampleBytes(1000))])
        origin.always(.stall(after: 100))
        let client = CollectingClient(
            (0..<10).map { TransferRequest(id: $0, url: origin.url + "/f") })
        client.lives = { client in
            client.results.values.count { $0.bytes.count == 100 } < 4
        }
        try run(client, .local.with { $0.parallelCount = 4 })
        expect(client.results.count, equals: 4)
        for (_, result) in client.results {
            expect(result.outcome, equals: .cancelled)
            expect(result.bytes.count, equals: 100, "what came before is kept")
        }
    }

    @Test func `ends a transfer whose head the client refuses, and continues with others`() throws {
        let origin = try FaultyOrigin(["/f": Content("x"), "/g": Content("y")])
        let client = CollectingClient([
            TransferRequest(id: 0, url: origin.url + "/missing"),
            TransferRequest(id: 1, url: origin.url + "/g"),
        ])
        client.decide = { $0.status == 404 ? .refuse : .take }
        try run(client, .local.with { $0.parallelCount = 1 })
        expect(client.results[0]?.outcome, equals: .refused)
        expect(client.results[0]?.bytes.isEmpty, equals: true)
        expect(client.results[1]?.outcome, equals: .finished)
    }

    @Test func `ends a transfer whose bytes the client refuses`() throws {
        let origin = try FaultyOrigin(["/f": Content(sampleBytes(1_000_000))])
        let client = CollectingClient([TransferRequest(id: 0, url: origin.url + "/f")])
        client.goesOn = { _, count in count < 10_000 }
        try run(client)
        expect(client.results[0]?.outcome, equals: .refused)
        expect((client.results[0]?.bytes.count ?? 0) < 1_000_000)
    }

    @Test
    func `reads an error's page for the connection's sake, and hands none of it out`() throws {
        let origin = try FaultyOrigin(["/f": Content("x")])
        origin.play([.status(503, retryAfter: "1"), .status(500)], on: "/f")
        let client = CollectingClient(
            (0..<3).map { TransferRequest(id: $0, url: origin.url + "/f") })
        client.decide = { $0.status >= 400 ? .discard : .take }
        try run(client, .local.with { $0.parallelCount = 1 })
        expect(client.results[0]?.status, equals: 503)
        expect(client.results[0]?.head?["retry-after"], equals: "1")
        expect(client.results[0]?.outcome, equals: .finished)
        expect(client.results[0]?.bytes.isEmpty, equals: true)
        expect(client.results[2]?.bytes, equals: Array("x".utf8))
        expect(origin.connectionCount, equals: 1)
    }

    @Test(arguments: [
        Fault.cut(after: 10), .cut(after: 10, .reset), .announce(more: 5), .stall(after: 1),
    ])
    func `does not care how a body fares that nobody wants`(_ fault: Fault) throws {
        let origin = try FaultyOrigin(["/f": Content(sampleBytes(100))])
        origin.always(fault)
        let result = try fetch(
            origin.url + "/f", .local.with { $0.stallTimeout = .milliseconds(300) },
            decide: { _ in .discard })
        expect(result.outcome, equals: .finished)
        expect(result.status, equals: 200)
    }

    @Test func `takes no byte of a body that says it is too large`() throws {
        // More than libcurl reads at once.
        let origin = try FaultyOrigin(["/f": Content(sampleBytes(600_000))])
        let over = try fetch(origin.url + "/f", .local) { $0.byteCountMax = 599_999 }
        expect(over.outcome, equals: .tooLarge)
        expect(over.bytes.isEmpty)
        let exact = try fetch(origin.url + "/f", .local) { $0.byteCountMax = 600_000 }
        expect(exact.outcome, equals: .finished)
        expect(exact.bytes.count, equals: 600_000)
    }

    @Test(arguments: [false, true])
    func `stops a body that becomes too large`(_ isEncoded: Bool) throws {
        let origin = try FaultyOrigin(["/f": Content(sampleBytes(300_000))])
        origin.always(isEncoded ? .gzip : .chunked())
        let result = try fetch(origin.url + "/f", .local) {
            $0.byteCountMax = 100_000
            $0.acceptsEncodings = isEncoded
        }
        expect(result.outcome, equals: .tooLarge)
        expect(result.bytes.count <= 100_000)
        expect(result.bytes.elementsEqual(sampleBytes(300_000).prefix(result.bytes.count)))
    }

    @Test func `takes no more a second than it may, over all transfers together`() throws {
        let origin = try FaultyOrigin(["/f": Content(sampleBytes(50_000))])
        let client = CollectingClient(
            (0..<4).map { TransferRequest(id: $0, url: origin.url + "/f") })
        let begun = ContinuousClock.now
        try run(client, .local.with { $0.byteRateMax = 200_000 })
        // 200,000 bytes, of which a fifth of a second's worth and a chunk each may come at once.
        expect(ContinuousClock.now - begun >= .milliseconds(400))
        for number in 0..<4 {
            expect(client.results[number]?.bytes, equals: sampleBytes(50_000))
        }
    }

    @Test func `does not take its own brake for a stall`() throws {
        let origin = try FaultyOrigin(["/f": Content(sampleBytes(800))])
        let client = CollectingClient(
            (0..<16).map { TransferRequest(id: $0, url: origin.url + "/f") })
        // The last one waits for more than three seconds.
        try run(
            client,
            .local.with {
                $0.byteRateMax = 3500
                $0.stallTimeout = .seconds(2)
            })
        for number in 0..<16 { expect(client.results[number]?.outcome, equals: .finished) }
    }
}
