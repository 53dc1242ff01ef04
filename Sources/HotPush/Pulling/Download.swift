import CASStore

/// Fetches the contents of a plan: gives the transport its requests, and the store what comes.
///
/// Belongs to one thread. If something cannot be fetched, the download ends with ``failure``;
/// everything that came is kept, whatever happens to the rest.
final class Download: TransferClient {
    /// A content that is under way or waits for its turn.
    struct Work {
        let content: DownloadPlan.Content
        var turns: SourceTurns
        var due: ContinuousClock.Instant?
        /// A strong validator of the staged bytes.
        var validator: Validator?
        /// The entity tag of the bytes that came last, if it is worth keeping.
        var tag: String?
        /// The most bytes of it that were ever staged: only bytes beyond that are new.
        ///
        /// The progress counts this many.
        var highWater: Int64 = 0
        /// How many of these an earlier pull staged.
        var resumedByteCount: Int64 = 0
        /// How often the whole content was not what the release says.
        var wrongCount = 0
        /// Whether the last answer to a request for the rest was useless.
        var asksForWhole = false
        var isResumed = false

        /// The budget's number for the source.
        var budgetID: Int { budgetIDs.lowerBound + turns.place }
        /// The budget's numbers for all sources.
        var budgetIDs: Range<Int> {
            let first = content.file * Release.sourceCountMax
            return first..<first + Release.sourceCountMax
        }

        /// Whether a part that is useless to its own source was once kept for another one.
        var hasSparedPart = false

        /// Continues after a temporary failure, with another source unless it stays.
        mutating func wait(until due: ContinuousClock.Instant, stays: Bool) {
            let place = turns.place
            turns.wait(until: due, stays: stays)
            if turns.place != place { forgetAnswers() }
            self.due = turns.due
        }

        /// Continues after a permanent failure; tells whether there is another source.
        mutating func leave() -> Bool {
            guard turns.leave() else { return false }
            forgetAnswers()
            wrongCount = 0
            due = turns.due
            return true
        }

        /// What is known of one source's answers does not hold for another's.
        private mutating func forgetAnswers() {
            validator = nil
            asksForWhole = false
        }
    }

    /// A transfer under way, and the content it fills.
    final class Running {
        let id: Int
        var work: Work
        var arrival: Arrival?
        let part: StagedPart
        let question: StagedPart.Question
        /// What it was asked about: the answer may be that one of them has not changed.
        let kept: [ArrivedContent]
        /// The one that has not.
        var unchanged: ArrivedContent?
        var head: TransferHead?
        var use: ResponseUse?
        var isTooSlow = false
        var trouble: StoreError?
        /// Whether that was known before a byte came.
        var isHeadWrong = false
        /// The most bytes of it that had ever been staged when this transfer began.
        let highWaterBefore: Int64
        var drip: DripWatch
        var inspected: [UInt8] = []

        /// The file's size, from the release or from the part that came.
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
    /// The largest file whose size the release does not give.
    private static let unknownByteCountMax: Int64 = 1 << 30
    /// What each content must match: the labels of all its files.
    private let labels: [ObjectID: [Label]]
    private(set) var dripLimit: DripLimit?
    /// Whether optional content that keeps coming with other bytes counts as absent.
    var leavesOutWrongContent = false

    /// A file that came anew from its beginning because the server sends no parts, and how much of it was here.
    var begunAnew: (path: String, byteCount: Int64)?
    /// The versions that what has come made complete.
    var completed: [String] = []

