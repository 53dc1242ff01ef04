public import CASStore
package import HotPush
package import Storage
import VersionTree

/// Deletes unneeded files from an origin beside publishers and other pruners.
///
/// A file is garbage if it is at least two epochs below the newest, and belongs to no release that the entries from
/// `kept` on offer (docs/buckets.md, rule G). Garbage stays garbage, so any pruner may delete it at any time, even
/// with an old view, twice, or long after it died.
package struct OriginPruner: Sendable {
    let publisher: OriginPublisher
    var storage: any ObjectStorage { publisher.storage }

    /// An entry with this many bytes of trimmed pointers leaves the others to the next one.
    let trimmedByteCountMax: Int

    package init(_ publisher: OriginPublisher, trimmedByteCountMax: Int = 512 << 10) {
        self.publisher = publisher
        self.trimmedByteCountMax = trimmedByteCountMax
    }

    /// Trims the channels, and deletes files that no release has had for the grace period.
    /// - Parameters:
    ///   - keepCount: how many releases of each channel stay, besides those that some device can still reach.
    ///   - grace: for how many seconds after a prune devices may still read what it found unneeded.
    /// - Throws: `.noOrigin`; `.damagedOrigin` if a pointer or a manifest cannot be read, so that nothing is deleted.
    package func prune(
        keeping keepCount: Int, grace: Int64, isDryRun: Bool = false
    ) throws(StoreError) -> PruneReport {
        try publisher.advising(by: "it needs a few kibibytes of it itself") {
            () throws(StoreError) in try pruneNow(keepCount, grace, isDryRun)
        }
    }

    private func pruneNow(
        _ keepCount: Int, _ grace: Int64, _ isDryRun: Bool
    ) throws(StoreError) -> PruneReport {
        let log = publisher.makeLog(isWary: true)
        var state = try publisher.open(.stable, log) { (state) throws(StoreError) in
            if !state.hasLog { _ = try surveyed(log).live(keptFrom: state.number, upTo: state) }
        }.state
        if !isDryRun { state = try publisher.finishing(nil, upon: state, log) }
        // Once: busy publishers would otherwise never let it commit. The next prune lists newer files.
        let survey = try surveyed(log)
        var (tryCount, commitCount, trimmedCount) = (0, 0, 0)
        var copies = CopiesState.unknown
        var left: Set<ChannelName> = []
        var mayMakeSpace = true
        while true {
            let next: LogEntry?
            do throws(StoreError) {
                // If it is unknown what is needed, nothing is written at all.
                _ = try survey.live(keptFrom: state.entry.keptFrom, upTo: state)
                // From here on, no device reads an older pointer than this state's.
                if copies == .unknown {
                    copies = try repairPointers(of: state, log, survey, isDryRun: isDryRun)
                }
                next = try nextEntry(
                    after: state, log, survey, keepCount, grace, mayAdvance: copies != .wereBehind,
                    &left)
            } catch {
                // A faster pruner may have deleted what this state still offers, or the keys may remember more.
                guard error.code == .damagedOrigin || error.code == .untrusted else { throw error }
                let newer = try publisher.state(of: log, from: state.number)
                guard newer.number > state.number else { throw error }
                (state, copies) = (newer, .unknown)
                continue
            }
            guard let entry = next else {
                return try sweep(survey, state, trimmedCount, grace, isDryRun: isDryRun)
            }
            guard !isDryRun else {
                let after = OriginState(entry, after: state)
                return try sweep(
                    survey, after, self.trimmedCount(state, after), grace, isDryRun: true)
            }
            let written = try publisher.commit(entry, upon: state, log) {
                (commit) throws(StoreError) in
                try carryOut(commit, survey, state, grace, &mayMakeSpace)
            }
            guard let after = written else {
                try publisher.wait(behindOthers: &tryCount)
                state = try publisher.state(of: log, from: state.number + 1)
                copies = .unknown
                continue
            }
            for channel in entry.pointers.keys.sorted()
            where try !write(channel, of: after, nil, log, survey) {
                copies = .wereBehind
            }
            trimmedCount += self.trimmedCount(state, after)
            state = after
            commitCount += 1
            try checkEnd(after: commitCount, state)
            // Trimmed files stay up to an entry that follows the copies. Without a grace period it comes immediately
            // and keeps what is offered from this one on.
            if entry.pointers.isEmpty, grace > 0 {
                return try sweep(survey, state, trimmedCount, grace, isDryRun: false)
            }
        }
    }

    private func surveyed(_ log: OriginLog) throws(StoreError) -> OriginSurvey {
        let survey = try OriginSurvey(storage, log).run(publisher.options.listed)
        guard let inner = survey.inner else { return survey }
        throw StoreError(
            .badOrigin,
            "\(inner) in \(storage.place) is of another origin, whose files look like those of this one: nothing is "
                + "deleted; move that origin to another prefix")
    }

    /// A prune needs at most one entry for each channel, and a few more after them.
    /// - Throws: `.unsuitableStore` if there are more: the store does not show what it has acknowledged.
    private func checkEnd(after commitCount: Int, _ state: OriginState) throws(StoreError) {
        guard commitCount > state.pointers.count + 8 else { return }
        throw StoreError(
            .unsuitableStore,
            "the store of \(storage.place) acknowledges entries of the log, and shows others: nothing is deleted"
        )
    }

    /// Writes an entry; on a full disk again, after garbage has been deleted.
    /// - Returns: whether the entry is there; otherwise somebody else's is.
    private func carryOut(
        _ commit: LogCommit, _ survey: OriginSurvey, _ state: OriginState, _ grace: Int64,
        _ mayMakeSpace: inout Bool
    ) throws(StoreError) -> Bool {
        do throws(StoreError) {
            return try commit.carryOut()
        } catch {
            guard error.code == .outOfSpace, mayMakeSpace else { throw error }
            mayMakeSpace = false
            let freed = try sweep(survey, state, 0, grace, isDryRun: false)
            guard freed.garbage.count > 0 else { throw error }
            return try commit.carryOut()
        }
    }

    private func trimmedCount(_ before: OriginState, _ after: OriginState) -> Int {
        before.pointers.values.reduce(0) { $0 + $1.releases.count }
            - after.pointers.values.reduce(0) { $0 + $1.releases.count }
    }

    // MARK: Deleting

    /// Deletes what rule G allows, as of the state.
    /// - Throws: `.accessDenied` if the store refuses to delete.
    private func sweep(
        _ survey: OriginSurvey, _ state: OriginState, _ trimmedCount: Int, _ grace: Int64,
        isDryRun: Bool
    ) throws(StoreError) -> PruneReport {
        // Keeps others from reusing files that were unneeded when they were listed.
        let lock = try OriginLock(storage, publisher.options)
        defer { withExtendedLifetime(lock) {} }
        let state = lock == nil ? state : try publisher.state(of: survey.log, from: state.number)
        var report = PruneReport(
            entry: state.number, epoch: state.entry.epoch, trimmedCount: trimmedCount)
        let live = try survey.live(keptFrom: state.entry.keptFrom, upTo: state)
        // A power cut must not restore a pointer that names deleted files.
        if !isDryRun { try storage.barrier() }
        var some = survey.scratch
        let known = try knownSinceTakingOver(survey, state, grace)
        for file in survey.unneeded(beside: live) {
            guard file.key.epoch <= state.entry.garbageEpochMax(in: storage),
                known?.contains(file.key, in: survey.table) ?? true
            else {
                report.waiting.add(file.byteCount)
                continue
            }
            some.append((file.key.path, file.byteCount))
            if some.count >= Self.deletedCount { try sweep(&some, &report, isDryRun: isDryRun) }
        }
        while !some.isEmpty { try sweep(&some, &report, isDryRun: isDryRun) }
        if !isDryRun {
            // The channel's creator may have been killed, or its write was late.
            try ChannelListCopy(of: state, in: storage).bringUp()
            try storage.barrier()
            // Derived; the next prune tries again.
            if let work = storage.work, work.isWritable, let place = try? work.openIfPresent() {
                try? PackingPlace.dropUnused(
                    in: place.raw, offered: state.deliveries, work.fileSystem)
            }
        }
        if !isDryRun, lock != nil, let work = storage.work {
            for (path, reason) in try work.dropUnfinished(now: publisher.now()) {
                report.addStuck(path, reason)
            }
        }
        report.uploadCount = try endUploads(isDryRun: isDryRun)
        report.figures = storage.figures
        return report
    }

    /// The files of all releases that the log ever offered; devices may still be fetching others, of an older origin.
    /// - Returns: `nil` if the log is older than the grace period, or there was no older origin.
    private func knownSinceTakingOver(
        _ survey: OriginSurvey, _ state: OriginState, _ grace: Int64
    ) throws(StoreError) -> KeySet? {
        let first = try survey.log.pastEntry(1)
        guard !first.channels.isEmpty, publisher.now() < first.createdAt.addingClamped(grace) else {
            return nil
        }
        return try survey.live(keptFrom: 1, upTo: state)
    }

    private static let deletedCount = 1_000

    private func sweep(
        _ files: inout [(path: String, byteCount: Int64)], _ report: inout PruneReport,
        isDryRun: Bool
    ) throws(StoreError) {
        let some = files.prefix(Self.deletedCount)
        let spared = isDryRun ? [] : try delete(some.map(\.path), &report)
        for (path, byteCount) in some where !spared.contains(path) {
            report.garbage.add(byteCount)
        }
        files.removeFirst(some.count)
    }

    /// - Returns: the files that exist still, or may.
    private func delete(
        _ paths: [String], _ report: inout PruneReport
    ) throws(StoreError) -> Set<String> {
        if publisher.options.isInterrupted() { throw .publishingInterrupted }
        let outcome = try storage.delete(paths)
        if let denied = outcome.refused.first(where: { $0.code == "AccessDenied" }) {
            throw StoreError(
                .accessDenied,
                "\(storage.place) refuses to delete \(denied.key) (\(denied.code)): whoever prunes needs "
                    + "s3:DeleteObject on all but \(OriginLayout.log)/*; the next prune continues")
        }
        for (path, reason) in outcome.refused { report.addStuck(path, reason) }
        report.unknownCount += outcome.unknownCount
        return outcome.unknownCount > 0 ? Set(paths) : Set(outcome.refused.map(\.key))
    }
}

