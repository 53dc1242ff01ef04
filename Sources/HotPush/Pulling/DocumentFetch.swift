import CASStore

/// Fetches one whole document, such as a pointer or a manifest, into memory.
///
/// After a broken connection it continues only if a strong validator shows that the rest belongs to the same document.
final class DocumentFetch {
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
    private var use: ResponseUse?
    /// The head of the answer that supplied the first bytes.
    private var first: TransferHead?
    private var bytes: [UInt8] = []
    /// Proves that a further part belongs to the bytes already received; nil if nothing can.
    private var validator: Validator?
    /// The most bytes ever held: now, and before the last request.
    private var highWater: (now: Int, before: Int) = (0, 0)
    /// Encoded bytes cannot be continued after a cut.
    private var encodedCutCount = 0
    /// Whether an answer came encoded although none was accepted: a proxy does that, and will again.
    private var isAlwaysEncoded = false
    private var drip = DripWatch(nil)
    private var dripLimit: DripLimit?
    private var verdict: TransferOutcome?
    private(set) var requestCount = 0
    private var result: Result<Answer, StoreError>?
    private var deadline: ContinuousClock.Instant
    private let patience: Duration
    static let patience: Duration = .seconds(600)

    init(
        _ url: String, accept: String, byteCountMax: Int64, unless tag: String? = nil,
        pastCaches: Bool = false, retries: RetryBudget, patience: Duration = DocumentFetch.patience,
        isInterrupted: @escaping () -> Bool
    ) {
        var request = TransferRequest(id: 0, url: url)
        request.byteCountMax = byteCountMax
        // Caches must revalidate: the question is what the origin offers now.
        request.fields = [
            ("accept", accept), ("cache-control", pastCaches ? "no-cache" : "max-age=0"),
        ]
        if let tag { request.fields.append(("if-none-match", tag)) }
        self.request = request
        self.isInterrupted = isInterrupted
        budget = retries
        self.patience = patience
        deadline = .now + patience
    }

    private var place: String { printable(redacted(request.url)) }

    fileprivate func prepare(for transport: any Transport) {
        dripLimit = DripLimit(budget.policy, over: transport)
    }

    fileprivate var isDone: Bool { result != nil }

    fileprivate func answer() throws(StoreError) -> Answer {
        guard let result else {
            throw StoreError(.interrupted, "interrupted while asking \(place)")
        }
        return try result.get()
    }

    // MARK: Asking

    private var part: StagedPart {
        StagedPart(byteCount: Int64(bytes.count), validator: validator, isProvable: false)
    }

    fileprivate func next() -> NextTransfer {
        guard isWanted else { return .nothing }
        if let due, due > .now {
            return .wait(milliseconds: Int((due - .now).milliseconds + 1))
        }
        isWanted = false
        (head, use, verdict) = (nil, nil, nil)
        highWater.before = highWater.now
        drip = DripWatch(dripLimit)
        requestCount += 1
        var request = request
        if case .rest(let offset, let ifRange) = part.question {
            request.offset = offset
            request.ifRange = ifRange
        } else {
            bytes = []
            // After two cuts, ask for an answer that can be continued.
            request.acceptsEncodings = encodedCutCount < 2 || isAlwaysEncoded
        }
        return .request(request)
    }

    fileprivate func begin(_ head: TransferHead) -> BodyDecision {
        self.head = head
        let use = Resumption.use(of: head, for: part, asked: part.question)
        self.use = use
        switch use {
        case .append: return .take
        case .startOver:
            bytes = []
            first = head
            validator = head["content-encoding"] == nil ? Validator(head) : nil
            return .take
        case .askForWhole: return .refuse
        case .complete, .refuse, .failure: return .discard
        }
    }

    fileprivate func receive(_ piece: UnsafeRawBufferPointer) -> Bool {
        guard Int64(bytes.count + piece.count) <= request.byteCountMax else {
            verdict = .tooLarge
            return false
        }
        bytes.append(contentsOf: piece)
        if bytes.count > highWater.now {
            highWater.now = bytes.count
            deadline = .now + patience
        }
        guard drip.pace(piece.count) == .dripping else { return true }
        verdict = .failed(
            TransferFailure(.timeout, "\(place) comes too slowly to finish"))
        return false
    }

