import CASStore

/// Fetches the contents of a plan: gives requests to the transport, and received content to the store.
///
/// Belongs to one thread. An error becomes ``failure`` and ends the download; arrived content is kept.
final class Download: TransferClient {
    struct Work {
        let content: DownloadPlan.Content
        var turns: SourceTurns
        var due: ContinuousClock.Instant?
        var validator: Validator?
        /// The entity tag of the last bytes, if worth keeping.
        var tag: String?
        /// The most bytes ever staged; progress counts these, so only bytes beyond them are new.
        var highWater: Int64 = 0
        /// How many of ``highWater`` an earlier pull staged.
        var resumedByteCount: Int64 = 0
        /// How often the whole content did not match the release.
        var wrongCount = 0
        var asksForWhole = false
        var isResumed = false

        var budgetID: Int { budgetIDs.lowerBound + turns.place }
        var budgetIDs: Range<Int> {
            let first = content.file * Release.sourceCountMax
            return first..<first + Release.sourceCountMax
        }

        /// Whether a part that its own source cannot continue was once kept for another source.
        var hasSparedPart = false

        /// Continues after a temporary failure, with another source unless `stays`.
        mutating func wait(until due: ContinuousClock.Instant, stays: Bool) {
            let place = turns.place
            turns.wait(until: due, stays: stays)
            if turns.place != place { forgetAnswers() }
            self.due = turns.due
        }

        mutating func leave() -> Bool {
            guard turns.leave() else { return false }
            forgetAnswers()
            wrongCount = 0
            due = turns.due
            return true
        }

        // Knowledge of one source's answers does not apply to another's.
        private mutating func forgetAnswers() {
            validator = nil
            asksForWhole = false
        }
    }

    final class Running {
        let id: Int
        var work: Work
        var arrival: Arrival?
        let part: StagedPart
        let question: StagedPart.Question
        let kept: [ArrivedContent]
        var unchanged: ArrivedContent?
        var head: TransferHead?
        var use: ResponseUse?
        var isTooSlow = false
        var trouble: StoreError?
        var isHeadWrong = false
        let highWaterBefore: Int64
        var drip: DripWatch
        var inspected: [UInt8] = []

        var wholeByteCount: Int64? {
            part.wholeByteCount
                ?? head?["content-range"].flatMap { ContentRange($0) }?.total
        }

        init(
            _ id: Int, _ work: Work, _ arrival: consuming Arrival, _ part: StagedPart,
            _ question: StagedPart.Question, _ kept: [ArrivedContent], _ drip: DripWatch
        ) {
            self.id = id
            self.work = work
            self.kept = kept
            self.drip = drip
            highWaterBefore = work.highWater
            self.arrival = consume arrival
            self.part = part
            self.question = question
        }
    }

    let plan: DownloadPlan
    private let origin: OriginURL
    let format: any ReleaseFormat
    let arrivals: Arrivals
    let inspect: (ReleaseFile, [UInt8]) throws(StoreError) -> Void
    /// Called with contents that are durably in the store.
    let settled: ([ArrivedFile]) throws(StoreError) -> Void
    let isInterrupted: () -> Bool
    let report: (UpdateProgress) -> Void
    private static let unknownByteCountMax: Int64 = 1 << 30
    private let labels: [ObjectID: [Label]]
    private(set) var dripLimit: DripLimit?
    /// Whether optional content that keeps arriving with other bytes counts as absent.
    var leavesOutWrongContent = false

    /// A file that restarted because the server sends no ranges, and the bytes of it that were here.
    var begunAnew: (path: String, byteCount: Int64)?
    /// The versions that this download completed.
    var completed: [String] = []

    private var queue: [Work]
    var wanted: [ObjectID: DownloadPlan.Content] = [:]
    var unpacked: Set<ObjectID> = []
    private var position = 0
    var waiting: [Work] = []
    var running: [Int: Running] = [:]
    private(set) var lastID = 0
    /// While it lasts, only the request that probes the origin starts.
    var outage: Outage?
    var refusals = Refusals()
    var finished: [ArrivedFile] = []
    var budget: RetryBudget
    var generator = SystemRandomNumberGenerator()
    var failure: StoreError?
    /// Wrong content is subtracted again.
    var progress = UpdateProgress()
    /// Includes content that turned out to be wrong.
    var figures = DownloadFigures()
    /// Contents of optional files that the origin does not have.
    var absent: Set<ObjectID> = []
    /// The paths of ``absent``.
    var skipped: [String] = []
    /// Contents here that their server confirmed.
    var unchanged: (count: Int, byteCount: Int64) = (0, 0)
    private var progressDue = ContinuousClock.now

