import CurlTransport
import HotPush
import StorageTestSupport

struct Fetched {
    var head: TransferHead?
    var bytes: [UInt8] = []
    /// All of them: there must be exactly one.
    var outcomes: [TransferOutcome] = []

    var status: Int? { head?.status }
    var outcome: TransferOutcome? { outcomes.first }

    /// The kind of its failure; nil if it ended otherwise.
    var failure: TransferFailure.Kind? {
        if case .failed(let failure) = outcome { failure.kind } else { nil }
    }

    var message: String { if case .failed(let failure) = outcome { failure.message } else { "" } }
}

/// A client that asks for a list of requests and keeps what comes.
final class CollectingClient: TransferClient {
    var results: [Int: Fetched] = [:]
    var tickCount = 0
    /// What to do with a body; the head and how many transfers began before.
    var decide: (TransferHead) -> BodyDecision = { _ in .take }
    /// Whether to continue after bytes.
    var goesOn: (Int, Int) -> Bool = { _, _ in true }
    /// Whether to continue at a tick.
    var lives: (CollectingClient) -> Bool = { _ in true }
    /// Called when a transfer is over; may add requests.
    var ended: (CollectingClient, Int) -> Void = { _, _ in }
    private(set) var mostAtOnce = 0
    private var waiting: [NextTransfer]
    private var running: Set<Int> = []

    init(_ steps: [NextTransfer]) { waiting = steps.reversed() }

    convenience init(_ requests: [TransferRequest]) { self.init(requests.map { .request($0) }) }

    func add(_ request: TransferRequest) { waiting.insert(.request(request), at: 0) }

    func next() -> NextTransfer {
        guard let step = waiting.popLast() else { return .nothing }
        if case .request(let request) = step {
            running.insert(request.id)
            mostAtOnce = max(mostAtOnce, running.count)
        }
        return step
    }

    func begin(_ id: Int, _ head: TransferHead) -> BodyDecision {
        expect(running.contains(id) && results[id]?.head == nil)
        results[id, default: Fetched()].head = head
        return decide(head)
    }

    func receive(_ id: Int, _ bytes: UnsafeRawBufferPointer) -> Bool {
        expect(running.contains(id) && results[id]?.head != nil)
        results[id, default: Fetched()].bytes += bytes
        return goesOn(id, results[id]?.bytes.count ?? 0)
    }

    func end(_ id: Int, _ outcome: TransferOutcome) {
        expect(running.remove(id) != nil)
        results[id, default: Fetched()].outcomes.append(outcome)
        ended(self, id)
    }

    func tick() -> Bool {
        tickCount += 1
        return lives(self)
    }
}

extension TransportOptions {
    /// Patient options for a loopback server, whatever proxies the environment names.
    static var local: TransportOptions {
        var options = TransportOptions()
        options.proxy = ""
        options.stallTimeout = .seconds(60)
        options.connectTimeout = .seconds(60)
        return options
    }

    func with(_ change: (inout TransportOptions) -> Void) -> TransportOptions {
        var options = self
        change(&options)
        return options
    }
}

extension TransferRequest {
    init(_ id: Int, _ url: String, _ change: (inout TransferRequest) -> Void) {
        self.init(id: id, url: url)
        change(&self)
    }
}

func run(_ client: CollectingClient, _ options: TransportOptions = .local) throws {
    try CurlTransport(options).run(client)
    for (_, result) in client.results { expect(result.outcomes.count, equals: 1) }
}

func fetch(
    _ url: String, _ options: TransportOptions = .local,
    _ change: (inout TransferRequest) -> Void = { _ in },
    decide: @escaping (TransferHead) -> BodyDecision = { _ in .take }
) throws -> Fetched {
    let client = CollectingClient([TransferRequest(7, url, change)])
    client.decide = decide
    try run(client, options)
    return try require(client.results[7])
}

/// Bytes without a pattern that a shift would hide.
func sampleBytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var generator = SeededRandom(seed: seed)
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
}
