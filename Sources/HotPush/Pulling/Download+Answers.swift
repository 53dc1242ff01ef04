import CASStore
import VersionTree

// What the transport delivers: heads, bytes, ends.

extension Download {
    func begin(_ id: Int, _ head: TransferHead) -> BodyDecision {
        guard let transfer = running[id] else { return .refuse }
        transfer.head = head
        if !RetryPolicy.isWorthRetrying(status: head.status) { noteAnswer(to: id) }
        if head.status == 304, !transfer.kept.isEmpty {
            transfer.unchanged = Self.unchanged(head, transfer.kept)
            if transfer.unchanged == nil {
                transfer.use = .askForWhole("the server does not say which content it means (304)")
            }
            return .discard
        }
        let use = Resumption.use(of: head, for: transfer.part, asked: transfer.question)
        transfer.use = use
        switch use {
        case .append, .startOver:
            if let problem = contradiction(head, transfer) {
                transfer.trouble = problem
                transfer.isHeadWrong = true
                return .refuse
            }
            transfer.work.validator = Validator(head) ?? transfer.work.validator
            transfer.work.tag = head.tag.flatMap { Validator.isStrongTag($0) ? $0 : nil }
            guard case .startOver = use else { return .take }
            transfer.work.turns.begunPart()
            do throws(StoreError) {
                let offset = transfer.arrival?.offset ?? 0
                if offset > 0 {
                    noteBegunAnew(transfer, head, offset)
                    try transfer.arrival?.restart()
                    forgetResumed(&transfer.work)
                }
                try transfer.arrival?.note(source: Validator(head)?.fieldValue)
            } catch {
                failure = error
                return .refuse
            }
            return .take
        case .refuse(let reason):
            transfer.trouble = wrong(transfer, reason)
            transfer.isHeadWrong = true
            return .refuse
        case .complete, .failure: return .discard
        case .askForWhole: return .refuse
        }
    }

    /// What was under way when an outage began says nothing of its end.
    private func noteAnswer(to id: Int) {
        refusals.answered()
        guard let outage, id > outage.lastID else { return }
        self.outage = nil
        budget.forget(Outage.budgetID..<Outage.budgetID + 1)
    }

    private func noteBegunAnew(_ transfer: Running, _ head: TransferHead, _ byteCount: Int64) {
        guard begunAnew == nil, transfer.question.isForRest,
            transfer.part.validator.map({ $0 == Validator(head) }) ?? true
        else { return }
        begunAnew = (file(of: transfer.work.content).path.description, byteCount)
    }

    private func contradiction(_ head: TransferHead, _ transfer: Running) -> StoreError? {
        guard let tag = head["etag"] else { return nil }
        for check in file(of: transfer.work.content).checks {
            guard let expected = check.entityTag, let named = ContentCheck.digits(in: tag),
                named != expected
            else { continue }
            return format.error(.fileMismatch(file(of: transfer.work.content)))
        }
        return nil
    }

    private func wrong(_ transfer: Running, _ reason: String) -> StoreError {
        format.error(.fileDiffers(file(of: transfer.work.content), reason))
    }

    func receive(_ id: Int, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let transfer = running[id] else { return false }
        do throws(StoreError) {
            try transfer.arrival?.append(bytes.bytes)
        } catch {
            if error.code == .mismatch {
                transfer.trouble = wrong(transfer, error.message)
            } else {
                failure = error
            }
            return false
        }
        if file(of: transfer.work.content).needsInspection {
            transfer.inspected.append(contentsOf: bytes)
        }
        let pace = transfer.drip.pace(bytes.count, among: running.count)
        if pace == .dripping {
            transfer.isTooSlow = true
            return false
        }
        figures.bytes += Int64(bytes.count)
        let offset = transfer.arrival?.offset ?? 0
        if offset > transfer.work.highWater {
            count(&transfer.work, upTo: offset)
            if pace == .kept { budget.progressed(transfer.work.budgetID) }
        }
        return true
    }

    func end(_ id: Int, _ result: TransferOutcome) {
        guard let transfer = running.removeValue(forKey: id), let arrival = transfer.arrival.take()
        else { return }
        do throws(StoreError) {
            try end(transfer, arrival, result)
        } catch {
            if failure == nil { failure = error }
        }
    }