    private var queue: [Work]
    /// What packs may bring, by address.
    var wanted: [ObjectID: DownloadPlan.Content] = [:]
    /// What has come out of packs.
    var unpacked: Set<ObjectID> = []
    private var position = 0
    var waiting: [Work] = []
    var running: [Int: Running] = [:]
    private(set) var lastID = 0
    /// Nothing is begun while it lasts, but for the request that finds out.
    var outage: Outage?
    var finished: [ArrivedFile] = []
    var budget: RetryBudget
    var generator = SystemRandomNumberGenerator()
    /// What ended the download early; nil if nothing did.
    var failure: StoreError?
    /// How far it is; what turns out to be wrong is subtracted again.
    var progress = UpdateProgress()
    /// What it did, including what turned out to be wrong.
    var figures = DownloadFigures()
    /// Contents of optional files that the origin does not have.
    var absent: Set<ObjectID> = []
    /// The paths of these files.
    var skipped: [String] = []
    /// Contents that are here already, as their server says.
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
            // What a format must look at comes alone.
            let file = plan.release.files[content.file]
            if let address = file.address, !file.needsInspection { wanted[address] = content }
        }
    }

    /// Has contents of a castree origin come from the epochs in which they stand; before the first is asked for.
    func locate(_ epoch: (ObjectID) -> Int64) {
        for place in queue.indices where !unpacked.contains(queue[place].content.name) {
            let address = queue[place].content.name
            let source = OriginLayout.path(.object, address, in: epoch(address))
            queue[place].turns = SourceTurns([ContentSource(source)])
        }
    }

    /// Fetches; if it ends early, ``failure`` tells why.
    /// - Throws: what is wrong with the transport itself.
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

    /// How many milliseconds nothing is begun; nil if something may be.
    private var rest: Int? {
        guard let outage else { return nil }
        let now = ContinuousClock.now
        if now < outage.until { return Int((outage.until - now).milliseconds + 1) }
        return running.keys.contains { $0 > outage.lastID } ? 50 : nil
    }

    private func nextWork() -> Work? {
        if !waiting.isEmpty {
            let now = ContinuousClock.now
            if let ready = waiting.firstIndex(where: { $0.due.map { $0 <= now } ?? true }) {
                return waiting.remove(at: ready)
            }
        }
        while position < queue.count {
            defer { position += 1 }
            if !unpacked.contains(queue[position].content.name) { return queue[position] }
        }
        return nil
    }

    var hasWork: Bool { unpacked.count < queue.count }

    /// Begins a content, or continues what an earlier attempt staged.
    func begin(_ content: DownloadPlan.Content) throws(StoreError) -> Arrival {
        try arrivals.begin(
            content.name, byteCount: content.byteCount, isProvisional: content.isProvisional,
            labels: labels(of: content), digests: file(of: content).wantedDigests)
    }

    /// Whether proof will show that the parts of a content from several responses fit together.
    func isProvable(_ content: DownloadPlan.Content) -> Bool {
        !content.isProvisional
            || labels(of: content).contains(where: \.algorithm.identifiesContent)
    }

    func url(of work: Work) -> String {
        work.turns.source.map { origin.url(of: $0.reference) } ?? ""
    }

    /// - Returns: nil if everything was already staged.
    private func begin(_ work: Work) throws(StoreError) -> TransferRequest? {
        var work = work
        let content = work.content
        let file = file(of: content)
        guard let source = work.turns.source else {
            leaveOut(work)
            return nil
        }
        var arrival = try begin(content)
        // A file that is inspected must be whole in memory.
        if arrival.offset > 0, work.asksForWhole || file.needsInspection { try arrival.restart() }
        // From the very response that the staged bytes came from.
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

    /// Counts bytes that are here and were not before.
    ///
    /// If the release does not give the size, they also change the total.
    func count(_ work: inout Work, upTo highWater: Int64) {
        progress.figures.bytes += highWater - work.highWater
        if work.content.byteCount == nil { progress.bytesTotal += highWater - work.highWater }
        work.highWater = highWater
    }

    private func countResumed(_ work: inout Work, _ byteCount: Int64) {
        figures.resumedBytes += byteCount
        work.resumedByteCount = byteCount
        count(&work, upTo: byteCount)
        // They did not come now.
        progress.figures.bytes -= byteCount
        progress.figures.resumedBytes += byteCount
    }

    /// What an earlier pull had staged is of no use: it must come again.
    func forgetResumed(_ work: inout Work) {
        figures.resumedBytes -= work.resumedByteCount
        progress.figures.bytes += work.resumedByteCount
        progress.figures.resumedBytes -= work.resumedByteCount
        work.resumedByteCount = 0
    }

    /// Subtracts what was counted for content that turned out to be wrong.
    func takeBack(_ work: inout Work) {
        forgetResumed(&work)
        count(&work, upTo: 0)
    }

    /// From here on the total is what has come and what must still come one by one.
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

/// A content that is in the store, and the file of the plan for which it was fetched.
struct ArrivedFile {
    var content: DownloadPlan.Content
    var arrived: ArrivedContent
}
