import CASStore

/// Fetches the contents of a plan into the store.
final class Download: TransferRun<Download.Work, Download.Attempt> {
    struct Work: TransferJob {
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

    final class Attempt: Transfer<Work> {
        var item: IncomingContent?
        let part: StagedPart
        let question: StagedPart.Question
        let kept: [FetchedContent]
        var unchanged: FetchedContent?
        var use: ResponseUse?
        var problem: StoreError?
        var isHeadWrong = false
        var inspected: [UInt8] = []

        var wholeByteCount: Int64? {
            part.wholeByteCount ?? head?["content-range"].flatMap { ContentRange($0) }?.total
        }

        init(
            _ work: Work, _ item: consuming IncomingContent, _ part: StagedPart,
            _ question: StagedPart.Question, _ kept: [FetchedContent]
        ) {
            self.kept = kept
            self.item = consume item
            self.part = part
            self.question = question
            super.init(work)
        }
    }

    let plan: DownloadPlan
    private let origin: OriginURL
    let format: any ReleaseFormat
    let incoming: IncomingContents
    let inspect: (ReleaseFile, [UInt8]) throws(StoreError) -> Void
    /// Called with contents that are durably in the store.
    let committed: ([FetchedFile]) throws(StoreError) -> Void
    let report: (UpdateProgress) -> Void
    private static let unknownByteCountMax: Int64 = 1 << 30
    private let labels: [ObjectID: [Label]]
    /// Whether optional content that keeps arriving with other bytes counts as absent.
    var leavesOutWrongContent = false

    /// A file that restarted because the server sends no ranges, and the bytes of it that were here.
    var begunAnew: (path: String, byteCount: Int64)?
    /// The versions that this download completed.
    var completed: [String] = []

    private(set) var queue: [Work]
    var wanted: [ObjectID: DownloadPlan.Content] = [:]
    var unpacked: Set<ObjectID> = []
    private var position = 0
    /// While it lasts, only the request that probes the origin starts.
    var outage: Outage?
    var refusals = Refusals()
    var finished: [FetchedFile] = []
    /// Wrong content is subtracted again.
    var progress = UpdateProgress()
    /// Contents of optional files that the origin does not have.
    var absent: Set<ObjectID> = []
    /// The paths of ``absent``.
    var skipped: [String] = []
    /// Contents here that their server confirmed.
    var unchanged: (count: Int, byteCount: Int64) = (0, 0)
    private var progressDue = ContinuousClock.now

