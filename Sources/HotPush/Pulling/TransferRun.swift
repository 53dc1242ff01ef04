import CASStore

/// Something to fetch, in as many attempts as it takes.
protocol TransferJob {
    /// When its next attempt may begin; `nil` for at once.
    var due: ContinuousClock.Instant? { get }
    /// The key under which a ``RetryBudget`` counts its failures.
    var budgetID: Int { get }
}

/// One attempt: a request, and its answer so far.
class Transfer<Job: TransferJob> {
    var job: Job
    fileprivate(set) var id = 0
    fileprivate var url = ""
    fileprivate(set) var head: TransferHead?
    /// Bytes that no earlier attempt brought; others are not progress, so they must not extend the retries.
    var newByteCount: Int64 = 0
    fileprivate var drip = DripWatch(nil)
    fileprivate(set) var isTooSlow = false

    init(_ job: Job) { self.job = job }
}

/// Carries out jobs over a transport, each in as many attempts as its retry policy allows; belongs to one thread.
///
/// A subclass is a sink: it says what to ask for, and what becomes of an answer's bytes. Everything else is the same for
/// documents, objects and packs.
class TransferRun<Job: TransferJob, Attempt: Transfer<Job>>: TransferClient {
    /// Jobs whose next attempt has not begun.
    var waiting: [Job] = []
    private(set) var running: [Int: Attempt] = [:]
    var budget: RetryBudget
    var generator = SystemRandomNumberGenerator()
    private let isInterrupted: () -> Bool
    private var dripLimit: DripLimit?
    /// The error that ends everything; what has arrived is kept.
    var failure: StoreError?
    /// The bytes include content that turned out to be wrong.
    var figures = DownloadFigures()
    /// Requests are numbered from 1.
    var lastID: Int { figures.requests }

    init(_ budget: RetryBudget, isInterrupted: @escaping () -> Bool) {
        self.budget = budget
        self.isInterrupted = isInterrupted
    }

    /// An error becomes ``failure``; throws only what is wrong with the transport itself.
    func run(over transport: any Transport) throws(StoreError) {
        dripLimit = DripLimit(budget.policy, over: transport)
        try transport.run(self)
    }

    // MARK: What a sink decides

    /// Removes the job that is next, if one may begin.
    func nextJob() -> Job? { nextWaiting() }

    /// Begins an attempt; returns nil if nothing has to be asked.
    func begin(_ job: Job) throws(StoreError) -> (TransferRequest, Attempt)? { nil }

    func begin(_ attempt: Attempt, _ head: TransferHead) throws(StoreError) -> BodyDecision {
        .discard
    }

    /// Returns whether to continue.
    func take(
        _ bytes: UnsafeRawBufferPointer, _ attempt: Attempt
    ) throws(StoreError) -> Bool { true }

    /// - Parameter outcome: `.failed` with a timeout for an attempt that was too slow.
    func end(_ attempt: Attempt, _ outcome: TransferOutcome) throws(StoreError) {}

    func fail(_ error: StoreError) { failure = failure ?? error }

    final func nextWaiting() -> Job? {
        if waiting.isEmpty { return nil }
        let now = ContinuousClock.now
        let ready = waiting.firstIndex { $0.due.map { $0 <= now } ?? true }
        return ready.map { waiting.remove(at: $0) }
    }

    /// Decides about an attempt that did not bring what was asked for.
    final func decide(
        _ attempt: Attempt, _ outcome: TransferOutcome, within limit: Duration? = nil
    ) -> RetryBudget.Decision {
        budget.decide(
            attempt.job.budgetID, outcome, head: attempt.head, newByteCount: attempt.newByteCount,
            lasting: attempt.drip.lasted, among: running.count + 1, within: limit,
            now: secondsNow(), using: &generator)
    }

    // MARK: What the transport calls

    func next() -> NextTransfer {
        while failure == nil, let job = nextJob() {
            do throws(StoreError) {
                guard case (var request, let attempt)? = try begin(job) else { continue }
                figures.requests += 1
                request.id = lastID
                (attempt.id, attempt.url) = (request.id, request.url)
                attempt.drip = DripWatch(dripLimit)
                running[request.id] = attempt
                return .request(request)
            } catch {
                fail(error)
            }
        }
        guard failure == nil, let due = waiting.compactMap(\.due).min() else { return .nothing }
        return .wait(milliseconds: Int(max(1, (due - .now).milliseconds + 1)))
    }

    final func begin(_ id: Int, _ head: TransferHead) -> BodyDecision {
        guard let attempt = running[id] else { return .refuse }
        attempt.head = head
        do throws(StoreError) { return try begin(attempt, head) } catch {
            fail(error)
            return .refuse
        }
    }

    final func receive(_ id: Int, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let attempt = running[id] else { return false }
        let before = attempt.newByteCount
        do throws(StoreError) {
            guard try take(bytes, attempt) else { return false }
        } catch {
            fail(error)
            return false
        }
        let pace = attempt.drip.pace(bytes.count, among: running.count)
        attempt.isTooSlow = pace == .dripping
        if pace == .kept, attempt.newByteCount > before { budget.progressed(attempt.job.budgetID) }
        return pace != .dripping
    }

    final func end(_ id: Int, _ outcome: TransferOutcome) {
        guard let attempt = running.removeValue(forKey: id) else { return }
        var outcome = outcome
        if attempt.isTooSlow, outcome != .cancelled {
            let place = printable(redacted(attempt.url))
            outcome = .failed(TransferFailure(.timeout, "\(place) comes too slowly to finish"))
        }
        do throws(StoreError) { try end(attempt, outcome) } catch { fail(error) }
    }

    func tick() -> Bool {
        if failure == nil, isInterrupted() { failure = .interruptedPull }
        return failure == nil
    }
}
