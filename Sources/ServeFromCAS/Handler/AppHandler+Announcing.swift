import CASStore
import Synchronization
import VersionTree

// What pages are told about versions. `version-ready` promises that the next navigation gets that version: a page
// reloads because of it, and would reload endlessly if it got another one.
extension AppHandler {
    /// Looks for changes and tells the pages; may wait for other processes.
    func follow() {
        guard lookForStore() else { return }
        if let change = cache.refresh() {
            let left = announcements.withLock { $0.changes(change.before, change.now) }
            if let left { tellRollback(left.version, left.reason) }
            options.onLifecycleChange?(change.before, change.now)
        }
        announcements.withLock { said in
            guard let ready = nextVersion,
                let event = said.becomesReady(ready, reloads: starts.reloads)
            else { return }
            for page in pages
            where !page.isNewcomer && page.version != ready && getsNext(ready, page.session) {
                bridge.announce(event, to: page.session)
            }
        }
    }

    func noteSession(_ change: BridgeSessionChange) {
        switch change {
        case .opened(let session):
            // Whose page it is, is not known yet.
            pins.withLock { $0.open(session: session.description, isNewcomer: true) }
        case .closed(let session, _):
            pins.withLock { $0.leave(session: session.description, now: SystemClock.now) }
        case .refused:
            // It may be the page that was to confirm the version shown.
            starts.note(.refused)
        }
    }

    /// Notes that a session uses a connection; the first time, tells its page what waits for it.
    ///
    /// That may have come between the page's navigation and its greeting. Never waits.
    func hold(
        _ session: BridgeSessionID, _ connection: ConnectionID, saying query: BridgeQuery
    ) {
        let (name, now) = (session.description, SystemClock.now)
        let (isBack, heard) = pins.withLock { pins -> (Bool, PinTable.Heard?) in
            // It may have ended.
            guard pins.sessions[name] != nil else { return (false, nil) }
            let isBack = pins.hold(
                session: name, connection: connection.raw, word: query.word,
                address: query.address, isEmbedded: query.isEmbedded,
                isFromNetwork: query.isFromNetwork, now: now)
            return (isBack, pins.hear(session: name, now: now))
        }
        guard let (version, browser) = heard else {
            if isBack { _ = storeWork.add { self.tellOfLoss(to: session) } }
            return
        }
        starts.hear(version, in: browser)
        // A start in progress may wait for the store, and so may a look for the page's version. If the queue is full,
        // the session is told with its next request, or at the next change.
        guard startup != nil || !isHere(version) else { return welcome(session) }
        _ = storeWork.add { self.welcome(session) }
    }

    private func welcome(_ session: BridgeSessionID) {
        takeBackUnshown(session)
        // The store is asked first: loops may wait for the lock.
        let isLost = isLost(page(of: session))
        announcements.withLock { said in
            guard pins.withLock({ $0.welcome(session: session.description) }) else { return }
            // Last: a page that the back button restored reloads only if `version-ready` is the first event it gets.
            defer { if let token = keptToken { bridge.give(token: token, to: session) } }
            let own = page(of: session)
            for left in said.rollbacks(toldTo: own) {
                bridge.announce(left.event(to: own), to: session)
            }
            tellOutlived(session, of: own)
            guard let ready = nextVersion else { return }
            // A page that cannot be told from others cannot have a version that has not begun.
            let page = own ?? cache.current?.site.version.description
            guard page != ready, getsNext(ready, session) else { return }
            // What was to be shown at once stays so if a worker hid its start.
            let reloads = said.reloads(for: ready) || starts.reloads || isLost
            bridge.announce(.versionReady(version: ready, reload: reloads), to: session)
        }
    }

