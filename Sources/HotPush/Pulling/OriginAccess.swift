package import CASStore

/// Carries requests to origins and counts them, on one thread.
package final class OriginAccess {
    private let network: any Transport
    private let retries: RetryPolicy
    private let tell: @Sendable (Retry) -> Void
    private var hasAnswer = false
    let isInterrupted: () -> Bool
    package private(set) var requestCount = 0

    package init(
        over network: any Transport, retries: RetryPolicy = RetryPolicy(),
        tell: @escaping @Sendable (Retry) -> Void = { _ in },
        isInterrupted: @escaping () -> Bool = { false }
    ) {
        self.network = network
        self.retries = retries
        self.tell = tell
        self.isInterrupted = isInterrupted
    }

    /// The request that a bucket refused and the right that would allow it; `nil` elsewhere.
    package var refusal: StoreError? { (network as? SignedTransport)?.refusal }

    private func transport(to location: OriginLocation) throws(StoreError) -> any Transport {
        switch location {
        case .web: return network
        case .directory(let path):
            return DirectoryTransport(path, byteRateMax: network.byteRateMax)
        case .bucket:
            guard network is SignedTransport else {
                throw StoreError(
                    .badOrigin,
                    "\(location) needs signed requests, which this transport does not make; castree pull "
                        + "does, and devices take the URL at which the bucket is served")
            }
            return network
        }
    }

    /// Returns the final answer, whatever its status.
    /// - Parameters:
    ///   - tag: the entity tag of a copy that is here; the answer is 304 if it still matches.
    ///   - isOptional: whether the pull can do without the document, so that it waits no longer than for packs.
    /// - Throws: `.network`, `.tooLarge`, `.interrupted`.
    func document(
        _ path: String, at location: OriginLocation, accept: String = "application/json",
        byteCountMax: Int64, unless tag: String? = nil, pastCaches: Bool = false,
        isOptional: Bool = false
    ) throws(StoreError) -> DocumentFetch.Answer {
        let policy = isOptional ? retries.forPacks : retries
        let fetch = DocumentFetch(
            try OriginURL(of: location).url(of: path), accept: accept, byteCountMax: byteCountMax,
            unless: tag, pastCaches: pastCaches)
        let answer = try answers(to: [fetch], policy, at: location)[0]
        hasAnswer = true
        return answer
    }

    /// Requests documents concurrently; returns the final answers in order, whatever their status.
    /// - Throws: `.network`, `.tooLarge`, `.interrupted`.
    func documents(
        _ wanted: [(path: String, byteCountMax: Int64)], at location: OriginLocation
    ) throws(StoreError) -> [DocumentFetch.Answer] {
        let origin = try OriginURL(of: location)
        let fetches = wanted.map { document in
            DocumentFetch(
                origin.url(of: document.path), accept: "application/json",
                byteCountMax: document.byteCountMax)
        }
        return try answers(to: fetches, retries, at: location)
    }

    private func answers(
        to fetches: [DocumentFetch], _ policy: RetryPolicy, at location: OriginLocation
    ) throws(StoreError) -> [DocumentFetch.Answer] {
        let budget = RetryBudget(hasAnswer ? policy.afterAnswer : policy, tell: tell)
        let fetches = DocumentFetches(fetches, budget, isInterrupted: isInterrupted)
        try run(fetches, at: location)
        return try named(location) { () throws(StoreError) in try fetches.answers() }
    }

    func run<Job, Attempt>(
        _ transfers: TransferRun<Job, Attempt>, at location: OriginLocation
    ) throws(StoreError) {
        defer { requestCount += transfers.figures.requests }
        try named(location) { () throws(StoreError) in
            try transfers.run(over: transport(to: location))
        }
    }

    /// Removes secrets sent to an origin from an error that may repeat them.
    func discreet(_ error: StoreError) -> StoreError {
        var error = error
        error.message = network.concealed(in: error.message)
        return error
    }

    func discreetly<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
        do throws(StoreError) { return try body() } catch { throw discreet(error) }
    }

    /// Makes errors name the files of a directory by their paths.
    private func named<R>(
        _ location: OriginLocation, _ body: () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        do throws(StoreError) { return try body() } catch {
            guard case .directory(let path) = location,
                let place = error.message.firstRange(of: OriginURL.directory)
            else { throw error }
            var error = error
            let directory = path.hasSuffix("/") ? path : path + "/"
            error.message.replaceSubrange(place, with: printable(directory))
            throw error
        }
    }
}

extension OriginURL {
    fileprivate static let directory = "file:///"

    /// The base of relative sources; for a directory, as URLs of ``DirectoryTransport``.
    init(of location: OriginLocation) throws(StoreError) {
        switch location {
        case .web(let base): try self.init(base)
        case .directory: try self.init(Self.directory)
        case .bucket(let bucket): self.init(of: bucket)
        }
    }
}

extension DocumentFetch.Answer {
    /// Whether the document came; a page in its place does not count.
    var isDocument: Bool {
        head.status == 200 && ReleaseDocument(path: "").accepts(contentType: head["content-type"])
    }

    /// The type of a page that came in the document's place, nil if none did; 511: RFC 6585, section 6.
    var pageType: String? {
        let type = head["content-type"]?.prefix { $0 != ";" }.lowercased() ?? ""
        guard head.status == 511 || head.status == 200, type == "text/html" else { return nil }
        return type
    }

    /// Whether the origin does not have the document; some servers answer 403 for that.
    var isMissing: Bool { !isDocument && [200, 403, 404, 410].contains(head.status) }
}

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
                TransferFailure(.broken, "only \(bytes.count) of \(total) bytes of \(place) came"))
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
        } else if case .again(let delay) = decide(attempt, failure, within: fetch.deadline - .now) {
            fetch.due = .now + delay
        } else {
            return fetch.giveUp(after: failure, attempt.head)
        }
        waiting.append(fetch)
    }

    override func tick() -> Bool { super.tick() && fetches.allSatisfy { $0.isInTime() } }
}
