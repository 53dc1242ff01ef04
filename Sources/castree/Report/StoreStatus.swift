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

    /// What an origin answered last, or the first failure to get an answer.
    struct Asked {
        let at: Int64
        let origin: String
        let outcome: CheckOutcome
        let sentence: String
        /// How many more times there was no answer since.
        var failures = 0
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
    private static let silenceMax: Int64 = 7 * 86_400

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
        asked =
            found { () throws(StoreError) in try Self.lastAnswer(Journal(store).entries()) } ?? nil
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
        if let asked, asked.failures > 0, now - asked.at > Self.silenceMax {
            note("noAnswer", "\(asked.origin) has not answered since \(timestamp(asked.at))")
        }
    }

    private static func lastAnswer(_ entries: [JournalEntry]) -> Asked? {
        var result: Asked?
        for entry in entries {
            guard case .checked(let origin, let outcome, _, _) = entry.event else { continue }
            if outcome == .failed, result?.origin == origin {
                result?.failures += 1
            } else {
                result = Asked(
                    at: entry.at, origin: origin, outcome: outcome, sentence: entry.event.sentence)
            }
        }
        return result
    }
}