    private func end(
        _ transfer: Running, _ arrival: consuming Arrival, _ result: TransferOutcome
    ) throws(StoreError) {
        if let trouble = transfer.trouble {
            if transfer.isHeadWrong, transfer.work.turns.areMany {
                try arrival.suspend()
            } else {
                try arrival.discard()
            }
            return try tryAgain(transfer.work, after: trouble)
        }
        if failure != nil || result == .cancelled { return try arrival.suspend() }
        if let unchanged = transfer.unchanged, result == .finished {
            try arrival.discard()
            return try take(unchanged, for: transfer.work)
        }
        switch transfer.use {
        case .complete where result == .finished: return try finish(transfer.work, arrival)
        case .askForWhole(let reason):
            // The next request has no range, so it cannot fail here again.
            guard !transfer.work.asksForWhole else { throw wrong(transfer, reason) }
            var work = transfer.work
            // Another source may continue from these bytes.
            if isProvable(work.content), work.turns.areMany, !work.hasSparedPart {
                try arrival.suspend()
                work.hasSparedPart = true
                work.wait(until: .now, stays: false)
                return waiting.append(work)
            }
            try arrival.discard()
            work.asksForWhole = true
            work.validator = nil
            waiting.append(work)
            return
        case .append, .startOver:
            if result == .finished, transfer.question.isForRest,
                let whole = transfer.wholeByteCount,
                arrival.offset < whole, arrival.offset > transfer.part.byteCount
            {
                // A server may send less than the requested rest (RFC 9110, section 15.3.7).
                try arrival.suspend()
                return waiting.append(transfer.work)
            }
            if result == .finished, isEndUnproved(transfer) {
                try arrival.discard()
                let failure = TransferFailure(
                    .broken,
                    "nothing shows that all of \(url(of: transfer.work)) came: its server must send Content-Length or chunks, "
                        + "since the release says neither a size nor a digest")
                return try tryAgain(transfer.work, after: StoreError(failure))
            }
            guard result != .finished else {
                return try finish(transfer.work, arrival, transfer.inspected)
            }
            if result == .tooLarge {
                try arrival.discard()
                return try tryAgain(
                    transfer.work, after: wrong(transfer, "the server sends more bytes"))
            }
        default: break
        }
        try giveUpOrWait(transfer, arrival, result)
    }

    /// Whether neither the answer nor the release would reveal a body that was cut off.
    private func isEndUnproved(_ transfer: Running) -> Bool {
        let content = transfer.work.content
        return transfer.head?.isUnframed == true && transfer.wholeByteCount == nil
            && content.isProvisional && labels(of: content).isEmpty
            && !file(of: content).isProvable
    }

    private func giveUpOrWait(
        _ transfer: Running, _ arrival: consuming Arrival, _ ended: TransferOutcome
    ) throws(StoreError) {
        let result: TransferOutcome =
            transfer.isTooSlow
            ? .failed(
                TransferFailure(.timeout, "\(url(of: transfer.work)) comes too slowly to finish"))
            : ended
        if case .failed(let failure) = result, failure.kind == .malformed {
            // A proxy that alters content may pass the origin's own bytes if asked for them.
            try arrival.suspend()
            return try tryAgain(transfer.work, after: StoreError(failure))
        }
        var work = transfer.work
        // Bytes received a second time are not progress, so they must not extend the retries.
        let newByteCount = transfer.work.highWater - transfer.highWaterBefore
        let hasPart = arrival.offset > 0
        try arrival.suspend()
        if isOfOrigin(transfer, result) { return try waitForOrigin(transfer, result) }
        let decision = budget.decide(
            work.budgetID, result, head: transfer.head, newByteCount: max(0, newByteCount),
            lasting: transfer.drip.lasted, among: running.count + 1, now: secondsNow(),
            using: &generator)
        if case .again(let delay) = decision {
            let isOfUse = newByteCount >= 64 << 10 || (hasPart && !isProvable(work.content))
            work.wait(until: .now + delay, stays: isOfUse && !transfer.isTooSlow)
            return waiting.append(work)
        }
        if decision != .pullSpent, work.leave() { return waiting.append(work) }
        if let status = transfer.head?.status, [403, 404, 410].contains(status),
            file(of: work.content).isOptional
        {
            return leaveOut(work)
        }
        throw problem(transfer, result)
    }

