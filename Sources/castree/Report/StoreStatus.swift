import CASStore
import Console
import HotPush
import StoreCommands
import VersionTree

/// What runs, what waits and what is wrong, at one moment.
///
/// Whatever cannot be found out is one of the problems: a status is asked for when something is broken.
struct StoreStatus {
    /// Something that needs somebody.
    struct Problem {
        /// What it is, for scripts: the kind of a finding, the code of an error, or one of our own.
        let code: String
        var version: String?
        let message: String
    }

    /// What came of asking an origin, and of updating from it.
    struct Asked {
        /// When it was asked last.
        var at: Int64
        let origin: String
        var outcome: CheckOutcome
        var sentence: String
        /// How many updates have failed in a row, when the first of them did, and why the last.
        var failures = 0
        var failingSince: Int64?
        var failure: String?
        /// Whether all of these failed because the origin could not be reached.
        var isOffline = true
        /// Why the next will fail, too, unless somebody acts.
        var obstacle: Obstacle?

        /// Something that no other try mends.
        struct Obstacle {
            let failure: JournalFailure
            let reason: String
            /// Whether it was met before anything was offered, so that an offer proves it away.
            let isOfAsking: Bool
        }

        /// - Parameter isOfAsking: whether nothing was offered yet.
        mutating func fail(
            _ reason: String, _ failure: JournalFailure?, isOfAsking: Bool, at time: Int64,
            times: Int = 1, isOffline: Bool
        ) {
            if let failure, failure.isLasting {
                obstacle = Obstacle(failure: failure, reason: reason, isOfAsking: isOfAsking)
            } else if !isOffline, !isOfAsking || obstacle?.isOfAsking == true {
                obstacle = nil
            }
            if let since = failingSince, since < JournalEntry.clockIsSetFrom,
                time >= JournalEntry.clockIsSetFrom
            {
                (failures, failingSince, self.isOffline) = (0, nil, true)
            }
            failures += times
            failingSince = failingSince ?? time
            self.failure = reason
            self.isOffline = self.isOffline && isOffline
        }

        mutating func succeed() {
            (failures, failingSince, failure, isOffline) = (0, nil, nil, true)
            obstacle = nil
        }
    }

    let path: String
    var lifecycle = Lifecycle()
    var versions: [VersionSummary] = []
    var uses: [StoreUse] = []
    var downloads: [VersionProgress] = []
    var asked: Asked?
    var lastCheck: LastCheck?
    var space: FreeSpace?
    private(set) var problems: [Problem] = []

    /// An origin that does not answer for longer than this needs somebody: 7 days.
    ///
    /// Being offline mends itself, as a rule.
    private static let silenceMax: Int64 = 7 * 86_400
    /// An origin that answers, and whose updates all fail, needs somebody after an hour and three updates.
    ///
    /// By then a publisher has done what he was doing.
    private static let failingMax: Int64 = 3600
    private static let failureCountMax = 3

    init(of store: VersionStore, now: Int64) {
        path = store.store.absolutePath
        lastCheck = store.lastCheck()
        let findings = found { () throws(StoreError) in try store.evidentFindings() } ?? []
        for finding in findings {
            note(finding.kind.rawValue, version: finding.version, finding.message)
        }
        // A damaged lifecycle is one of the findings.
        lifecycle = (try? store.lifecycle()) ?? lifecycle
        versions = found { () throws(StoreError) in try store.versions() } ?? versions
        uses = found { () throws(StoreError) in try store.uses() } ?? uses
        downloads = found { () throws(StoreError) in try store.progress() } ?? downloads
        // A damaged event log is one of the findings, too.
        asked = (try? Journal(store).entries()).flatMap { Self.lastAnswer($0) }
        space = found { () throws(StoreError) in
            try store.fileSystem.freeSpace(store.directories.root.raw)
        }
        found { () throws(StoreError) in try store.store.checkSpace(for: 0) }
        judge(now)
    }

