import CASStore

/// One whole document, such as a pointer or a manifest, on its way into memory.
///
/// After a broken connection it continues only if a strong validator shows that the rest belongs to the same document.
final class DocumentFetch: TransferJob {
    struct Answer {
        var head: TransferHead
        var bytes: [UInt8]
    }

    fileprivate let request: TransferRequest
    fileprivate(set) var due: ContinuousClock.Instant?
    fileprivate(set) var budgetID = 0
    fileprivate var use: ResponseUse?
    /// The head of the answer that supplied the first bytes.
    private var first: TransferHead?
    private var bytes: [UInt8] = []
    /// Proves that a further part belongs to the bytes already received; nil if nothing can.
    private var validator: Validator?
    /// The most bytes ever held.
    private var highWater = 0
    /// Encoded bytes cannot be continued after a cut.
    private var encodedCutCount = 0
    /// Whether an answer came encoded although none was accepted: a proxy does that, and will again.
    private var isAlwaysEncoded = false
    private var isTooLarge = false
    fileprivate private(set) var result: Result<Answer, StoreError>?
    fileprivate private(set) var deadline: ContinuousClock.Instant
    private let timeout: Duration
    static let timeout: Duration = .seconds(600)

    init(
        _ url: String, accept: String, byteCountMax: Int64, unless tag: String? = nil,
        pastCaches: Bool = false, timeout: Duration = DocumentFetch.timeout
    ) {
        var request = TransferRequest(id: 0, url: url)
        request.byteCountMax = byteCountMax
        // Caches must revalidate: the question is what the origin offers now.
        request.fields = [
            ("accept", accept), ("cache-control", pastCaches ? "no-cache" : "max-age=0"),
        ]
        if let tag { request.fields.append(("if-none-match", tag)) }
        self.request = request
        self.timeout = timeout
        deadline = .now + timeout
    }

    private var place: String { printable(redacted(request.url)) }

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

    fileprivate func ask() -> TransferRequest {
        (use, isTooLarge) = (nil, false)
        var request = request
        if case .rest(let offset, let ifRange) = part.question {
            request.offset = offset
            request.ifRange = ifRange
        } else {
            bytes = []
            // After two cuts, ask for an answer that can be continued.
            request.acceptsEncodings = encodedCutCount < 2 || isAlwaysEncoded
        }
        return request
    }

    fileprivate func begin(_ head: TransferHead) -> BodyDecision {
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

    /// Returns how many of the bytes are new; nil if they are too many.
    fileprivate func take(_ piece: UnsafeRawBufferPointer) -> Int? {
        guard Int64(bytes.count + piece.count) <= request.byteCountMax else {
            isTooLarge = true
            return nil
        }
        bytes.append(contentsOf: piece)
        guard bytes.count > highWater else { return 0 }
        defer { highWater = bytes.count }
        deadline = .now + timeout
        return bytes.count - highWater
    }

    // MARK: Ending

    /// The outcome by what was asked; nil if it brought the document, or an answer that stands in its place.
    fileprivate func failure(_ ended: TransferOutcome, _ head: TransferHead?) -> TransferOutcome? {
        let outcome = isTooLarge ? .tooLarge : judged(ended, head)
        switch use {
        case .append where outcome == .finished, .startOver where outcome == .finished,
            .complete where outcome == .finished:
            guard let first else { return outcome }
            result = .success(Answer(head: first, bytes: bytes))
            return nil
        case .append, .startOver:
            if first?["content-encoding"] != nil { encodedCutCount += 1 }
            return outcome
        default:
            guard outcome == .finished, let head, !RetryPolicy.isWorthRetrying(status: head.status)
            else { return outcome }
            result = .success(Answer(head: head, bytes: []))
            return nil
        }
    }

    private func judged(_ outcome: TransferOutcome, _ head: TransferHead?) -> TransferOutcome {
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

    fileprivate func forget() {
        bytes = []
        validator = nil
        first = nil
    }

    fileprivate func giveUp(after outcome: TransferOutcome, _ head: TransferHead?) {
        switch outcome {
        case .failed(let failure): result = .failure(StoreError(failure))
        case .tooLarge:
            result = .failure(
                StoreError(
                    .tooLarge,
                    "\(place) has more than \(sizeText(request.byteCountMax)), too many for what "
                        + "it should be"))
        default:
            result =
                head.map { .success(Answer(head: $0, bytes: [])) }
                ?? .failure(StoreError(.network, "unable to fetch \(place)"))
        }
    }

    /// Returns whether to wait on.
    fileprivate func isInTime() -> Bool {
        if result != nil || ContinuousClock.now < deadline { return true }
        result = .failure(StoreError(.network, "nothing more of \(place) came for ten minutes"))
        return false
    }
}

/// Fetches documents concurrently; a failure of one does not affect the others.
final class DocumentFetches: TransferRun<DocumentFetch, Transfer<DocumentFetch>> {
    private let fetches: [DocumentFetch]

    init(_ fetches: [DocumentFetch], _ budget: RetryBudget, isInterrupted: @escaping () -> Bool) {
        self.fetches = fetches
        for (position, fetch) in fetches.enumerated() { fetch.budgetID = position }
        super.init(budget, isInterrupted: isInterrupted)
        waiting = fetches
    }

    /// The final answers in order, whatever their status; for a document that came in parts, the first answer.
    /// - Throws: the first failure: `.network` without an answer, `.tooLarge`, `.interrupted`.
    func answers() throws(StoreError) -> [DocumentFetch.Answer] {
        // An error that ended one early ended the others too, and is the one to report.
        for fetch in fetches where fetch.result != nil { _ = try fetch.answer() }
        var answers: [DocumentFetch.Answer] = []
        for fetch in fetches { answers.append(try fetch.answer()) }
        return answers
    }

    override func begin(_ fetch: DocumentFetch) -> (TransferRequest, Transfer<DocumentFetch>)? {
        (fetch.ask(), Transfer(fetch))
    }

    override func begin(_ attempt: Transfer<DocumentFetch>, _ head: TransferHead) -> BodyDecision {
        attempt.job.begin(head)
    }

    override func take(
        _ piece: UnsafeRawBufferPointer, _ attempt: Transfer<DocumentFetch>
    ) -> Bool {
        guard let count = attempt.job.take(piece) else { return false }
        attempt.newByteCount += Int64(count)
        return true
    }

    override func end(_ attempt: Transfer<DocumentFetch>, _ outcome: TransferOutcome) {
        let fetch = attempt.job
        if outcome == .cancelled { return }
        guard let failure = fetch.failure(outcome, attempt.head) else {
            return budget.progressed(fetch.budgetID)
        }
        if case .askForWhole = fetch.use {
            // A request for the whole cannot get this verdict again.
            fetch.forget()
        } else if case .again(let delay) = decide(
            attempt, failure, within: fetch.deadline - .now)
        {
            fetch.due = .now + delay
        } else {
            return fetch.giveUp(after: failure, attempt.head)
        }
        waiting.append(fetch)
    }

    override func tick() -> Bool { super.tick() && fetches.allSatisfy { $0.isInTime() } }
}
