import CASStore
import Console
import HotPush
import StoreCommands
import VersionTree

/// What runs, what waits and what is wrong, at one moment.
///
/// Whatever cannot be determined is one of the problems: a status is requested when something is broken.
struct StoreStatus {
    /// Something that a person must act on.
    struct Problem {
        /// For scripts: the kind of a finding, the code of an error, or one of our own.
        let code: String
        var version: String?
        let message: String
    }

    struct Download {
        let progress: VersionProgress
        /// Whether a process fetches it now, as far as the kernel shows.
        let isFetched: Bool
        /// When its download ended or, if that is unknown, began.
        let at: Int64?
        /// Whether that time is from a clock that was ahead, and no later event dates it.
        let isUndated: Bool
    }

    let path: String
    var lifecycle = Lifecycle()
    /// Whether the current version is unknown, because the lifecycle cannot be read.
    private(set) var isLifecycleDamaged = false
    /// Whether the pending version, or a current one that was not started yet, is mandatory.
    var isForced = false
    var versions: [VersionSummary] = []
    var uses: [StoreUse] = []
    var downloads: [Download] = []
    var origins: [AskedOrigin] = []
    var asked: AskedOrigin? { origins.last }
    var lastCheck: LastCheck?
    var space: FreeSpace?
    private(set) var problems: [Problem] = []

    /// An origin that has not answered for this long is a problem; being offline usually ends without help.
    private static let silenceMax: Int64 = 7 * 86_400
    /// An origin that answers, but whose updates all fail, is a problem after an hour and three updates: by then a
    /// publisher has finished.
    private static let failingMax: Int64 = 3600
    private static let failureCountMax = 3
    /// A download that nobody has continued for this long is a problem; timers ask more often.
    private static let restMax: Int64 = 86_400
    /// How long a page kept by a service worker is reported; servers repeat the event while it lasts.
    private static let staleMax: Int64 = 86_400

    init(of store: VersionStore, now: Int64) {
        path = store.store.absolutePath
        lastCheck = store.lastCheck()
        let findings = found { () throws(StoreError) in try store.evidentFindings() } ?? []
        for finding in findings {
            note(finding.kind.rawValue, version: finding.version, finding.message)
        }
        judgeStuck(store.rememberedStuck())
        isLifecycleDamaged = findings.contains { $0.kind == .damagedLifecycle }
        // A damaged lifecycle is one of the findings.
        lifecycle = (try? store.lifecycle()) ?? lifecycle
        // So is a damaged record of mandatory versions.
        isForced = (try? store.isForced(lifecycle)) ?? false
        let known = lifecycle
        versions = found { () throws(StoreError) in try store.versions(by: known) } ?? versions
        uses = found { () throws(StoreError) in try store.uses() } ?? uses
        // A damaged event log is one of the findings, too.
        let told = (try? EventLog(store).entries()) ?? []
        let events = told.believed(until: now)
        let progress = found { () throws(StoreError) in try store.progress() } ?? []
        downloads = progress.map { each in
            let last = events.lastIndex { $0.event.downloadedVersion == each.version }
            return Download(
                progress: each,
                // In another container, no process can be named.
                isFetched: uses.contains { $0.kind == .fetches && $0.version == each.version }
                    || (try? store.isBeingFetched(each.version)) == true,
                at: last.map { events[$0].at },
                isUndated: last.map { told[$0].at > now && events[$0].at == now } ?? false)
        }
        origins = AskedOrigin.all(in: events, now)
        space = found { () throws(StoreError) in
            try store.fileSystem.freeSpace(store.directories.root.raw)
        }
        found { () throws(StoreError) in try store.store.checkSpace(for: 0) }
        judgeMount(events)
        if let owner = found({ () throws(StoreError) in
            try store.fileSystem.status(store.directories.root.raw).owner
        }) {
            judgeStrangers(owner)
        }
        judge(now)
        // A damaged one is one of the findings.
        if let trust = try? store.trust() { judgeEnds(trust, now) }
        judgeDamage(events)
        judgeStalePages(events, now)
        judgeHeldBack(events)
    }

    /// Reports what collections and repairs cannot remove: it takes space, and its cause may matter elsewhere.
    private mutating func judgeStuck(_ stuck: [StuckLeftover]) {
        guard let first = stuck.first else { return }
        note(
            "stuck",
            "\(counted(stuck.count, "leftover")) cannot be removed, such as \(printable(first.path)): \(first.reason); "
                + "correct that, then run castree gc to remove the rest")
    }

