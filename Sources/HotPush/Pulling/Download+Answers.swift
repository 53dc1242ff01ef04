import CASStore
import VersionTree

// What becomes of answers: content in the store, another attempt, or an error.

extension Download {
    /// What was under way when an outage began says nothing of its end.
    func noteAnswer(to id: Int) {
        refusals.answered()
        guard let outage, id > outage.lastID else { return }
        self.outage = nil
        budget.forget(Outage.budgetID..<Outage.budgetID + 1)
    }

    func noteBegunAnew(_ attempt: Attempt, _ head: TransferHead, _ byteCount: Int64) {
        guard begunAnew == nil, attempt.question.isForRest,
            attempt.part.validator.map({ $0 == Validator(head) }) ?? true
        else { return }
        begunAnew = (file(of: attempt.job.content).path.description, byteCount)
    }

    func contradiction(_ head: TransferHead, _ attempt: Attempt) -> StoreError? {
        guard let tag = head["etag"] else { return nil }
        for check in file(of: attempt.job.content).checks {
            guard let expected = check.entityTag, let named = ContentCheck.digits(in: tag),
                named != expected
            else { continue }
            return format.error(.fileMismatch(file(of: attempt.job.content)))
        }
        return nil
    }

    func wrong(_ attempt: Attempt, _ reason: String) -> StoreError {
        format.error(.fileDiffers(file(of: attempt.job.content), reason))
    }

    func askForWhole(_ work: Work, _ item: consuming IncomingContent) throws(StoreError) {
        var work = work
        // Another source may continue from these bytes.
        if isProvable(work.content), work.turns.areMany, !work.hasSparedPart {
            try item.suspend()
            work.hasSparedPart = true
            work.wait(until: .now, stays: false)
            return waiting.append(work)
        }
        try item.discard()
        work.asksForWhole = true
        work.validator = nil
        waiting.append(work)
    }

    /// Whether neither the answer nor the release would reveal a body that was cut off.
    func isEndUnproved(_ attempt: Attempt) -> Bool {
        let content = attempt.job.content
        return attempt.head?.isUnframed == true && attempt.wholeByteCount == nil
            && content.isPlaceholder && labels(of: content).isEmpty
            && !file(of: content).isProvable
    }

    func giveUpOrWait(
        _ attempt: Attempt, _ item: consuming IncomingContent, _ result: TransferOutcome
    ) throws(StoreError) {
        if case .failed(let failure) = result, failure.kind == .malformed {
            // A proxy that alters content may pass the origin's own bytes if asked for them.
            try item.suspend()
            return try tryAgain(attempt.job, after: StoreError(failure))
        }
        var work = attempt.job
        let hasPart = item.offset > 0
        try item.suspend()
        if isOfOrigin(attempt, result) { return try waitForOrigin(attempt, result) }
        let decision = decide(attempt, result)
        if case .again(let delay) = decision {
            let isOfUse = attempt.newByteCount >= 64 << 10 || (hasPart && !isProvable(work.content))
            work.wait(until: .now + delay, stays: isOfUse && !attempt.isTooSlow)
            return waiting.append(work)
        }
        if decision != .pullSpent, work.leave() { return waiting.append(work) }
        if let status = attempt.head?.status, [403, 404, 410].contains(status),
            file(of: work.content).isOptional
        {
            return leaveOut(work)
        }
        throw problem(attempt, result)
    }

    private func problem(_ attempt: Attempt, _ ended: TransferOutcome) -> StoreError {
        let url = url(of: attempt.job)
        if let status = attempt.head?.status, status >= 400 {
            return format.error(.fileStatus(file(of: attempt.job.content), status), at: url)
        }
        guard case .failed(let problem) = ended else {
            return StoreError(.network, "unable to fetch \(url)")
        }
        return StoreError(problem)
    }

    /// Whether this failure is the origin's, whichever file was requested; other sources may work meanwhile.
    private func isOfOrigin(_ attempt: Attempt, _ ended: TransferOutcome) -> Bool {
        let status = attempt.head?.status
        guard !attempt.job.turns.areMany, status ?? 400 >= 400,
            RetryPolicy.isWorthRetrying(ended, status: status)
        else { return false }
        if case .failed(let failure) = ended, failure.kind.isUnreached { return true }
        return outage != nil || refusals.refused(attempt.job.budgetID)
    }