/// What a prune has done, or would do.
public struct PruneReport: Sendable {
    package var entry: Int64 = 0
    /// The epoch of new files.
    package var epoch: Int64 = 0
    /// How many releases were removed from pointers.
    package var trimmedCount = 0
    /// Files that were, or would be, deleted.
    package var garbage = FileFigures()
    /// How many files were, or would be, deleted.
    public var fileCount: Int { garbage.count }
    /// Files of no release that wait for a later prune.
    package var waiting = FileFigures()
    /// Files that could not be deleted.
    package private(set) var refusedCount = 0
    /// The first of them, and why.
    package private(set) var stuck: [(path: String, reason: String)] = []
    /// Files that may or may not be deleted, because no answer came.
    package var unknownCount = 0
    /// Abandoned uploads that were, or would be, ended.
    package var uploadCount = 0
    package var figures = StorageFigures()

    private static let stuckCountMax = 100

    mutating func addStuck(_ path: String, _ reason: String) {
        refusedCount += 1
        if stuck.count < Self.stuckCountMax { stuck.append((path, reason)) }
    }
}

extension Publisher {
    /// Deletes what no channel offers, once nobody can need it any more.
    ///
    /// Files that a prune finds unneeded are deleted by a prune after the grace period. A call continues a killed one.
    /// - Throws: `.noOrigin`; `.damagedOrigin` if a pointer or a manifest to be kept cannot be read, in which case
    ///   nothing is deleted (with keys: one of their channels; another's keeps all objects); `.interrupted`;
    ///   `.outOfSpace`.
    @discardableResult
    public func collect(
        _ retention: OriginRetention = OriginRetention()
    ) throws(StoreError) -> PruneReport {
        try OriginPruner(engine()).prune(
            keeping: retention.releaseCount, grace: retention.graceSeconds)
    }

    /// What ``collect(_:)`` would delete; deletes nothing.
    public func planCollection(
        _ retention: OriginRetention = OriginRetention()
    ) throws(StoreError) -> PruneReport {
        try OriginPruner(engine(isDraft: true)).prune(
            keeping: retention.releaseCount, grace: retention.graceSeconds, isDryRun: true)
    }
}

/// What an origin keeps.
public struct OriginRetention: Sendable, Hashable {
    /// How many releases of each channel are kept, besides older ones that devices can still reach.
    public var releaseCount: Int
    /// How long, in seconds, a manifest is kept after the last channel stopped naming it, for clients that have read
    /// an older pointer and are still downloading.
    public var graceSeconds: Int64

    /// Keeps ten releases and a day by default.
    public init(releaseCount: Int = 10, graceSeconds: Int64 = 86_400) {
        self.releaseCount = releaseCount
        self.graceSeconds = graceSeconds
    }
}