    // MARK: Ending

    fileprivate func end(_ result: TransferOutcome) {
        if result == .cancelled { return }
        let outcome = judged(verdict ?? result)
        switch use {
        case .append where outcome == .finished, .startOver where outcome == .finished,
            .complete where outcome == .finished:
            if let first { return succeed(first, bytes) }
        case .askForWhole:
            // A request for the whole cannot get this verdict again.
            forget()
            isWanted = true
            return
        case .append, .startOver:
            if first?["content-encoding"] != nil { encodedCutCount += 1 }
        default:
            if outcome == .finished, let head, !RetryPolicy.isWorthRetrying(status: head.status) {
                return succeed(head, [])
            }
        }
        let decision = budget.decide(
            0, outcome, head: head, newByteCount: Int64(highWater.now - highWater.before),
            lasting: drip.lasted, within: deadline - .now, now: secondsNow(), using: &generator)
        if case .again(let delay) = decision {
            due = .now + delay
            isWanted = true
            return
        }
        giveUp(after: outcome)
    }

    private func judged(_ outcome: TransferOutcome) -> TransferOutcome {
        switch outcome {
        case .finished where use == .append:
            // A server may send less than the requested range (RFC 9110, section 15.3.7).
            guard let total = head?["content-range"].flatMap({ ContentRange($0) })?.total,
                Int64(bytes.count) < total
            else { return outcome }
            return .failed(
                TransferFailure(
                    .broken, "only \(bytes.count) of \(total) bytes of \(place) came"))
        case .failed(let failure)
        where failure.kind == .malformed && encodedCutCount >= 2 && !isAlwaysEncoded:
            isAlwaysEncoded = true
            forget()
            return .failed(TransferFailure(.broken, failure.message))
        default: return outcome
        }
    }

    private func forget() {
        bytes = []
        validator = nil
        first = nil
    }

    private func succeed(_ head: TransferHead, _ bytes: [UInt8]) {
        result = .success(Answer(head: head, bytes: bytes))
    }

    private func giveUp(after outcome: TransferOutcome) {
        switch outcome {
        case .failed(let failure): result = .failure(StoreError(failure))
        case .tooLarge:
            result = .failure(
                StoreError(
                    .tooLarge,
                    "\(place) has more than \(sizeText(request.byteCountMax)), too many for what "
                        + "it should be"))
        default:
            guard let head else {
                result = .failure(StoreError(.network, "unable to fetch \(place)"))
                return
            }
            succeed(head, [])
        }
    }

    fileprivate func tick() -> Bool {
        if isInterrupted() { return false }
        guard ContinuousClock.now < deadline else {
            result = .failure(
                StoreError(.network, "nothing more of \(place) came for ten minutes"))
            return false
        }
        return true
    }
}

/// Fetches documents concurrently, on one thread; a failure of one does not affect the others.
final class DocumentFetches: TransferClient {
    private let fetches: [DocumentFetch]

    init(_ fetches: [DocumentFetch]) { self.fetches = fetches }

    var requestCount: Int { fetches.reduce(0) { $0 + $1.requestCount } }

    /// Returns the final answers in order, whatever their status; for a document that came in parts, the first answer.
    /// - Throws: the first failure: `.network` without an answer, `.tooLarge`, `.interrupted`.
    func run(over transport: any Transport) throws(StoreError) -> [DocumentFetch.Answer] {
        for fetch in fetches { fetch.prepare(for: transport) }
        try transport.run(self)
        // An error that ended one early ended the others too, and is the one to report.
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
                // Each fetch has one transfer at a time, so its position can serve as the id.
                request.id = position
                return .request(request)
            case .wait(let milliseconds): delay = min(delay ?? milliseconds, milliseconds)
            case .nothing: continue
            }
        }
        return delay.map { .wait(milliseconds: $0) } ?? .nothing
    }

    func begin(_ id: Int, _ head: TransferHead) -> BodyDecision { fetches[id].begin(head) }

    func receive(_ id: Int, _ piece: UnsafeRawBufferPointer) -> Bool {
        fetches[id].receive(piece)
    }

    func end(_ id: Int, _ result: TransferOutcome) { fetches[id].end(result) }

    func tick() -> Bool { fetches.allSatisfy { $0.isDone || $0.tick() } }
}