    init(
        _ plan: DownloadPlan, from origin: OriginURL, format: any ReleaseFormat,
        arrivals: Arrivals, options: PullOptions, isInterrupted: @escaping () -> Bool,
        inspect: @escaping (ReleaseFile, [UInt8]) throws(StoreError) -> Void,
        settled: @escaping ([ArrivedFile]) throws(StoreError) -> Void
    ) {
        self.plan = plan
        self.origin = origin
        self.format = format
        self.arrivals = arrivals
        self.inspect = inspect
        self.settled = settled
        self.isInterrupted = isInterrupted
        report = options.progress
        budget = options.budget(options.retries.afterAnswer)
        labels = plan.labels
        queue = plan.contents.map { content in
            let file = plan.release.files[content.file]
            return Work(
                content: content, turns: SourceTurns(file.plainSources),
                validator: file.promisedValidator)
        }
        progress.filesTotal = plan.contents.count
        progress.bytesTotal = plan.byteCount
        for content in plan.contents {
            // A file that the format inspects must come on its own, not in a pack.
            let file = plan.release.files[content.file]
            if let address = file.address, !file.needsInspection { wanted[address] = content }
        }
    }

    /// Requests the contents of a castree origin from their epochs; call before the first request.
    func locate(_ epoch: (ObjectID) -> Int64) {
        for place in queue.indices where !unpacked.contains(queue[place].content.name) {
            let address = queue[place].content.name
            let source = OriginLayout.path(.object, address, in: epoch(address))
            queue[place].turns = SourceTurns([ContentSource(source)])
        }
    }

    /// An error becomes ``failure``; throws only what is wrong with the transport itself.
    func run(over transport: any Transport) throws(StoreError) {
        dripLimit = DripLimit(budget.policy, over: transport)
        try transport.run(self)
    }

    func file(of content: DownloadPlan.Content) -> ReleaseFile { plan.release.files[content.file] }

    func labels(of content: DownloadPlan.Content) -> [Label] { labels[content.name] ?? [] }

    // MARK: What to ask for

    func next() -> NextTransfer {
        if failure == nil, let rest { return .wait(milliseconds: rest) }
        while failure == nil {
            guard let work = nextWork() else { break }
            do throws(StoreError) {
                if let request = try begin(work) { return .request(request) }
            } catch {
                failure = error
            }
        }
        guard failure == nil, let due = waiting.compactMap(\.due).min() else { return .nothing }
        return .wait(milliseconds: Int(max(1, (due - .now).milliseconds + 1)))
    }

    /// For how many milliseconds nothing may start; nil if something may.
    private var rest: Int? {
        guard let outage else { return nil }
        let now = ContinuousClock.now
        if now < outage.until { return Int((outage.until - now).milliseconds + 1) }
        return running.keys.contains { $0 > outage.lastID } ? 50 : nil
    }

    private func nextWork() -> Work? {
        let isFreshFirst = outage?.probesFresh ?? false
        if !isFreshFirst, let work = nextWaiting() { return work }
        while position < queue.count {
            defer { position += 1 }
            if !unpacked.contains(queue[position].content.name) { return queue[position] }
        }
        return isFreshFirst ? nextWaiting() : nil
    }

    private func nextWaiting() -> Work? {
        if waiting.isEmpty { return nil }
        let now = ContinuousClock.now
        let ready = waiting.firstIndex { $0.due.map { $0 <= now } ?? true }
        return ready.map { waiting.remove(at: $0) }
    }

    var hasWork: Bool { unpacked.count < queue.count }

    func begin(_ content: DownloadPlan.Content) throws(StoreError) -> Arrival {
        try arrivals.begin(
            content.name, byteCount: content.byteCount, isProvisional: content.isProvisional,
            labels: labels(of: content), digests: file(of: content).wantedDigests)
    }

    /// Whether content assembled from several responses will be verified as a whole.
    func isProvable(_ content: DownloadPlan.Content) -> Bool {
        !content.isProvisional
            || labels(of: content).contains(where: \.algorithm.identifiesContent)
    }

