import CASStore

/// Fetches several documents at the same time; one that fails leaves the others alone.
///
/// Belongs to one thread.
final class DocumentFetches: TransferClient {
    private let fetches: [DocumentFetch]

    init(_ fetches: [DocumentFetch]) { self.fetches = fetches }

    /// How many requests were sent.
    var requestCount: Int { fetches.reduce(0) { $0 + $1.requestCount } }

    /// Runs the transport until all are here.
    /// - Returns: their final answers, in order.
    /// - Throws: as ``DocumentFetch/run(over:)``, for the first that failed.
    func run(over transport: any Transport) throws(StoreError) -> [DocumentFetch.Answer] {
        for fetch in fetches { fetch.prepare(for: transport) }
        try transport.run(self)
        // What ended one early ended the others, too, and says more.
        for fetch in fetches where fetch.isDone { _ = try fetch.answer() }
        var answers: [DocumentFetch.Answer] = []
        for fetch in fetches { answers.append(try fetch.answer()) }
        return answers
    }

    func next() -> NextTransfer {
        var delay: Int?
        for (position, fetch) in fetches.enumerated() {
            switch fetch.next() {
            case .request(var request):
                // Each of them has one transfer at a time.
                request.id = position
                return .request(request)
            case .wait(let milliseconds): delay = min(delay ?? milliseconds, milliseconds)
            case .nothing: continue
            }
        }
        return delay.map { .wait(milliseconds: $0) } ?? .nothing
    }

    func begin(_ id: Int, _ head: TransferHead) -> BodyDecision { fetches[id].begin(0, head) }

    func receive(_ id: Int, _ piece: UnsafeRawBufferPointer) -> Bool {
        fetches[id].receive(0, piece)
    }

    func end(_ id: Int, _ result: TransferOutcome) { fetches[id].end(0, result) }

    func tick() -> Bool { fetches.allSatisfy { $0.isDone || $0.tick() } }
}