    /// Makes all files wait; the outage is one failure, however many requests it refuses.
    private func waitForOrigin(_ attempt: Attempt, _ ended: TransferOutcome) throws(StoreError) {
        if outage.map({ attempt.id > $0.lastID }) ?? true {
            // The refusals that showed it were not those of their files.
            if outage == nil { budget.forgetAll() }
            let decision = budget.decide(
                Outage.budgetID, ended, head: attempt.head, newByteCount: 0, now: secondsNow(),
                using: &generator)
            guard case .again(let delay) = decision else { throw problem(attempt, ended) }
            outage = Outage(until: .now + delay, lastID: lastID)
        }
        var work = attempt.job
        work.due = outage?.until
        waiting.append(work)
    }

    /// Retries content that does not match the release: the origin may be between two versions.
    func tryAgain(_ work: Work, after problem: StoreError) throws(StoreError) {
        var work = work
        work.wrongCount += 1
        work.validator = nil
        takeBack(&work)
        guard work.wrongCount <= Self.wrongCountMax else {
            if work.leave() { return waiting.append(work) }
            guard leavesOutWrongContent, file(of: work.content).isOptional else { throw problem }
            return leaveOut(work)
        }
        let delay = budget.policy.delay(failureCount: work.wrongCount, using: &generator)
        work.due = .now + delay
        waiting.append(work)
    }

    private static let wrongCountMax = 3

    func leaveOut(_ work: Work) {
        var work = work
        takeBack(&work)
        budget.forget(work.budgetIDs)
        progress.filesTotal -= 1
        progress.bytesTotal -= work.content.byteCount ?? 0
        absent.insert(work.content.name)
        skipped.append(file(of: work.content).path.description)
    }

    func finish(
        _ work: Work, _ item: consuming IncomingContent, _ inspected: [UInt8] = [],
        isFetched: Bool = true
    ) throws(StoreError) {
        let file = file(of: work.content)
        if file.needsInspection {
            do throws(StoreError) {
                try inspect(file, inspected)
            } catch {
                try item.discard()
                return try tryAgain(work, after: error)
            }
        }
        let arrived: IncomingObject
        do throws(StoreError) {
            arrived = try item.finish { (digests) throws(StoreError) in
                try file.isProved(by: digests)
            }
        } catch {
            guard error.code == .mismatch else { throw error }
            var problem = format.error(.fileMismatch(file))
            problem.cause = error.cause
            return try tryAgain(work, after: problem)
        }
        budget.forget(work.budgetIDs)
        budget.progressed(work.budgetID)
        if isFetched { figures.files += 1 }
        try add(work.content, arrived.object, file.isKnownByTag ? work.tag : nil)
    }

    /// - Parameter tag: the entity tag to keep with the version.
    func add(
        _ content: DownloadPlan.Content, _ object: StoredObject, _ tag: String? = nil
    ) throws(StoreError) {
        progress.figures.files += 1
        let arrived = FetchedContent(
            address: object.address, byteCount: object.byteCount, entityTag: tag)
        finished.append(FetchedFile(content: content, arrived: arrived))
        // Content without a known address survives a kill only once the manifest names it.
        let isLarge =
            content.isPlaceholder
            ? incoming.uncommittedByteCount > 8 << 20 || incoming.uncommittedCount >= 256
            : incoming.uncommittedByteCount > Self.batchByteCountMax
                || incoming.uncommittedCount >= Self.batchCountMax
        if isLarge { try commit() }
    }

    /// The bytes that become durable together: a power cut loses at most this much, a killed process nothing.
    private static let batchByteCountMax: Int64 = 64 << 20
    /// Each batch scans the whole index and syncs twice, so a batch holds many small files.
    private static let batchCountMax = 16 * 1024

    func commit() throws(StoreError) {
        completed += try incoming.commit()
        guard !finished.isEmpty else { return }
        let batch = finished
        finished.removeAll(keepingCapacity: true)
        try committed(batch)
    }

    // MARK: Progress

    /// Counts new bytes; if the release gives no size, they raise the total too.
    func count(_ work: inout Work, upTo highWater: Int64) {
        progress.figures.bytes += highWater - work.highWater
        if work.content.byteCount == nil { progress.bytesTotal += highWater - work.highWater }
        work.highWater = highWater
    }