    /// Tells all pages that a version was rolled back, unless they were told.
    func tellRollback(_ version: String, _ reason: String) {
        let isNews = announcements.withLock { said in
            let pages = pages
            let ownCount = pages.count { $0.version == version }
            let new = said.rollBack(version, reason, at: secondsNow(), ownCount: ownCount)
            guard let new else { return false }
            for page in pages where !page.isNewcomer {
                bridge.announce(new.event(to: page.version), to: page.session)
            }
            return true
        }
        if isNews { notice("version \(version) was rolled back: \(reason)") }
    }

    /// Tells a page that it has outlived the server which watched the start of its version.
    ///
    /// Nobody watches that start until a navigation repeats it, so the page reloads itself, once in this process. A
    /// version that was never started, such as one opened by a stranger's link, has lost nothing.
    private func tellOutlived(_ session: BridgeSessionID, of own: String?) {
        guard let own, let startup else { return }
        let lifecycle = cache.lifecycle
        let isDue = startup.ask {
            $0.candidate(lifecycle) == own && $0.isDue(lifecycle) && $0.heldBack != lifecycle
        }
        guard isDue, lifecycle.isBeingTried(own), getsNext(own, session),
            lifecycle.attempts.contains(where: { $0.version == own })
        else { return }
        // If this cannot be determined, a navigation finds out.
        if let watcher = try? store.versions.startWatcher(), watcher.process != nil { return }
        let reason = "the server that had started it ended before anything confirmed that it works"
        bridge.announce(
            .rolledBack(version: own, reason: reason, own: true, at: begunAt), to: session)
    }

    /// Tells a page that was away whether its version has gone meanwhile: it gets 409 until it is loaded again.
    private func tellOfLoss(to session: BridgeSessionID) {
        guard isLost(page(of: session)) else { return }
        announcements.withLock { _ in
            guard let ready = nextVersion, getsNext(ready, session)
            else { return }
            bridge.announce(.versionReady(version: ready, reload: true), to: session)
        }
    }

    private func isHere(_ page: String?) -> Bool {
        // Of a page whose version has no valid name nothing is known.
        guard let page, let version = try? VersionName(page) else { return true }
        return cache.entry(version) != nil
    }

    /// Whether the store no longer has a page's version; may wait for the store.
    ///
    /// A version that it has stays in the cache, and so pinned, for the page.
    private func isLost(_ page: String?) -> Bool {
        guard let page, !isHere(page) else { return false }
        do throws(StoreError) {
            _ = try cache.open(VersionName(page))
            return false
        } catch {
            return error.code == .noVersion
        }
    }

    /// Whether a session's page gets a version with its next navigation; pages embedded elsewhere start it only once.
    func getsNext(_ version: String, _ session: BridgeSessionID) -> Bool {
        if cache.current?.site.version.description == version { return true }
        let isKnown = mayBeStartedByOthers(version)
        return pins.withLock { $0.mayStart(session: session.description, again: isKnown) }
    }

    /// The pages of all open sessions, and which have not been told yet what waits for them.
    var pages: [(session: BridgeSessionID, version: String?, isNewcomer: Bool)] {
        pins.withLock { pins in
            bridge.sessions.map { session in
                let name = session.description
                let version = pins.version(session: name)?.description
                return (session, version, pins.sessions[name]?.isNewcomer == true)
            }
        }
    }

    func page(of session: BridgeSessionID) -> String? {
        pins.withLock { $0.version(session: session.description)?.description }
    }

    /// What the next navigation gets; may wait for a start in progress.
    var nextVersion: String? {
        let lifecycle = cache.lifecycle
        if let pending = lifecycle.pending, cache.isFollowing,
            startup?.ask({ $0.startsPending(lifecycle) }) == true
        {
            return pending
        }
        return cache.current?.site.version.description
    }
}