    init(
        _ plan: DownloadPlan, from origin: OriginURL, format: any ReleaseFormat,
        incoming: IncomingContents, options: PullOptions, isInterrupted: @escaping () -> Bool,
        inspect: @escaping (ReleaseFile, [UInt8]) throws(StoreError) -> Void,
        committed: @escaping ([FetchedFile]) throws(StoreError) -> Void
    ) {
        self.plan = plan
        self.origin = origin
        self.format = format
        self.incoming = incoming
        self.inspect = inspect
        self.committed = committed
        report = options.progress
        labels = plan.labels
        queue = plan.contents.map { content in
            let file = plan.release.files[content.file]
            return Work(
                content: content, turns: SourceTurns(file.plainSources),
                validator: file.promisedValidator)
        }
        super.init(options.budget(options.retries.afterAnswer), isInterrupted: isInterrupted)
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

    func file(of content: DownloadPlan.Content) -> ReleaseFile { plan.release.files[content.file] }

    func labels(of content: DownloadPlan.Content) -> [Label] { labels[content.name] ?? [] }

    // MARK: What to ask for

    override func next() -> NextTransfer {
        if failure == nil, let rest { return .wait(milliseconds: rest) }
        return super.next()
    }

    /// For how many milliseconds nothing may start; nil if something may.
    private var rest: Int? {
        guard let outage else { return nil }
        let now = ContinuousClock.now
        if now < outage.until { return Int((outage.until - now).milliseconds + 1) }
        return running.keys.contains { $0 > outage.lastID } ? 50 : nil
    }

    override func nextJob() -> Work? {
        let isFreshFirst = outage?.probesFresh ?? false
        if !isFreshFirst, let work = nextWaiting() { return work }
        while position < queue.count {
            defer { position += 1 }
            if !unpacked.contains(queue[position].content.name) { return queue[position] }
        }
        return isFreshFirst ? nextWaiting() : nil
    }

    var hasWork: Bool { unpacked.count < queue.count }

    func begin(_ content: DownloadPlan.Content) throws(StoreError) -> IncomingContent {
        try incoming.begin(
            content.name, byteCount: content.byteCount, isPlaceholder: content.isPlaceholder,
            labels: labels(of: content), digests: file(of: content).wantedDigests)
    }

    /// Whether content assembled from several responses will be verified as a whole.
    func isProvable(_ content: DownloadPlan.Content) -> Bool {
        !content.isPlaceholder || labels(of: content).contains(where: \.algorithm.identifiesContent)
    }

    func url(of work: Work) -> String {
        work.turns.source.map { origin.url(of: $0.reference) } ?? ""
    }

    override func begin(_ work: Work) throws(StoreError) -> (TransferRequest, Attempt)? {
        var work = work
        let content = work.content
        let file = file(of: content)
        guard let source = work.turns.source else {
            leaveOut(work)
            return nil
        }
        var item = try begin(content)
        if item.offset > 0, work.asksForWhole || file.needsInspection { try item.restart() }
        // Use the validator of the very response that the staged bytes came from.
        if item.offset > 0, work.turns.isOwnPart, let noted = item.source {
            work.validator = Validator(fieldValue: noted)
        }
        let part = StagedPart(
            byteCount: item.offset, wholeByteCount: content.byteCount,
            validator: work.validator,
            isProvable: isProvable(content))
        let question = part.question
        if case .whole = question, item.offset > 0 { try item.restart() }
        if item.offset == 0 { forgetResumed(&work) }
        if item.offset > 0, !work.isResumed, work.highWater == 0 {
            countResumed(&work, item.offset)
        }
        work.isResumed = true
        if item.offset > work.highWater { count(&work, upTo: item.offset) }
        if case .nothing = question {
            try finish(work, item, isFetched: content.byteCount == 0)
            return nil
        }
        var request = TransferRequest(id: 0, url: url(of: work))
        if case .rest(let offset, let ifRange) = question {
            request.offset = offset
            request.ifRange = ifRange
        }
        request.byteCountMax = content.byteCount ?? Self.unknownByteCountMax
        if file.needsInspection {
            request.byteCountMax = min(
                request.byteCountMax, Int64(DownloadPlanner.inspectedByteCountMax))
        }
        request.confinedFields = source.fields.map { ($0.name, $0.value) }
        if work.wrongCount > 0 { request.fields.append(("cache-control", "no-cache")) }
        let kept = kept(for: work, from: item.offset)
        if !kept.isEmpty {
            let tags = kept.compactMap(\.entityTag).joined(separator: ", ")
            request.fields.append(("if-none-match", tags))
        }
        return (request, Attempt(work, item, part, question, kept))
    }

    // MARK: Answers

    override func begin(
        _ attempt: Attempt, _ head: TransferHead
    ) throws(StoreError) -> BodyDecision {
        if !RetryPolicy.isWorthRetrying(status: head.status) { noteAnswer(to: attempt.id) }
        if head.status == 304, !attempt.kept.isEmpty {
            attempt.unchanged = Self.unchanged(head, attempt.kept)
            if attempt.unchanged == nil {
                attempt.use = .askForWhole("the server does not say which content it means (304)")
            }
            return .discard
        }
        let use = Resumption.use(of: head, for: attempt.part, asked: attempt.question)
        attempt.use = use
        switch use {
        case .append, .startOver:
            if let problem = contradiction(head, attempt) {
                attempt.problem = problem
                attempt.isHeadWrong = true
                return .refuse
            }
            attempt.job.validator = Validator(head) ?? attempt.job.validator
            attempt.job.tag = head.tag.flatMap { Validator.isStrongTag($0) ? $0 : nil }
            guard case .startOver = use else { return .take }
            attempt.job.turns.begunPart()
            let offset = attempt.item?.offset ?? 0
            if offset > 0 {
                noteBegunAnew(attempt, head, offset)
                try attempt.item?.restart()
                forgetResumed(&attempt.job)
            }
            try attempt.item?.note(source: Validator(head)?.fieldValue)
            return .take
        case .refuse(let reason):
            attempt.problem = wrong(attempt, reason)
            attempt.isHeadWrong = true
            return .refuse
        case .complete, .failure: return .discard
        case .askForWhole: return .refuse
        }
    }

    override func take(
        _ bytes: UnsafeRawBufferPointer, _ attempt: Attempt
    ) throws(StoreError) -> Bool {
        do throws(StoreError) {
            try attempt.item?.append(bytes.bytes)
        } catch {
            guard error.code == .mismatch else { throw error }
            attempt.problem = wrong(attempt, error.message)
            return false
        }
        if file(of: attempt.job.content).needsInspection {
            attempt.inspected.append(contentsOf: bytes)
        }
        figures.bytes += Int64(bytes.count)
        let newByteCount = (attempt.item?.offset ?? 0) - attempt.job.highWater
        if newByteCount > 0 {
            attempt.newByteCount += newByteCount
            count(&attempt.job, upTo: attempt.job.highWater + newByteCount)
        }
        return true
    }

    override func end(_ attempt: Attempt, _ result: TransferOutcome) throws(StoreError) {
        guard let item = attempt.item.take() else { return }
        if let problem = attempt.problem {
            if attempt.isHeadWrong, attempt.job.turns.areMany {
                try item.suspend()
            } else {
                try item.discard()
            }
            return try tryAgain(attempt.job, after: problem)
        }
        if failure != nil || result == .cancelled { return try item.suspend() }
        if let unchanged = attempt.unchanged, result == .finished {
            try item.discard()
            return try take(unchanged, for: attempt.job)
        }
        switch attempt.use {
        case .complete where result == .finished: return try finish(attempt.job, item)
        case .askForWhole(let reason):
            // The next request has no range, so it cannot fail here again.
            guard !attempt.job.asksForWhole else { throw wrong(attempt, reason) }
            return try askForWhole(attempt.job, item)
        case .append, .startOver:
            if result == .finished, attempt.question.isForRest,
                let whole = attempt.wholeByteCount,
                item.offset < whole, item.offset > attempt.part.byteCount
            {
                // A server may send less than the requested rest (RFC 9110, section 15.3.7).
                try item.suspend()
                return waiting.append(attempt.job)
            }
            if result == .finished, isEndUnproved(attempt) {
                try item.discard()
                let failure = TransferFailure(
                    .broken,
                    "nothing shows that all of \(url(of: attempt.job)) came: its server must send Content-Length or chunks, "
                        + "since the release says neither a size nor a digest")
                return try tryAgain(attempt.job, after: StoreError(failure))
            }
            guard result != .finished else {
                return try finish(attempt.job, item, attempt.inspected)
            }
            if result == .tooLarge {
                try item.discard()
                return try tryAgain(
                    attempt.job, after: wrong(attempt, "the server sends more bytes"))
            }
        default: break
        }
        try giveUpOrWait(attempt, item, result)
    }

    // MARK: Now and then

    override func tick() -> Bool {
        let now = ContinuousClock.now
        if now >= progressDue {
            progressDue = now + .milliseconds(100)
            report(progress)
        }
        return super.tick()
    }
}

/// Content in the store, and the file of the plan for which it was fetched.
struct FetchedFile {
    var content: DownloadPlan.Content
    var arrived: FetchedContent
}
