import CASStore

/// Fetches one small document whole: a pointer, a manifest.
final class DocumentFetch: TransferClient {
    /// What came.
    struct Answer {
        var head: TransferHead
        var bytes: [UInt8]
    }

    private let request: TransferRequest
    private let isInterrupted: () -> Bool
    private var budget: RetryBudget
    private var generator = SystemRandomNumberGenerator()
    private var isWanted = true
    private var due: ContinuousClock.Instant?
    private var head: TransferHead?
    private var bytes: [UInt8] = []
    private(set) var requestCount = 0
    private var result: Result<Answer, StoreError>?
    private let deadline = ContinuousClock.now + .seconds(600)

    init(
        _ url: String, accept: String, byteCountMax: Int64, retries: RetryPolicy,
        isInterrupted: @escaping () -> Bool
    ) {
        var request = TransferRequest(id: 0, url: url)
        request.acceptsEncodings = true
        request.byteCountMax = byteCountMax
        // Whatever caches keep, what is offered now is asked of the origin.
        request.fields = [("accept", accept), ("cache-control", "max-age=0")]
        self.request = request
        self.isInterrupted = isInterrupted
        budget = RetryBudget(retries)
    }

    /// Runs the transport until the document is here.
    /// - Returns: the final answer, whatever its status.
    /// - Throws: `.network` when no answer can be had, `.tooLarge`, `.interrupted`.
    func run(over transport: any Transport) throws(StoreError) -> Answer {
        try transport.run(self)
        guard let result else {
            throw StoreError(.interrupted, "interrupted while asking \(request.url)")
        }
        return try result.get()
    }

    func next() -> NextTransfer {
        guard isWanted else { return .nothing }
        if let due, due > .now {
            return .wait(milliseconds: Int((due - .now).milliseconds + 1))
        }
        isWanted = false
        bytes = []
        head = nil
        requestCount += 1
        return .request(request)
    }

    func begin(_ id: Int, _ head: TransferHead) -> BodyDecision {
        self.head = head
        return head.status == 200 ? .take : .discard
    }

    func receive(_ id: Int, _ piece: UnsafeRawBufferPointer) -> Bool {
        bytes.append(contentsOf: piece)
        return true
    }

    func end(_ id: Int, _ outcome: TransferOutcome) {
        if case .finished = outcome, let head, !RetryPolicy.isWorthRetrying(status: head.status) {
            result = .success(Answer(head: head, bytes: bytes))
            return
        }
        if outcome == .cancelled { return }
        let decision = budget.decide(
            id, outcome, head: head, newByteCount: 0, now: secondsNow(), using: &generator)
        if case .again(let delay) = decision {
            due = .now + delay
            isWanted = true
            return
        }
        switch outcome {
        case .failed(let failure): result = .failure(StoreError(.network, failure.message))
        case .tooLarge:
            result = .failure(
                StoreError(
                    .tooLarge,
                    "\(request.url) has more than \(request.byteCountMax) bytes, too many for what "
                        + "it should be"))
        default:
            guard let head else {
                result = .failure(StoreError(.network, "unable to fetch \(request.url)"))
                return
            }
            result = .success(Answer(head: head, bytes: bytes))
        }
    }

    func tick() -> Bool {
        if isInterrupted() { return false }
        guard ContinuousClock.now < deadline else {
            result = .failure(
                StoreError(.network, "\(request.url) was not there after ten minutes"))
            return false
        }
        return true
    }
}
