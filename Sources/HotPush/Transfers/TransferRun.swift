package import CASStore

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

/// The lowest acceptable rate of a transfer: a slower one would never end.
package struct DripLimit {
    let byteCount: Int64
    let time: Duration

    package init(_ byteCount: Int64, in time: Duration) {
        self.byteCount = byteCount
        self.time = time
    }

    /// - Parameter transport: excuses the delay caused by its own rate limit.
    init(_ policy: RetryPolicy, over transport: any Transport) {
        byteCount = policy.leastByteCount(in: policy.dripTime)
        guard let byteRate = transport.byteRateMax else {
            time = policy.dripTime
            return
        }
        // Four times what the share of one of many transfers needs: turns are not exact.
        let seconds = 4 * byteCount * Int64(max(transport.parallelCount, 1)) / max(byteRate, 1)
        time = max(policy.dripTime, .seconds(seconds))
    }
}

/// Watches one transfer for its ``DripLimit``, from its first byte on.
package struct DripWatch {
    /// What the latest bytes show.
    package enum Pace {
        /// It is fast enough, and has been for a whole stretch.
        case kept
        case undecided
        case dripping
    }

    private let start = ContinuousClock.now
    private let limit: DripLimit?
    /// When the current stretch began, and how much has come since; nil before the first byte.
    private var began: ContinuousClock.Instant?
    private var byteCount: Int64 = 0

    var lasted: Duration { ContinuousClock.now - start }

    package init(_ limit: DripLimit?) { self.limit = limit }

    /// - Parameter count: how many concurrent transfers share the network.
    package mutating func pace(_ bytes: Int, among count: Int = 1) -> Pace {
        guard let limit else { return .undecided }
        byteCount += Int64(bytes)
        let now = ContinuousClock.now
        guard let began else {
            self.began = now
            return .undecided
        }
        if byteCount >= limit.byteCount / Int64(max(count, 1)) {
            (self.began, byteCount) = (now, 0)
            return .kept
        }
        return now - began > limit.time ? .dripping : .undecided
    }
}

// What a transfer's outcome means for another attempt.

extension RetryPolicy {
    /// Packs are optional, so nobody waits long for them, except for an unreachable origin, which has no objects
    /// either.
    var forPacks: RetryPolicy {
        var policy = self
        policy.reachedCountMax = 4
        policy.pullFailureCountMax = min(pullFailureCountMax, max(8, failureCountMax))
        policy.retryAfterMax = min(retryAfterMax, .seconds(5))
        return policy
    }

    /// Whether another attempt may succeed after this outcome.
    /// - Parameter status: of the final response, if its head came. An error status outweighs what happened to its
    ///   body.
    package static func isWorthRetrying(_ outcome: TransferOutcome, status: Int?) -> Bool {
        if let status, status >= 400 {
            switch outcome {
            case .finished, .failed: return isWorthRetrying(status: status)
            case .refused, .tooLarge, .cancelled: return false
            }
        }
        guard case .failed(let failure) = outcome else { return false }
        switch failure.kind {
        case .resolve, .connect, .broken, .timeout: return true
        case .security, .redirect, .malformed, .request: return false
        }
    }
}

extension TransferFailure.Kind {
    var isUnreached: Bool { self == .resolve || self == .connect }
}

extension RetryBudget {
    /// Decides about a transfer that did not bring its file.
    /// - Parameter now: seconds since 1970, for a `Retry-After` with a date.
    package mutating func decide(
        _ id: Int, _ outcome: TransferOutcome, head: TransferHead?, newByteCount: Int64,
        lasting: Duration = .zero, among count: Int = 1, within limit: Duration? = nil, now: Int64,
        using generator: inout some RandomNumberGenerator
    ) -> Decision {
        var (reason, isUnreached) = ("the answer was not what was asked for", false)
        if case .failed(let why) = outcome {
            (reason, isUnreached) = (why.message, why.kind.isUnreached)
        }
        if let status = head?.status, status >= 400 {
            reason = "the server answered with status \(status)"
        }
        let isWorth = RetryPolicy.isWorthRetrying(outcome, status: head?.status)
        return decide(
            id, isWorth ? reason : nil, isUnreached: isUnreached, retryAfter: head?["retry-after"],
            newByteCount: newByteCount, lasting: lasting, among: count, within: limit, now: now,
            using: &generator)
    }
}

/// A period in which an origin cannot be reached or refuses whatever is asked: all files wait, and one request probes it.
///
/// Otherwise a hundred concurrent files would use up a hundred attempts while a server restarts.
struct Outage {
    let until: ContinuousClock.Instant
    /// The last request begun before the outage: its failure is part of it.
    let lastID: Int

    static let budgetID = -1

    /// Whether content not yet asked for is the next probe.
    ///
    /// They alternate: what failed may be content that the origin never sends, or only the first request for it.
    var probesFresh: Bool { lastID % 2 == 0 }
}

/// Tells a failing origin from a file that it cannot send: of the latest answers, a fifth refused different files.
struct Refusals {
    private var weight = 0
    private var lastFile: Int?

    mutating func answered() { weight = max(0, weight - 1) }

    /// Whether this is the origin's failure and not the file's.
    mutating func refused(_ file: Int) -> Bool {
        if file != lastFile { weight += 4 }
        lastFile = file
        return weight >= 8
    }
}

/// What an update would cost, known before a byte is fetched.
public struct UpdateCost: Sendable, Hashable {
    /// Files to fetch.
    public var files = 0
    /// The bytes of ``files``; sizes that the format does not give count as 0.
    public var bytes: Int64 = 0
    /// Files whose content is already here.
    public var reusedFiles = 0
    /// The bytes of ``reusedFiles``.
    public var reusedBytes: Int64 = 0

    /// Creates an empty cost.
    public init() {}
}

/// What a download did.
public struct DownloadFigures: Sendable, Hashable {
    /// Files fetched.
    public var files = 0
    /// Content bytes that came over the network.
    public var bytes: Int64 = 0
    /// Bytes of content that was already here.
    public var reusedBytes: Int64 = 0
    /// Bytes that an earlier, interrupted download had left.
    public var resumedBytes: Int64 = 0
    /// Requests sent.
    public var requests = 0
    /// How long it took.
    public var duration = Duration.zero

    /// Creates empty figures.
    public init() {}
}

/// How far a download is.
public struct UpdateProgress: Sendable, Hashable {
    /// The figures so far; content that turns out to be wrong is subtracted again.
    public var figures = DownloadFigures()
    /// All files to fetch, without optional ones that the origin does not have.
    public var filesTotal = 0
    /// All bytes to fetch; files of unknown size count as they come.
    public var bytesTotal: Int64 = 0

    /// Creates a progress report.
    public init(figures: DownloadFigures, filesTotal: Int, bytesTotal: Int64) {
        self.figures = figures
        self.filesTotal = filesTotal
        self.bytesTotal = bytesTotal
    }

    init() {}

    /// Bytes that are here, including those of an earlier download; never more than ``bytesTotal``.
    package var bytes: Int64 { figures.bytes + figures.resumedBytes }
}