    /// Reports a store that can no longer be written, though apps start from it or it gets updates: its own log
    /// cannot record that.
    private mutating func judgeMount(_ events: [EventLogEntry]) {
        guard events.contains(where: { ["boot", "check"].contains($0.event.name) }),
            space?.isReadOnly ?? false
        else { return }
        note(
            "readOnly",
            "the disk of the store is mounted read-only, so no version can start, be confirmed or "
                + "be downloaded: find out why (dmesg), and mount it writable")
    }

    /// Reports servers from which the store was taken (chown -R): they cannot write in it, so their log cannot say so.
    ///
    /// Root acts for any owner.
    private mutating func judgeStrangers(_ owner: UInt32) {
        for use in uses {
            guard let user = use.holder.user, user != owner, user != 0 else { continue }
            note(
                StoreError.Code.notOwner.description,
                "\(use.holder.description) has the store as uid \(user), but it belongs to uid \(owner), so that process "
                    + "can neither update it nor start versions: restart it as the owner, or give the store back (chown -R)"
            )
        }
    }

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
        // A broken index, for example, causes the same error in every part.
        let isTold = problems.contains {
            $0.message == message || code == "locked" && $0.code == code
        }
        guard !isTold else { return }
        problems.append(Problem(code: code, version: version, message: message))
    }

    private mutating func judge(_ now: Int64) {
        if let newest = versions.first(where: { $0.state != .incomplete }), newest.isBad,
            let ban = lifecycle.ban(of: newest.content)
        {
            note(
                "bannedNewest", version: newest.version,
                "version \(newest.version), the newest, is banned: \(ban.reason); publish or add a newer one, or remove it (castree retire \(newest.version))"
            )
        }
        judgeAttempt()
        if let check = lastCheck, check.leftCount > 0 {
            let left = counted(check.leftCount, "problem")
            note(
                "lastCheck",
                "the check of \(timestamp(check.endedAt)) left \(left); castree fsck looks again")
        }
        for use in uses where use.holder.isStopped {
            note(
                "stopped", version: use.version,
                "\(use.holder.description) holds the store and is stopped; resume it with kill -CONT \(use.holder.process ?? 0)"
            )
        }
        for origin in origins { judge(origin, now) }
        judgeDownloads(now)
    }

    /// Reports a current version whose starts all fail, and that stays because nothing else can be shown.
    private mutating func judgeAttempt() {
        guard let current = lifecycle.current, wayBack == nil, lifecycle.pending == nil,
            let attempt = lifecycle.attempts.first(where: { $0.version == current }),
            attempt.failedAttempts > Lifecycle.usualFailedAttempts
        else { return }
        note(
            "unconfirmed", version: current,
            "version \(current) was started \(attempt.failedAttempts) times and never confirmed, and there is "
                + "no version to go back to: add or publish another, or confirm this one (castree lifecycle "
                + "shows the token)")
    }

    /// The version to which a failing one would be rolled back: never the same content under another name, nor one
    /// that is banned or incomplete.
    var wayBack: String? {
        let current = versions.first(where: \.isCurrent)?.content
        return lifecycle.waysBack.first { name in
            versions.contains {
                $0.version == name && !$0.isCurrent && $0.content != current && !$0.isBad
                    && $0.state != .incomplete
            }
        }
    }

    /// Reports incomplete versions that nobody continues to download; asking an origin now and then counts.
    private mutating func judgeDownloads(_ now: Int64) {
        for download in downloads where !download.isFetched {
            guard let at = download.at, at >= EventLogEntry.clockIsSetFrom,
                download.isUndated || now - max(at, asked?.at ?? 0) > Self.restMax
            else { continue }
            let time = download.isUndated ? "while the clock was ahead" : "at \(timestamp(at))"
            note(
                "stoppedDownload", version: download.progress.version,
                "the download of version \(download.progress.version) stopped \(time), and nobody has asked for the rest since; castree pull continues it"
            )
        }
    }

    /// Reports what servers could not show since the last check that read every object.
    ///
    /// After such a check its findings count. The order of the log decides which came first.
    private mutating func judgeDamage(_ events: [EventLogEntry]) {
        // Without a number (of an older castree, or of a log that is gone) only the clocks are left.
        let event = lastCheck?.wholeEvent.flatMap { $0 <= events.last?.sequence ?? 0 ? $0 : nil }
        let damage = events.filter { entry in
            guard entry.event.name == "failed", entry.event.text("deed") == StoreEvent.showing
            else { return false }
            if let event { return entry.sequence > event }
            return entry.at > lastCheck?.wholeEndedAt ?? .min
        }
        guard let last = damage.last, let failure = last.event.failure else { return }
        let others = damage.count - 1
        note(
            failure.code,
            "a server could not show an object at \(timestamp(last.at)): \(last.event.text("message") ?? "")"
                + (others > 0 ? "; castree log lists \(others) more" : ""))
    }

    /// Reports pages that a service worker keeps in place of those of the current or pending version, unless a page
    /// of that version has confirmed it since.
    private mutating func judgeStalePages(_ events: [EventLogEntry], _ now: Int64) {
        guard let last = events.lastIndex(where: { $0.event.name == "stalePage" }),
            let version = events[last].event.text("version"),
            now - events[last].at <= Self.staleMax,
            version == lifecycle.current || version == lifecycle.pending,
            !events[last...].contains(where: { $0.event == .confirmed(version: version) })
        else { return }
        let shown = events[last].event.text("from")
        note(
            "stalePage", version: version,
            "a service worker showed \(shown.map { "version \($0)" } ?? "an older page") in place of version "
                + "\(version) at \(timestamp(events[last].at)): its script or one that it imports, and "
                + "the page that it keeps, must differ from version to version, and a script that unregisters itself "
                + "comes before none; castree serve --service-workers refuse does without workers"
        )
    }

    /// Reports a pending version whose starts a server took back because it had refused what may be its pages'.
    ///
    /// That counts nothing against the version, so it would be tried and taken back for ever.
    private mutating func judgeHeldBack(_ events: [EventLogEntry]) {
        guard let pending = lifecycle.pending else { return }
        let confirmed = events.lastIndex { $0.event == .confirmed(version: pending) }
        let leaves = events[(confirmed ?? 0)...].filter {
            $0.event.name == "rollback" && $0.event.text("from") == pending
                && $0.event.text("reason") == StoreEvent.refusedPages
        }
        guard let first = leaves.first else { return }
        note(
            "heldBack", version: pending,
            "version \(pending) has been held back since \(timestamp(first.at)): \(counted(leaves.count, "start")) "
                + "could not be confirmed while a server refused files, or connections to the bridge, that may be its "
                + "page's; see whether one client holds all places for pages (castree serve --access-log), then "
                + "start the server again"
        )
    }

    /// Reports signed origins whose last pointer has expired, so that something newer may be withheld.
    private mutating func judgeEnds(_ trust: StoreTrust, _ now: Int64) {
        for origin in trust.origins {
            for (channel, end) in origin.ends.sorted(by: { $0.key < $1.key })
            where max(now, origin.latest) > end {
                note(
                    "expiredPointer",
                    "what \(origin.places.first ?? origin.id ?? "") offers in channel \(channel) was signed until "
                        + "\(timestamp(end)), and nothing newer has come: its publisher has to sign it again (castree resign), or somebody is hiding newer pointers"
                )
            }
        }
    }

    /// Reports an origin whose answers are older than one obeyed before: restored from a copy, or behind a cache.
    ///
    /// A cache may be behind for a moment; there is none before a directory or a bucket.
    private mutating func judgeOlder(_ asked: AskedOrigin) {
        guard let since = asked.wentBackSince else { return }
        // An origin that cannot be parsed is asked over a network.
        let location = try? OriginReference(parsing: asked.origin).location
        var isCached = true
        if case .directory = location { isCached = false }
        if case .bucket = location { isCached = false }
        guard !isCached || asked.wentBackTimes > 1 else { return }
        note(
            EventLogFailure.olderCopy,
            "\(asked.origin) went back: since \(timestamp(since)) it offers something older than before, so nothing is taken from it; publish there again, or use pull --force if nothing is signed"
        )
    }

    private mutating func judge(_ asked: AskedOrigin, _ now: Int64) {
        judgeOlder(asked)
        guard let since = asked.failingSince else { return }
        if let obstacle = asked.obstacle {
            let subject =
                obstacle.failure.isOfStore
                ? "the store cannot take updates from \(asked.origin)"
                : "updates from \(asked.origin) fail"
            note(
                obstacle.failure.code,
                "\(subject) since \(timestamp(since)), and retrying alone does not help: \(obstacle.reason)"
            )
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
}
