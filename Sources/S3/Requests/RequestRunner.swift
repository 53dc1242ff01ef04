import Platform
import Storage
import Synchronization

/// Signs calls, sends them, and repeats those that may succeed.
///
/// All threads share what it learns of the store: its region, its clock, how much it bears.
final class RequestRunner: Sendable {
    private struct State {
        var endpoint: BucketEndpoint
        /// Added to this machine's clock.
        var clockOffset: Int64 = 0
        var limit: AdaptiveLimit
        var figures = StorageFigures()
        var retries: RetryBudget
        var callCount = 0
    }

    /// Ten years: a server that is farther off does not know the time either.
    private static let clockOffsetMax: Int64 = 10 * 31_556_952
    /// A day: an eavesdropper on a line without TLS must not gather signatures that are valid years from now.
    private static let clockOffsetMaxWithoutTLS: Int64 = 86_400

    let options: BucketOptions
    let keys: any KeySource
    private let carrier: any BucketCarrier
    private let gate: ThreadGate
    private let state: Mutex<State>

    init(
        _ endpoint: BucketEndpoint, _ keys: any KeySource, _ carrier: any BucketCarrier,
        _ options: BucketOptions
    ) {
        self.options = options
        self.keys = keys
        self.carrier = carrier
        gate = ThreadGate(limit: options.jobCount)
        // Whoever opens a bucket wants it: not reaching it is no reason to give up sooner.
        state = Mutex(
            State(
                endpoint: endpoint, limit: AdaptiveLimit(options.jobCount),
                retries: RetryBudget(options.retries.afterAnswer)))
    }

    var endpoint: BucketEndpoint { state.withLock { $0.endpoint } }
    var figures: StorageFigures { state.withLock { $0.figures } }
    var limit: Int { state.withLock { $0.limit.count } }
    /// Seconds since 1970 by the store's clock, as far as it is known.
    var now: Int64 { options.now() + state.withLock { $0.clockOffset } }

    /// Makes a call until it is answered or given up.
    /// - Parameters:
    ///   - progress: grows while a repeated call advances; its failures then count anew, unless that takes too long.
    ///   - make: the call of each try.
    ///   - onHead: what to do with a body; asked for answers without an error only.
    ///   - onBytes: takes the bytes that are streamed; `false` ends the request.
    /// - Throws: what a store refuses for good, unless an earlier try is undecided; `.interrupted`, `.network` if no
    ///   try was ever sent, or another would not help.
    func run(
        progress: () -> Int64 = { 0 }, make: () -> S3Call,
        onHead: (AnswerHead) -> BodyUse = { _ in .keep },
        onBytes: (UnsafeRawBufferPointer) -> Bool = { _ in true }
    ) throws(StoreError) -> CallEnd {
        var tries = Tries()
        let id = state.withLock {
            $0.callCount += 1
            return $0.callCount
        }
        defer { state.withLock { $0.retries.forget(id..<id + 1) } }
        while true {
            if options.isStopped() { throw stopped }
            let call = make()
            let signing = try keys.keys(at: now)
            let (before, began) = (progress(), SystemClock.milliseconds)
            let sent = try send(call, signing, onHead, onBytes, isRepeated: tries.count > 0)
            tries.count += 1
            let verdict = Verdict(sent, call, wasUndecided: tries.isUndecided)
            switch verdict {
            case .done(let answer):
                state.withLock { $0.retries.progressed(id) }
                return .answer(answer)
            case .again(let reason, let isUndecided, let retryAfter):
                if isUndecided { tries.isUndecided = true }
                let gained = progress() - before
                let lasted = Duration.milliseconds(SystemClock.milliseconds - began)
                let now = now
                let (decision, failureCount) = state.withLock {
                    var generator = SystemRandomNumberGenerator()
                    let decision = $0.retries.decide(
                        id, reason, retryAfter: retryAfter, newByteCount: gained, lasting: lasted,
                        now: now, using: &generator)
                    return (decision, $0.retries.failureCount(id))
                }
                guard case .again(let delay) = decision else {
                    return try givenUp(call, reason, tries)
                }
                wait(delay, call, "\(printable(reason)); try \(max(failureCount, 1) + 1)")
            case .refused(let refusal):
                if try mend(refusal, sent, signing, &tries) { continue }
                return try refused(call, refusal, signing, tries)
            case .failed(let failure):
                return try failed(call, failure, tries)
            }
        }
    }

