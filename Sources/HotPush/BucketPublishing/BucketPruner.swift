package import Buckets
package import CASStore
import VersionTree

/// Deletes from an origin in a bucket what nobody can need any more, beside publishers and other pruners.
///
/// A file is garbage if it stands two epochs or more below the newest and no release has it that the entries from
/// `kept` on offer (docs/buckets.md, rule G). Garbage stays garbage, so any pruner may delete it at any time, also with
/// an old view, twice, or long after it died.
package struct BucketPruner: Sendable {
    private let publisher: BucketPublisher
    private var bucket: any Bucket { publisher.bucket }

    /// Makes a pruner; nothing is asked of the bucket yet.
    package init(_ publisher: BucketPublisher) { self.publisher = publisher }

    /// What a prune has done, or would do.
    package struct Report: Sendable {
        /// The newest entry.
        package var entry: Int64 = 0
        /// Where new files are written.
        package var epoch: Int64 = 0
        /// How many releases no pointer lists any more.
        package var trimmedCount = 0
        /// Files that are, or would be, deleted; their bytes.
        package var garbage = (count: 0, byteCount: Int64(0))
        /// Files that no release has, and that wait for a later prune.
        package var waiting = (count: 0, byteCount: Int64(0))
        /// Files that the store refused to delete.
        package var refusedCount = 0
        /// What it took.
        package var figures = BucketFigures()
    }

    /// Trims the channels, and deletes what no release has for the grace.
    ///
    /// - Parameters:
    ///   - keepCount: how many releases of each channel stay, and those that some device can still reach.
    ///   - grace: for how many seconds after a prune devices may still read what it has found unneeded.
    /// - Throws: `.noOrigin`; `.damagedOrigin` if a pointer or a manifest cannot be read: then nothing is deleted.
    package func prune(
        keeping keepCount: Int, grace: Int64, isDryRun: Bool = false
    ) throws(StoreError) -> Report {
        let log = OriginLog(bucket)
        var tryCount = 0
        var trimmedCount = 0
        while true {
            let state = try publisher.open(PointerCopy(.stable, in: bucket).read(), log)
            let survey = try BucketSurvey(bucket, log, state).run()
            // From here on no device reads an older pointer than those of this state.
            let mayAdvance = isDryRun ? true : try repairPointers(of: state, log)
            guard
                let entry = try nextEntry(
                    after: state, log, survey, keepCount, grace, mayAdvance: mayAdvance)
            else {
                return try sweep(survey, state, trimmedCount, isDryRun: isDryRun)
            }
            let after = OriginState(
                number: state.number + 1, entry: entry,
                pointers: state.pointers.merging(entry.pointers) { $1 })
            guard !isDryRun else {
                return try sweep(
                    survey, after, self.trimmedCount(state, after), isDryRun: true)
            }
            if try LogCommit(entry, after.number, log, publisher.pause).carryOut() {
                try PointerCopies(log, publisher.pause).writeAll(of: after)
                trimmedCount += self.trimmedCount(state, after)
                // Without a grace the next entry follows at once: it keeps from this one on.
                if grace == 0 { continue }
                return try sweep(survey, after, trimmedCount, isDryRun: false)
            }
            tryCount += 1
            publisher.pause(Backoff.log.milliseconds(failureCount: tryCount))
        }
    }

    private func trimmedCount(_ before: OriginState, _ after: OriginState) -> Int {
        before.pointers.values.reduce(0) { $0 + $1.releases.count }
            - after.pointers.values.reduce(0) { $0 + $1.releases.count }
    }

    /// Brings the pointers up to the log's.
    ///
    /// - Returns: whether it can be relied on that no device reads an older one from now on.
    private func repairPointers(
        of state: OriginState, _ log: OriginLog
    ) throws(StoreError) -> Bool {
        let condition = try log.pastEntry(1).pointerCondition ?? .none
        let copies = PointerCopies(log, publisher.pause)
        var isBehind = false
        for channel in state.pointers.keys.sorted() {
            let seen = try PointerCopy(channel, in: bucket).read()
            if (seen.pointer?.log ?? 1) < state.entry.prunedAt { isBehind = true }
            try copies.write(channel, of: state, seen: seen)
        }
        // A plain write of an old pointer may come back: one that lagged behind the last prune is not trusted.
        return condition != .none || !isBehind
    }

    /// The entry that trims, advances `kept` or begins an epoch; `nil` if there is nothing to do.
    private func nextEntry(
        after state: OriginState, _ log: OriginLog, _ survey: BucketSurvey, _ keepCount: Int,
        _ grace: Int64, mayAdvance: Bool
    ) throws(StoreError) -> LogEntry? {
        let number = state.number + 1
        var entry = try LogEntry(after: state, .prune, now: publisher.now())
        for (channel, pointer) in state.pointers {
            guard var trimmed = pointer.trimmed(to: keepCount, now: publisher.now()) else {
                continue
            }
            trimmed.log = number
            entry.pointers[channel] = trimmed
            entry.channels[channel] = number
        }
        if mayAdvance, let kept = try keptFrom(state, log, grace) { entry.keptFrom = kept }
        let live = try survey.live(keptFrom: entry.keptFrom)
        // What is still to be found unneeded under the two newest epochs can only be deleted in a later one.
        if survey.keys.contains(where: {
            $0.key.epoch > state.entry.epoch - 2 && !live.contains($0.key)
        }) {
            entry.epoch += 1
        }
        let isMark = try needsMark(state, log, keptFrom: entry.keptFrom)
        guard
            isMark || !entry.pointers.isEmpty || entry.keptFrom != state.entry.keptFrom
                || entry.epoch != state.entry.epoch
        else { return nil }
        entry.prunedAt = number
        return entry
    }

    /// Whether something is offered no more that no earlier prune has seen so: the grace for it begins with a prune.
    private func needsMark(
        _ state: OriginState, _ log: OriginLog, keptFrom: Int64
    ) throws(StoreError) -> Bool {
        let newest = max(state.entry.prunedAt, keptFrom)
        let since = try log.liveReleases(keptFrom: newest, upTo: state)
        let now = try log.liveReleases(keptFrom: state.number, upTo: state)
        return since != now
    }

    /// The newest prune that is older than the grace, by the server's clock.
    private func keptFrom(
        _ state: OriginState, _ log: OriginLog, _ grace: Int64
    ) throws(StoreError) -> Int64? {
        var candidate = state.entry.prunedAt
        let live = try log.liveReleases(keptFrom: state.entry.keptFrom, upTo: state)
        while candidate > state.entry.keptFrom {
            // An entry that would free nothing is none.
            guard try log.liveReleases(keptFrom: candidate, upTo: state).count < live.count else {
                return nil
            }
            if let file = try bucket.head(OriginLayout.logEntry(candidate)),
                file.answeredAt - file.modifiedAt >= grace
            {
                return candidate
            }
            candidate = try log.pastEntry(candidate - 1).prunedAt
        }
        return nil
    }

    // MARK: Deleting

    /// Deletes what rule G allows, as of the state.
    private func sweep(
        _ survey: BucketSurvey, _ state: OriginState, _ trimmedCount: Int, isDryRun: Bool
    ) throws(StoreError) -> Report {
        var report = Report(
            entry: state.number, epoch: state.entry.epoch, trimmedCount: trimmedCount)
        let live = try survey.live(keptFrom: state.entry.keptFrom)
        var garbage: [String] = survey.scratch
        report.garbage.count = garbage.count
        for (key, byteCount) in survey.keys where !live.contains(key) {
            if key.epoch <= state.entry.epoch - 2 {
                garbage.append(key.path)
                report.garbage.count += 1
                report.garbage.byteCount += byteCount
            } else {
                report.waiting.count += 1
                report.waiting.byteCount += byteCount
            }
        }
        if !isDryRun {
            for start in stride(from: 0, to: garbage.count, by: 1_000) {
                if publisher.options.isInterrupted() { throw OriginWriter.interruption }
                let some = Array(garbage[start..<min(start + 1_000, garbage.count)])
                report.refusedCount += try bucket.delete(some).refused.count
            }
        }
        report.figures = bucket.figures
        return report
    }
}
