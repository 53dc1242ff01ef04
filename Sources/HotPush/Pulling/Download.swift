import CASStore

/// Fetches the contents of a plan: gives the transport its requests, and the store what comes.
///
/// Belongs to one thread. What cannot be had ends the download with ``failure``; everything that came
/// is kept, whatever happens to the rest.
final class Download: TransferClient {
    /// A content under way or waiting for its turn.
    struct Work {
        let content: DownloadPlan.Content
        /// Where it can be had.
        var turns: SourceTurns
        /// Not before this moment.
        var due: ContinuousClock.Instant?
        /// A strong validator of the bytes that are staged.
        var validator: Validator?
        /// How many bytes of it have been staged at some time: more than that are new.
        ///
        /// So many the progress counts.
        var highWater: Int64 = 0
        /// How many of these an earlier pull had staged.
        var resumedByteCount: Int64 = 0
        /// How often whole content was not what the release says.
        var wrongCount = 0
        /// Whether the last answer to a request for the rest was of no use.
        var asksForWhole = false
        var isResumed = false

        /// What the budget knows the source by.
        var budgetID: Int { budgetIDs.lowerBound + turns.place }
        /// What it knows all sources by.
        var budgetIDs: Range<Int> {
            let first = content.file * Release.sourceCountMax
            return first..<first + Release.sourceCountMax
        }

        /// Whether a part was once kept from a source that has no use for it, for another one.
        var hasSparedPart = false

        /// Goes on after a failure that may pass, with another source unless it stays.
        mutating func wait(until due: ContinuousClock.Instant, stays: Bool) {
            let place = turns.place
            turns.wait(until: due, stays: stays)
            if turns.place != place { forgetAnswers() }
            self.due = turns.due
        }

        /// Goes on after a failure for good; whether there is another source.
        mutating func leave() -> Bool {
            guard turns.leave() else { return false }
            forgetAnswers()
            wrongCount = 0
            due = turns.due
            return true
        }

        /// What is known of one source's answers is not said of another's.
        private mutating func forgetAnswers() {
            validator = nil
            asksForWhole = false
        }
    }

    /// A transfer under way, and the content it fills.
    final class Running {
        var work: Work
        var arrival: Arrival?
        let part: StagedPart
        let question: StagedPart.Question
        var head: TransferHead?
        var use: ResponseUse?
        var isTooSlow = false
        /// What is wrong with what came.
        var trouble: StoreError?
        /// Whether that was known before a byte of it came.
        var isHeadWrong = false
        /// How many bytes of it had been staged at some time when this transfer began.
        let highWaterBefore: Int64
        var drip = DripWatch()
        /// The bytes of a file that the format looks at.
        var inspected: [UInt8] = []

        /// How large the file is: the release says it, or the part that came.
        var wholeByteCount: Int64? {
            part.wholeByteCount
                ?? head?["content-range"].flatMap { ContentRange($0) }?.total
        }

        init(
            _ work: Work, _ arrival: consuming Arrival, _ part: StagedPart,
            _ question: StagedPart.Question
        ) {
            self.work = work
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
    /// Called with contents that are in the store, durably.
    let settled: ([ArrivedFile]) throws(StoreError) -> Void
    let isInterrupted: () -> Bool
    let report: (UpdateProgress) -> Void
    private let unknownByteCountMax: Int64
    /// What each content must match: the labels of all its files.
    private let labels: [ObjectID: [Label]]
    private(set) var dripLimit: DripLimit?
    /// Whether optional content that keeps coming with other bytes is left out, as if it were absent.
    var leavesOutWrongContent = false

    private var queue: [Work]
    private var position = 0
    var waiting: [Work] = []
    var running: [Int: Running] = [:]
    private var lastID = 0
    var finished: [ArrivedFile] = []
    var budget: RetryBudget
    var generator = SystemRandomNumberGenerator()
    /// What ended the download; nil if nothing did.
    var failure: StoreError?
    /// How far it is: what turns out wrong is taken back.
    var progress = UpdateProgress()
    /// What it did, with what turned out wrong.
    var figures = DownloadFigures()
    /// Contents of optional files that the origin does not have.
    var absent: Set<ObjectID> = []
    /// The paths of these files.
    var skipped: [String] = []
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
        unknownByteCountMax = options.fileByteCountMax
        budget = RetryBudget(options.retries)
        labels = plan.labels
        queue = plan.contents.map { content in
            let file = plan.release.files[content.file]
            return Work(
                content: content, turns: SourceTurns(file.plainSources),
                validator: file.promisedValidator)
        }
        progress.filesTotal = plan.contents.count
        progress.bytesTotal = plan.byteCount
    }