/// Reports the progress of a download by any process: `castree pull` in another terminal, or this one.
///
/// It reads the progress from the store, like the dashboard, so the downloading process need not know of it. All
/// threads share one watch.
final class DownloadWatch: Sendable {
    private struct State {
        /// How many bytes of each incomplete version the last look found.
        var seen: [String: Int64] = [:]
        /// How many bytes of each were here at the first look, which do not count as progress.
        var before: [String: Int64] = [:]
        /// The version that pages were last told of, and how many bytes it was missing, until it is complete.
        var told: (version: String, total: Int64)?
        /// No look before this time; its cost grows with the size of the incomplete versions.
        var nextAt = Duration.zero
        /// How long looks pause because nothing grows.
        var idle = Duration.zero
        var isLooking = false
    }

    /// Limits looks to a tenth of one processor, however long each takes.
    private static let restFactor = 10
    /// While nothing incomplete grows, the pauses double, from the first to the last.
    private static let idle = (first: Duration.milliseconds(500), last: Duration.seconds(30))

    private let store: @Sendable () -> VersionStore
    private var versions: VersionStore { store() }
    private let state = Mutex(State())
    /// Looks have their own queue: with many objects, one takes seconds.
    let work = WorkQueue()

    init(_ store: @escaping @Sendable () -> VersionStore) { self.store = store }

    /// Forgets what it saw, because nobody listens.
    func rest() {
        state.withLock { state in
            // A look under way remains the only one.
            let isLooking = state.isLooking
            state = State()
            state.isLooking = isLooking
        }
    }

    /// Looks on another thread, if it is time, and reports what is new; never waits.
    func look(now: Duration, tell: @escaping @Sendable (BridgeEvent) -> Void) {
        let isDue = state.withLock { state -> Bool in
            guard !state.isLooking, now >= state.nextAt else { return false }
            state.isLooking = true
            return true
        }
        guard isDue else { return }
        let isTaken = work.add {
            let event = self.look(now: now)
            self.state.withLock { $0.isLooking = false }
            if let event { tell(event) }
        }
        // If no thread can be started, it is tried again.
        if !isTaken { state.withLock { $0.isLooking = false } }
    }

    /// The newest version that has grown since the last look; may wait for the disk.
    func look(now: Duration) -> BridgeEvent? {
        guard state.withLock({ now >= $0.nextAt }) else { return nil }
        let began = SystemClock.now
        // Pages do without; the downloading process reports a store that cannot be read.
        guard let progress = try? versions.progress() else { return nil }
        let took = SystemClock.now - began
        let (grown, gone) = state.withLock { state -> (BridgeEvent?, (String, Int64)?) in
            let before = state.seen
            let grown = progress.first { $0.presentBytes > before[$0.version] ?? .max }
            state.seen = [:]
            var first: [String: Int64] = [:]
            for each in progress {
                state.seen[each.version] = each.presentBytes
                // A part that turned out to be wrong is removed again.
                first[each.version] = min(
                    state.before[each.version] ?? each.presentBytes, each.presentBytes)
            }
            state.before = first
            let isIdle = !progress.isEmpty && state.seen == before
            state.idle = isIdle ? min(max(state.idle * 2, Self.idle.first), Self.idle.last) : .zero
            state.nextAt = now + max(took * Self.restFactor, state.idle)
            var gone: (String, Int64)?
            if let told = state.told, state.seen[told.version] == nil {
                gone = told
                state.told = nil
            }
            guard let grown else { return (nil, gone) }
            let here = first[grown.version] ?? 0
            state.told = (grown.version, grown.totalBytes - here)
            return (
                .progress(
                    done: grown.presentBytes - here, total: grown.totalBytes - here,
                    version: grown.version), gone
            )
        }
        if let grown { return grown }
        // A version that is no longer incomplete may have been retired; if that is unclear, report nothing.
        guard let (version, total) = gone,
            let row = try? versions.store.versionRow(version), row.isComplete
        else { return nil }
        return .progress(done: total, total: total, version: version)
    }
}

extension VersionProgress {
    fileprivate var presentBytes: Int64 {
        min(totalBytes, totalBytes - missingBytes + stagedBytes)
    }
}