    /// Makes one try of a call whose answer nobody needs.
    func runOnce(_ call: S3Call) {
        do throws(StoreError) {
            let signing = try keys.keys(at: now)
            _ = try send(call, signing, { _ in .keep }, { _ in true }, isRepeated: false)
        } catch {
        }
    }

    struct Tries {
        var count = 0
        /// One of them may have been applied.
        var isUndecided = false
        var clockCount = 0
        var regionCount = 0
        var renewalCount = 0
        var digestCount = 0
    }

    private func wait(_ delay: Duration, _ call: S3Call, _ what: String) {
        let tenths = (delay.milliseconds + 50) / 100
        options.retrying(
            "\(call.operation) at \(endpoint): \(what) of \(options.retries.failureCountMax) in "
                + "\(tenths / 10).\(tenths % 10) s")
        options.wait(delay)
    }

    // MARK: one try

    private func send(
        _ call: S3Call, _ signing: AccessKeys?, _ onHead: (AnswerHead) -> BodyUse,
        _ onBytes: (UnsafeRawBufferPointer) -> Bool, isRepeated: Bool
    ) throws(StoreError) -> SentRequest {
        let endpoint = endpoint
        gate.enter()
        let number = state.withLock {
            $0.figures.requestCount += 1
            if isRepeated { $0.figures.retryCount += 1 }
            $0.figures.sentByteCount += call.body?.byteCount ?? 0
            return $0.limit.begin()
        }
        var sent = SentRequest(signedAt: now, endpoint: endpoint)
        defer { leave(number, sent) }
        var request = try Self.request(call, to: endpoint, by: signing, at: sent.signedAt)
        request.stallSeconds = call.stallSeconds ?? options.stallSeconds
        // Blanks before a late answer are no body.
        if call.mayFailLate { request.leastByteCount = 0 }
        request.totalMilliseconds = call.totalMilliseconds ?? Self.timeLimit(call, request)
        if !call.isSentWhenStopped { request.isStopped = options.isStopped }
        var use = BodyUse.keep
        var received: Int64 = 0
        sent.end = carrier.carry(request) { head in
            sent.head = head
            // The body of a refusal says why, whatever the verb wants of others.
            use = head.status < 300 ? onHead(head) : .keep
            if case .refuse = use { return false }
            return true
        } onBytes: { bytes in
            received += Int64(bytes.count)
            if case .stream = use { return onBytes(bytes) }
            guard sent.body.count + bytes.count <= call.answerByteCountMax else {
                sent.isTooLarge = true
                return false
            }
            sent.body.append(contentsOf: bytes)
            return true
        }
        state.withLock { $0.figures.receivedByteCount += received }
        return sent
    }

    /// How long a try may take in spite of movement, in milliseconds.
    ///
    /// Ten times as long as nothing may move, and a second for each 256 bytes that may go or come, which suits 16
    /// requests at once on the slowest of lines.
    private static func timeLimit(_ call: S3Call, _ request: CarriedRequest) -> Int {
        let sent = call.body?.byteCount ?? 0
        let received = max(Int64(call.answerByteCountMax), call.streamedByteCountMax)
        let seconds = Int64(request.stallSeconds) * 10 + sent / 256 + received / 256
        // Twenty days; libcurl counts milliseconds in 31 bits.
        return Int(min(seconds, 1_728_000) * 1_000)
    }

    private static func request(
        _ call: S3Call, to endpoint: BucketEndpoint, by keys: AccessKeys?, at seconds: Int64
    ) throws(StoreError) -> CarriedRequest {
        var target = SignableRequest(
            method: call.method, host: endpoint.requestHost, path: endpoint.path(call.key))
        target.query = call.query
        target.fields = call.fields
        target.payloadDigest = call.digest
        var request = CarriedRequest(
            method: call.method, url: endpoint.origin + target.encodedTarget)
        let signer = RequestSigner(region: endpoint.region)
        request.fields = call.fields + (try signer.fields(for: target, by: keys, at: seconds))
        request.body = call.body
        return request
    }

    func signed(_ get: SignedGet) throws(StoreError) -> SignedGet {
        var get = get
        (get.endpoint, get.signedAt) = (endpoint, now)
        get.keys = try keys.keys(at: get.signedAt)
        let request = try Self.request(
            get.call, to: get.endpoint, by: get.keys, at: get.signedAt)
        (get.url, get.fields) = (request.url, request.fields)
        return get
    }