    func url(of work: Work) -> String {
        work.turns.source.map { origin.url(of: $0.reference) } ?? ""
    }

    private func begin(_ work: Work) throws(StoreError) -> TransferRequest? {
        var work = work
        let content = work.content
        let file = file(of: content)
        guard let source = work.turns.source else {
            leaveOut(work)
            return nil
        }
        var arrival = try begin(content)
        if arrival.offset > 0, work.asksForWhole || file.needsInspection { try arrival.restart() }
        // Use the validator of the very response that the staged bytes came from.
        if arrival.offset > 0, work.turns.isOwnPart, let noted = arrival.source {
            work.validator = Validator(fieldValue: noted)
        }
        let part = StagedPart(
            byteCount: arrival.offset, wholeByteCount: content.byteCount,
            validator: work.validator,
            isProvable: isProvable(content))
        let question = part.question
        if case .whole = question, arrival.offset > 0 { try arrival.restart() }
        if arrival.offset == 0 { forgetResumed(&work) }
        if arrival.offset > 0, !work.isResumed, work.highWater == 0 {
            countResumed(&work, arrival.offset)
        }
        work.isResumed = true
        if arrival.offset > work.highWater { count(&work, upTo: arrival.offset) }
        if case .nothing = question {
            try finish(work, arrival, isFetched: content.byteCount == 0)
            return nil
        }
        lastID += 1
        var request = TransferRequest(id: lastID, url: url(of: work))
        if case .rest(let offset, let ifRange) = question {
            request.offset = offset
            request.ifRange = ifRange
        }
        request.byteCountMax = content.byteCount ?? Self.unknownByteCountMax
        if file.needsInspection {
            request.byteCountMax = min(request.byteCountMax, Int64(Pull.inspectedByteCountMax))
        }
        request.confinedFields = source.fields.map { ($0.name, $0.value) }
        if work.wrongCount > 0 { request.fields.append(("cache-control", "no-cache")) }
        let kept = kept(for: work, from: arrival.offset)
        if !kept.isEmpty {
            let tags = kept.compactMap(\.entityTag).joined(separator: ", ")
            request.fields.append(("if-none-match", tags))
        }
        running[lastID] = Running(
            lastID, work, arrival, part, question, kept, DripWatch(dripLimit))
        figures.requests += 1
        return request
    }

    // MARK: Progress

    /// Counts new bytes; if the release gives no size, they raise the total too.
    func count(_ work: inout Work, upTo highWater: Int64) {
        progress.figures.bytes += highWater - work.highWater
        if work.content.byteCount == nil { progress.bytesTotal += highWater - work.highWater }
        work.highWater = highWater
    }

    private func countResumed(_ work: inout Work, _ byteCount: Int64) {
        figures.resumedBytes += byteCount
        work.resumedByteCount = byteCount
        count(&work, upTo: byteCount)
        // They did not arrive in this pull.
        progress.figures.bytes -= byteCount
        progress.figures.resumedBytes += byteCount
    }

    /// Subtracts bytes staged by an earlier pull that must be fetched again.
    func forgetResumed(_ work: inout Work) {
        figures.resumedBytes -= work.resumedByteCount
        progress.figures.bytes += work.resumedByteCount
        progress.figures.resumedBytes -= work.resumedByteCount
        work.resumedByteCount = 0
    }

    func takeBack(_ work: inout Work) {
        forgetResumed(&work)
        count(&work, upTo: 0)
    }

    /// Sets the total to what has arrived plus what must still be fetched one by one.
    func restOfProgress() {
        var rest: Int64 = 0
        for work in queue where !unpacked.contains(work.content.name) {
            rest = rest.addingClamped(work.content.byteCount ?? 0)
        }
        progress.bytesTotal = progress.bytes.addingClamped(rest)
    }

    // MARK: Now and then

    func tick() -> Bool {
        let now = ContinuousClock.now
        if now >= progressDue {
            progressDue = now + .milliseconds(100)
            report(progress)
        }
        if failure == nil, isInterrupted() {
            failure = .interruptedPull
        }
        return failure == nil
    }
}

/// Content in the store, and the file of the plan for which it was fetched.
struct ArrivedFile {
    var content: DownloadPlan.Content
    var arrived: ArrivedContent
}
