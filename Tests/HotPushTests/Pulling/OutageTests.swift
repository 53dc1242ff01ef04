import StorageTestSupport
import Synchronization

@testable import HotPush

/// A server that nobody reaches at times.
private final class AbsentServer: Transport, Sendable {
    /// Requests for objects that are answered before the server goes away.
    let answeredCount: Int
    /// How often a client has to rest before the server is back.
    let restCount: Int
    private let state = Mutex((answered: 0, rested: 0, refused: 0))
    private let contents: [String: [UInt8]]

    init(_ place: PublishingPlace, answeredCount: Int, restCount: Int) throws {
        contents = try serving(place)
        (self.answeredCount, self.restCount) = (answeredCount, restCount)
    }

    var refusedCount: Int { state.withLock { $0.refused } }

    func run(_ client: some TransferClient) throws(StoreError) {
        try MemoryTransport(contents).run(Between(client, self))
    }

    fileprivate func refuses(_ request: TransferRequest) -> Bool {
        guard request.url.contains("/objects/") || request.url.contains("/packs/") else {
            return false
        }
        return state.withLock { state in
            if state.answered < answeredCount || state.rested >= restCount {
                state.answered += 1
                return false
            }
            state.refused += 1
            return true
        }
    }

    fileprivate func noteRest() {
        state.withLock { if $0.answered >= answeredCount { $0.rested += 1 } }
    }

    /// Passes on what client and directory say to each other, but for refusals.
    private final class Between<Client: TransferClient>: TransferClient {
        private let client: Client
        private let server: AbsentServer

        init(_ client: Client, _ server: AbsentServer) {
            (self.client, self.server) = (client, server)
        }

        func next() -> NextTransfer {
            while true {
                let next = client.next()
                if case .wait = next { server.noteRest() }
                guard case .request(let request) = next, server.refuses(request) else {
                    return next
                }
                client.end(request.id, .failed(TransferFailure(.connect, "nobody is there")))
            }
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

@Suite("An origin that cannot be reached for a while") struct OutageTests {
    private static let files = Dictionary(
        uniqueKeysWithValues: (0..<300).map { ("f\($0)", "content \($0)") })

    private func published() throws -> PublishingPlace {
        let place = try PublishingPlace()
        try place.store.add("many", Self.files)
        return place
    }

    private func options(retryCount: Int) -> PullOptions {
        PullingFixture.options.with { $0.retries.failureCountMax = retryCount + 1 }
    }

    @Test func `is waited for by all files together, with objects and with packs`() throws {
        for withPacks in [false, true] {
            let place = try published()
            try place.publisher(packs: withPacks ? .before : .never).publish(
                "many", of: place.versions)
            let device = try TemporaryStore()
            let server = try AbsentServer(place, answeredCount: withPacks ? 0 : 5, restCount: 6)
            let pull = Pull(into: device.versions, over: server, options(retryCount: 8))
            let report = try pull.run("http://origin")
            expect(report?.version, equals: "many", "packs: \(withPacks)")
            try expect(readTree(device.path + "/versions/many"), equals: Self.files)
            // One request finds out each time.
            expect((1...8).contains(server.refusedCount), "\(server.refusedCount)")
        }
    }

    @Test(
        "is given up after as many retries as are allowed, and not after as many files as there are"
    )
    func gone() throws {
        let place = try published()
        try place.publish("many")
        for retryCount in [0, 1, 5] {
            let device = try TemporaryStore()
            let server = try AbsentServer(place, answeredCount: 5, restCount: .max)
            let pull = Pull(into: device.versions, over: server, options(retryCount: retryCount))
            expectRefusal(.network) { try pull.run("http://origin") }
            expect(server.refusedCount, equals: retryCount + 1)
            // What came before is kept.
            let rest = Pull(
                into: try device.reopened(), over: MemoryTransport(try serving(place)),
                PullingFixture.options)
            try expect(rest.run("http://origin")?.figures.reusedBytes ?? 0 > 0)
        }
    }
}