    /// What the closure finds out; a failure becomes a problem.
    @discardableResult
    private mutating func found<Value>(_ body: () throws(StoreError) -> Value) -> Value? {
        do throws(StoreError) {
            return try body()
        } catch {
            note(error.code.description, error.message)
            return nil
        }
    }

    private mutating func note(_ code: String, version: String? = nil, _ message: String) {
        // A broken index, say, is met by every question.
        guard !problems.contains(where: { $0.message == message }) else { return }
        problems.append(Problem(code: code, version: version, message: message))
    }

    /// Finds the problems that the facts show.
    private mutating func judge(_ now: Int64) {
        if let newest = versions.first(where: { $0.state != .incomplete }), newest.isBad,
            let ban = lifecycle.ban(of: newest.content)
        {
            note(
                "bannedNewest", version: newest.version,
                "version \(newest.version), the newest, is banned: \(ban.reason); publish or add another"
            )
        }
        if let check = lastCheck, check.findingCount > check.repairedCount {
            let left = counted(check.findingCount - check.repairedCount, "problem")
            note(
                "lastCheck",
                "the check of \(timestamp(check.endedAt)) left \(left); castree fsck looks again")
        }
        for use in uses where use.holder.isStopped {
            note(
                "stopped", version: use.version,
                "\(use.holder.description) has the store and is stopped: kill -CONT "
                    + "\(use.holder.process ?? 0) lets it continue")
        }
        guard let asked, let since = asked.failingSince else { return }
        if let obstacle = asked.obstacle {
            let subject =
                obstacle.failure.isOfStore
                ? "the store cannot take updates from \(asked.origin)"
                : "updates from \(asked.origin) fail"
            note(
                obstacle.failure.code,
                "\(subject) until somebody acts, since \(timestamp(since)): \(obstacle.reason)")
            return
        }
        guard asked.failures >= Self.failureCountMax else { return }
        if asked.isOffline, now - since > Self.silenceMax {
            note("noAnswer", "\(asked.origin) has not answered since \(timestamp(since))")
        } else if !asked.isOffline, now - since >= Self.failingMax {
            note(
                "failingUpdates",
                "the last \(asked.failures) updates from \(asked.origin) failed, since "
                    + "\(timestamp(since)): \(asked.failure ?? "castree log says why")")
        }
    }

    private static func lastAnswer(_ entries: [JournalEntry]) -> Asked? {
        var result: Asked?
        for entry in entries {
            switch entry.event {
            case .checked(let origin, let outcome, _, let reason, let failure):
                if result?.origin != origin {
                    result = Asked(
                        at: entry.at, origin: origin, outcome: outcome, sentence: entry.sentence)
                }
                result?.at = entry.at
                result?.outcome = outcome
                result?.sentence = entry.sentence
                switch outcome {
                case .offline, .failed:
                    result?.fail(
                        reason ?? entry.sentence, failure, isOfAsking: true,
                        at: entry.since ?? entry.at, times: entry.times,
                        isOffline: outcome == .offline)
                case .nothingNew, .refused: result?.succeed()
                // What comes of it is noted next.
                case .available:
                    if result?.obstacle?.isOfAsking == true { result?.obstacle = nil }
                }
            case .downloadEnded(_, .failed, _, let reason, let failure):
                result?.fail(
                    reason ?? entry.event.sentence, failure, isOfAsking: false, at: entry.at,
                    isOffline: false)
            case .failed(let deed, let failure, let message) where deedsOfUpdates.contains(deed):
                result?.fail(message, failure, isOfAsking: false, at: entry.at, isOffline: false)
            case .downloadEnded(_, .finished, _, _, _), .pending, .switched: result?.succeed()
            default: break
            }
        }
        return result
    }

    /// The deeds without which nothing new is shown.
    private static let deedsOfUpdates: Set<String> = ["plan", "download", "update"]
}
