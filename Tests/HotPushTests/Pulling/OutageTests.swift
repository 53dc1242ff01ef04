import OriginTestSupport

@testable import HotPush

/// A server that at times nobody reaches, or that refuses whatever is asked, always sixteen requests at once.
private final class AbsentServer: Transport, Sendable {
    /// What it answers meanwhile; nil if nobody reaches it.
    let status: Int?
    /// Requests for objects that are answered before the server goes away.
    let answeredCount: Int
    /// How often it refuses what is under way before it is back.
    let roundCount: Int
    private let state = Mutex((answered: 0, rounds: 0, refused: 0))
    private let contents: [String: [UInt8]]

    init(_ place: PublishingPlace, _ status: Int?, answeredCount: Int, roundCount: Int) throws {
        contents = try serving(place)
        self.status = status
        (self.answeredCount, self.roundCount) = (answeredCount, roundCount)
    }

    var refusedCount: Int { state.withLock { $0.refused } }
    var rounds: Int { state.withLock { $0.rounds } }

    func run(_ client: some TransferClient) throws(StoreError) {
        try MemoryTransport(contents).run(Between(client, self))
    }

    fileprivate func refuses(_ request: TransferRequest) -> Bool {
        guard request.url.contains("/objects/") || request.url.contains("/packs/") else {
            return false
        }
        return state.withLock { state in
            if state.answered < answeredCount || state.rounds >= roundCount {
                state.answered += 1
                return false
            }
            return true
        }
    }

    fileprivate func noteRound(_ count: Int) {
        state.withLock { ($0.rounds, $0.refused) = ($0.rounds + 1, $0.refused + count) }
    }

    /// Passes on what client and directory say to each other, but for refusals.
    private final class Between<Client: TransferClient>: TransferClient {
        private let client: Client
        private let server: AbsentServer

        init(_ client: Client, _ server: AbsentServer) {
            (self.client, self.server) = (client, server)
        }

        func next() -> NextTransfer {
            var refused: [TransferRequest] = []
            while true {
                let next = client.next()
                if case .request(let request) = next {
                    guard server.refuses(request) else { return next }
                    refused.append(request)
                    if refused.count < 16 { continue }
                }
                if refused.isEmpty { return next }
                server.noteRound(refused.count)
                refused.forEach(refuse)
                refused = []
            }
        }

        private func refuse(_ request: TransferRequest) {
            guard let status = server.status else {
                let missing = TransferFailure(.connect, "nobody is there")
                return client.end(request.id, .failed(missing))
            }
            let head = TransferHead(status: status, fields: [], url: request.url)
            _ = client.begin(request.id, head)
            client.end(request.id, .finished)
        }

        func begin(_ id: Int, _ head: TransferHead) -> BodyDecision { client.begin(id, head) }
        func receive(_ id: Int, _ bytes: UnsafeRawBufferPointer) -> Bool {
            client.receive(id, bytes)
        }
        func end(_ id: Int, _ outcome: TransferOutcome) { client.end(id, outcome) }
        func tick() -> Bool { client.tick() }
    }
}

private func serving(_ place: PublishingPlace) throws -> [String: [UInt8]] {
    Dictionary(uniqueKeysWithValues: try place.published().map { ("/" + $0.key, $0.value) })
}

@Suite("An origin that cannot be reached or refuses everything for a while") struct OutageTests {
    private static let files = Dictionary(
        uniqueKeysWithValues: (0..<400).map { ("f\($0)", "content \($0)") })

    private func published() throws -> PublishingPlace {
        let place = try PublishingPlace()
        try place.store.add("many", Self.files)
        return place
    }

    private func options(retryCount: Int) -> PullOptions {
        PullingFixture.options.with { $0.retries.failureCountMax = retryCount + 1 }
    }

    @Test(arguments: [nil, 429, 500, 502, 503])
    func `is waited for by all files together, with objects and with packs`(
        _ status: Int?
    ) throws {
        for withPacks in [false, true] {
            let place = try published()
            try place.publisher(packs: withPacks ? .before : .never).publish(
                "many", of: place.versions)
            let device = try TemporaryStore()
            let server = try AbsentServer(
                place, status, answeredCount: withPacks ? 0 : 5, roundCount: 6)
            let pull = Pull(into: device.versions, over: server, options(retryCount: 8))
            let report = try pull.run("http://origin")
            expect(report?.version, equals: "many", "packs: \(withPacks)")
            try expect(readTree(device.path + "/versions/many"), equals: Self.files)
            expect(server.rounds, equals: 6)
            // What was under way when it began; then one request finds out each time.
            expect(server.refusedCount <= 16 + 5, "\(server.refusedCount)")
        }
    }

    @Test(
        "is given up after as many retries as are allowed, and not after as many files as there are",
        arguments: [nil, 503])
    func gone(_ status: Int?) throws {
        let place = try published()
        try place.publish("many")
        for retryCount in [0, 1, 5] {
            let device = try TemporaryStore()
            let server = try AbsentServer(place, status, answeredCount: 5, roundCount: .max)
            let pull = Pull(into: device.versions, over: server, options(retryCount: retryCount))
            expectRefusal(.network) { try pull.run("http://origin") }
            expect(server.rounds, equals: retryCount + 1)
            // What came before is kept.
            let rest = Pull(
                into: try device.reopened(), over: MemoryTransport(try serving(place)),
                PullingFixture.options)
            try expect(rest.run("http://origin")?.figures.reusedBytes ?? 0 > 0)
        }
    }

    private func served() throws -> PullingFixture {
        let fixture = try PullingFixture()
        try fixture.place.store.add("many", Self.files)
        try fixture.publish("many")
        return fixture
    }

    private func objectPath(_ file: Int) throws -> String {
        try "/" + OriginLayout.path(.object, address(of: "content \(file)"))
    }

    @Test func `is no outage where every second request or each first one is refused`() throws {
        let halves = try served()
        halves.origin.play((0..<400).flatMap { _ in [Fault.none, .status(503)] })
        let firsts = try served()
        for file in 0..<400 {
            try firsts.origin.play([.status(429)], on: objectPath(file))
        }
        for fixture in [halves, firsts] {
            let pull = try fixture.pull(options(retryCount: 8), parallel: 16)
            try expect(pull.run(fixture.origin.url)?.version, equals: "many")
            try expect(readTree(fixture.device.path + "/versions/many"), equals: Self.files)
        }
        for file in 0..<400 {
            try expect(firsts.origin.requests(for: objectPath(file)).count, equals: 2)
        }
    }

    @Test func `is none where one file is refused, which has its own retries`() throws {
        let fixture = try served()
        try fixture.origin.always(.status(503), on: objectPath(7))
        let pull = try fixture.pull(parallel: 16)
        expectRefusal(.network, saying: "503") { try pull.run(fixture.origin.url) }
        try expect(
            fixture.origin.requests(for: objectPath(7)).count,
            equals: PullingFixture.options.retries.failureCountMax)
    }
}