    private func problem(_ transfer: Running, _ ended: TransferOutcome) -> StoreError {
        let url = url(of: transfer.work)
        if let status = transfer.head?.status, status >= 400 {
            return format.error(.fileStatus(file(of: transfer.work.content), status), at: url)
        }
        guard case .failed(let trouble) = ended else {
            return StoreError(.network, "unable to fetch \(url)")
        }
        return StoreError(trouble)
    }

    /// Whether this failure is the origin's, whichever file was requested; other sources may work meanwhile.
    private func isOfOrigin(_ transfer: Running, _ ended: TransferOutcome) -> Bool {
        let status = transfer.head?.status
        guard !transfer.work.turns.areMany, status ?? 400 >= 400,
            RetryPolicy.isWorthRetrying(ended, status: status)
        else { return false }
        if case .failed(let failure) = ended, failure.kind.isUnreached { return true }
        return outage != nil || refusals.refused(transfer.work.budgetID)
    }

    /// Makes all files wait; the outage is one failure, however many requests it refuses.
    private func waitForOrigin(
        _ transfer: Running, _ ended: TransferOutcome
    ) throws(StoreError) {
        if outage.map({ transfer.id > $0.lastID }) ?? true {
            // The refusals that showed it were not those of their files.
            if outage == nil { budget.forgetAll() }
            let decision = budget.decide(
                Outage.budgetID, ended, head: transfer.head, newByteCount: 0, now: secondsNow(),
                using: &generator)
            guard case .again(let delay) = decision else { throw problem(transfer, ended) }
            outage = Outage(until: .now + delay, lastID: lastID)
        }
        var work = transfer.work
        work.due = outage?.until
        waiting.append(work)
    }

    /// Retries content that does not match the release: the origin may be between two versions.
    private func tryAgain(_ work: Work, after trouble: StoreError) throws(StoreError) {
        var work = work
        work.wrongCount += 1
        work.validator = nil
        takeBack(&work)
        guard work.wrongCount <= Self.wrongCountMax else {
            if work.leave() { return waiting.append(work) }
            guard leavesOutWrongContent, file(of: work.content).isOptional else { throw trouble }
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
        _ work: Work, _ arrival: consuming Arrival, _ inspected: [UInt8] = [],
        isFetched: Bool = true
    ) throws(StoreError) {
        let file = file(of: work.content)
        if file.needsInspection {
            do throws(StoreError) {
                try inspect(file, inspected)
            } catch {
                try arrival.discard()
                return try tryAgain(work, after: error)
            }
        }
        let arrived: Arrived
        do throws(StoreError) {
            arrived = try arrival.finish { (digests) throws(StoreError) in
                try file.isProved(by: digests)
            }
        } catch {
            guard error.code == .mismatch else { throw error }
            var trouble = format.error(.fileMismatch(file))
            trouble.cause = error.cause
            return try tryAgain(work, after: trouble)
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
        let arrived = ArrivedContent(
            address: object.address, byteCount: object.byteCount, entityTag: tag)
        finished.append(ArrivedFile(content: content, arrived: arrived))
        // Content without a known address survives a kill only once the manifest names it.
        let isLarge =
            content.isProvisional
            ? arrivals.unsettledByteCount > 8 << 20 || arrivals.unsettledCount >= 256
            : arrivals.unsettledByteCount > Self.batchByteCountMax
                || arrivals.unsettledCount >= Self.batchCountMax
        if isLarge { try settle() }
    }

    /// The bytes that become durable together: a power cut loses at most this much, a killed process nothing.
    private static let batchByteCountMax: Int64 = 64 << 20
    /// Each batch scans the whole index and syncs twice, so a batch holds many small files.
    private static let batchCountMax = 16 * 1024

    func settle() throws(StoreError) {
        completed += try arrivals.settle()
        guard !finished.isEmpty else { return }
        let batch = finished
        finished.removeAll(keepingCapacity: true)
        try settled(batch)
    }
}