    func countResumed(_ work: inout Work, _ byteCount: Int64) {
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

    // MARK: Content in the store that the server confirms by answering 304 to `If-None-Match`

    /// Stored content to ask about, if the whole of it is requested.
    func kept(for work: Work, from offset: Int64) -> [FetchedContent] {
        offset == 0 && !work.asksForWhole && work.wrongCount == 0 ? work.content.kept : []
    }

    /// The content that a 304 confirms; nil if it does not say which (RFC 9110, section 15.4.5).
    static func unchanged(_ head: TransferHead, _ kept: [FetchedContent]) -> FetchedContent? {
        guard head.status == 304 else { return nil }
        guard let tag = head["etag"] else { return kept.count == 1 ? kept.first : nil }
        return kept.first { $0.entityTag?.utf8.elementsEqual(tag.utf8) == true }
    }

    func take(_ one: FetchedContent, for work: Work) throws(StoreError) {
        guard try incoming.rely(on: one.address) else {
            // A collection has deleted it meanwhile.
            var work = work
            work.asksForWhole = true
            return waiting.append(work)
        }
        budget.forget(work.budgetIDs)
        progress.filesTotal -= 1
        progress.bytesTotal -= work.content.byteCount ?? 0
        unchanged.count += 1
        unchanged.byteCount += one.byteCount
        finished.append(FetchedFile(content: work.content, arrived: one))
    }

    // MARK: Content that comes out of packs, or is already staged

    var missing: (count: Int, byteCount: Int64) {
        (wanted.count, wanted.values.reduce(0) { $0.addingClamped($1.byteCount ?? 0) })
    }

    func isMissing(_ address: ObjectID) -> Bool { wanted[address] != nil }

    func begin(_ object: Reference) throws(StoreError) -> IncomingContent? {
        guard let content = wanted[object.address] else { return nil }
        return try begin(content)
    }

    /// Deletes the object and returns false if its bytes do not match.
    func finish(_ address: ObjectID, _ item: consuming IncomingContent) throws(StoreError) -> Bool {
        guard let content = wanted[address] else { return true }
        let file = file(of: content)
        let arrived: IncomingObject
        do throws(StoreError) {
            arrived = try item.finish { (digests) throws(StoreError) in
                try file.isProved(by: digests)
            }
        } catch {
            guard error.code == .mismatch else { throw error }
            return false
        }
        wanted[address] = nil
        unpacked.insert(content.name)
        figures.files += 1
        try add(content, arrived.object)
        return true
    }

    /// Takes whole contents that an earlier, killed pull left staged.
    func takeStaged() throws(StoreError) {
        for content in plan.contents where content.byteCount ?? 0 > 0 {
            guard let address = file(of: content).address, isMissing(address) else { continue }
            let item = try begin(content)
            if item.offset == content.byteCount { _ = try finish(address, item) }
        }
    }
}

/// Which source of a content to ask next, and when: another one after a failure, unless that would lose what the source
/// has begun.
///
/// A value, without a network or a clock.
struct SourceTurns {
    /// In order of preference; none if castree cannot read any.
    private let sources: [ContentSource]
    private(set) var place = 0
    /// The index of the source whose response began the staged bytes; 0 if an earlier pull began them.
    private(set) var partPlace = 0
    private var dues: [Int: ContinuousClock.Instant] = [:]
    private var failed: Set<Int> = []

    init(_ sources: [ContentSource]) { self.sources = sources }

    var source: ContentSource? { sources.isEmpty ? nil : sources[place] }

    var areMany: Bool { sources.count > 1 }

    /// Whether the staged bytes, and their validator, are from the current source.
    var isOwnPart: Bool { partPlace == place }

    var due: ContinuousClock.Instant? { dues[place] }

    mutating func begunPart() { partPlace = place }

    /// - Parameter stays: whether to stay with the source, because it makes progress, or no other can continue its
    ///   part.
    mutating func wait(until due: ContinuousClock.Instant, stays: Bool) {
        dues[place] = due
        if !stays { _ = move() }
    }

    mutating func leave() -> Bool {
        failed.insert(place)
        return move()
    }

    private mutating func move() -> Bool {
        var best: Int?
        for step in 1...max(1, sources.count) {
            let other = (place + step) % max(1, sources.count)
            if failed.contains(other) { continue }
            guard let chosen = best else {
                best = other
                continue
            }
            if let due = dues[chosen], dues[other].map({ $0 < due }) ?? true { best = other }
        }
        guard let best else { return false }
        place = best
        return true
    }
}