    /// The same GET signed anew, if its refusal makes another try worthwhile.
    func mended(
        _ get: SignedGet, _ sent: SentRequest, _ refusal: Refusal
    ) throws(StoreError) -> SignedGet? {
        var get = get
        guard try mend(refusal, sent, get.keys, &get.tries) else { return nil }
        return try signed(get)
    }

    private func leave(_ number: Int, _ sent: SentRequest) {
        let limit = state.withLock {
            if sent.head?.status == 503 || sent.head?.status == 429 {
                $0.limit.refused(number)
            } else if let status = sent.head?.status, status < 500 {
                $0.limit.succeeded()
            }
            return $0.limit.count
        }
        gate.leave(limit: limit)
    }

    // MARK: mending what a refusal tells

    private func mayFollow(_ date: Int64, _ endpoint: BucketEndpoint) -> Bool {
        let offset = date - options.now()
        if offset > 0, !endpoint.isHTTPS { return offset <= Self.clockOffsetMaxWithoutTLS }
        return abs(offset) <= Self.clockOffsetMax
    }

    /// - Returns: whether the call is worth another try at once.
    private func mend(
        _ refusal: Refusal, _ sent: SentRequest, _ signing: AccessKeys?, _ tries: inout Tries
    ) throws(StoreError) -> Bool {
        if refusal.isClock, tries.clockCount < 2, let date = refusal.date,
            mayFollow(date, sent.endpoint)
        {
            tries.clockCount += 1
            setClock(date, sent.endpoint)
            return true
        }
        if let region = refusal.region, tries.regionCount < 1, region != sent.endpoint.region,
            BucketEndpoint.isName(region)
        {
            tries.regionCount += 1
            state.withLock { $0.endpoint = $0.endpoint.moved(to: region) }
            return true
        }
        if refusal.isExpired, tries.renewalCount < 1, let signing {
            tries.renewalCount += 1
            return try keys.renew(signing, at: now)
        }
        if refusal.isDigest, tries.digestCount < 1 {
            tries.digestCount += 1
            return true
        }
        return false
    }

    private func setClock(_ date: Int64, _ endpoint: BucketEndpoint) {
        let offset = date - options.now()
        let isNews = state.withLock {
            let isNews = abs($0.clockOffset - offset) > 60
            $0.clockOffset = offset
            return isNews
        }
        guard isNews else { return }
        options.note(
            Refusal.clock(offset, endpoint) + "; requests are signed by the server's")
    }

    // MARK: ends

    private var stopped: StoreError { StoreError(.interrupted, "interrupted") }

    private func givenUp(
        _ call: S3Call, _ reason: String, _ tries: Tries
    ) throws(StoreError) -> CallEnd {
        let sentence =
            "no answer from \(endpoint) to \(call.operation) in \(tries.count) tries: \(reason)"
        guard tries.isUndecided else { throw StoreError(.network, sentence) }
        return .undecided(UnknownWrite(sentence))
    }

    private func failed(
        _ call: S3Call, _ failure: CarryFailure, _ tries: Tries
    ) throws(StoreError) -> CallEnd {
        if failure.kind == .stopped { throw stopped }
        let code: StoreError.Code =
            switch failure.kind {
            case .malformed: .bucketAnswer
            case .body: .io
            default: .network
            }
        var sentence = "\(call.operation) failed at \(endpoint): \(failure.message)"
        if failure.kind == .untrusted {
            sentence += "; a file of the certificates to trust instead is named in AWS_CA_BUNDLE"
        }
        // A server that answers nonsense may have applied the request.
        guard tries.isUndecided || failure.kind == .malformed else {
            throw StoreError(code, sentence)
        }
        return .undecided(UnknownWrite(sentence, refusal: code))
    }

    private func refused(
        _ call: S3Call, _ refusal: Refusal, _ signing: AccessKeys?, _ tries: Tries
    ) throws(StoreError) -> CallEnd {
        let error = try refusal.error(call, endpoint, signing, options.fileSystem)
        guard tries.isUndecided else { throw error }
        return .undecided(UnknownWrite(error.message, refusal: error.code))
    }
}

struct SentRequest {
    var signedAt: Int64
    var endpoint: BucketEndpoint
    var end = CarryEnd.refused
    var head: AnswerHead?
    var body: [UInt8] = []
    var isTooLarge = false
}