    /// Fetches; what ends it early is ``failure``.
    /// - Throws: what is the matter with the transport itself.
    func run(over transport: any Transport) throws(StoreError) {
        dripLimit = DripLimit(budget.policy, over: transport)
        try transport.run(self)
    }

    func file(of content: DownloadPlan.Content) -> ReleaseFile { plan.release.files[content.file] }

    private func labels(of content: DownloadPlan.Content) -> [Label] { labels[content.name] ?? [] }

    // MARK: What to ask for

    func next() -> NextTransfer {
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

    private func nextWork() -> Work? {
        if !waiting.isEmpty {
            let now = ContinuousClock.now
            if let ready = waiting.firstIndex(where: { $0.due.map { $0 <= now } ?? true }) {
                return waiting.remove(at: ready)
            }
        }
        guard position < queue.count else { return nil }
        defer { position += 1 }
        return queue[position]
    }

    /// Whether parts of a content from several responses will be proved to fit together.
    func isProvable(_ content: DownloadPlan.Content) -> Bool {
        !content.isProvisional
            || labels(of: content).contains(where: \.algorithm.identifiesContent)
    }

    /// The absolute URL that is asked for a content.
    func url(of work: Work) -> String {
        work.turns.source.map { origin.url(of: $0.reference) } ?? ""
    }

    /// - Returns: nil if everything was staged already.
    private func begin(_ work: Work) throws(StoreError) -> TransferRequest? {
        var work = work
        let content = work.content
        let file = file(of: content)
        guard let source = work.turns.source else {
            leaveOut(work)
            return nil
        }
        var arrival = try arrivals.begin(
            content.name, byteCount: content.byteCount, isProvisional: content.isProvisional,
            labels: labels(of: content), digests: file.wantedDigests)
        // What is looked at must be whole in memory.
        if arrival.offset > 0, work.asksForWhole || file.needsInspection { try arrival.restart() }
        // Of the very response that the staged bytes came from.
        if arrival.offset > 0, work.turns.isOwnPart, let noted = arrival.source {
            work.validator = Validator(fieldValue: noted)
        }
        let part = StagedPart(
            byteCount: arrival.offset, wholeByteCount: content.byteCount,
            validator: work.validator,
            isProvable: isProvable(content))
        let question = part.question
        if case .whole = question, arrival.offset > 0 { try arrival.restart() }
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
        request.byteCountMax = content.byteCount ?? unknownByteCountMax
        if file.needsInspection {
            request.byteCountMax = min(request.byteCountMax, Int64(Pull.inspectedByteCountMax))
        }
        request.confinedFields = source.fields.map { ($0.name, $0.value) }
        if work.wrongCount > 0 { request.fields.append(("cache-control", "no-cache")) }
        running[lastID] = Running(work, arrival, part, question)
        figures.requests += 1
        return request
    }

    // MARK: Progress

    /// Counts bytes that are here and were not before.
    ///
    /// Where the release does not tell the size, they are news about the total, too.
    func count(_ work: inout Work, upTo highWater: Int64) {
        progress.figures.bytes += highWater - work.highWater
        if work.content.byteCount == nil { progress.bytesTotal += highWater - work.highWater }
        work.highWater = highWater
    }

    /// Counts bytes that an earlier pull had staged.
    private func countResumed(_ work: inout Work, _ byteCount: Int64) {
        figures.resumedBytes += byteCount
        work.resumedByteCount = byteCount
        count(&work, upTo: byteCount)
        // They did not come now.
        progress.figures.bytes -= byteCount
        progress.figures.resumedBytes += byteCount
    }

    /// Takes back what was counted of content that turned out wrong.
    func takeBack(_ work: inout Work) {
        progress.figures.bytes += work.resumedByteCount
        progress.figures.resumedBytes -= work.resumedByteCount
        work.resumedByteCount = 0
        count(&work, upTo: 0)
    }

    // MARK: Now and then

    func tick() -> Bool {
        let now = ContinuousClock.now
        if now >= progressDue {
            progressDue = now + .milliseconds(100)
            report(progress)
        }
        if failure == nil, isInterrupted() {
            failure = Pull.interruption
        }
        return failure == nil
    }
}

/// A content that is in the store, and the file of the plan that it was fetched for.
struct ArrivedFile {
    var content: DownloadPlan.Content
    var arrived: Arrived
}
