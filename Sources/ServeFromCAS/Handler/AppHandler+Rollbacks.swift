import CASStore
import Synchronization
import VersionTree

/// A version that was rolled back because it did not start well.
struct Rollback: Sendable {
    var version: String
    var reason: String
    /// Seconds since 1970.
    var at: Int64
    /// How many pages that replace pages of that version are still to be told.
    var untoldCount: Int
}

// What pages are told about rollbacks. A page of a rolled-back version must learn that it was its own, even if it
// connects later, because it then reloads itself. The page that it gets learns once what failed: the app may want to
// say so, and the failed page could not.
extension AppHandler {
    /// More than happen during one page's life; a page of an older one is told what is ready.
    private static let rollbackCountMax = 8

    func tellRollback(_ version: String, _ reason: String) {
        announceRollback(version, reason)
    }

    /// Checks whether a change of the lifecycle was a rollback, by any process.
    func noteRollback(_ before: Lifecycle, _ now: Lifecycle) {
        if let current = now.current {
            // Shown again, the version may be rolled back again, and that is news.
            rollbacks.withLock { $0.removeAll { $0.version == current } }
        }
        guard let left = before.current, let current = now.current, left != current else { return }
        let ban = now.bad.first { $0.version == left && !before.bad.contains($0) }
        if let ban {
            announceRollback(left, ban.reason)
        } else if before.boot?.version == left, !before.knownGood.contains(left),
            now.pending == left
        {
            announceRollback(left, "it was started and not confirmed")
        }
    }

    private func announceRollback(_ version: String, _ reason: String) {
        // Each of them is about to reload, even one that could not connect, if only by hand.
        let ownCount = bridge.sessions.count { page(of: $0) == version }
        let new = rollbacks.withLock { rollbacks -> Rollback? in
            // Already told, either by the change of the lifecycle or by the process that made it.
            guard !rollbacks.contains(where: { $0.version == version }) else { return nil }
            let new = Rollback(
                version: version, reason: reason, at: secondsNow(), untoldCount: max(1, ownCount))
            if rollbacks.count >= Self.rollbackCountMax { rollbacks.removeFirst() }
            rollbacks.append(new)
            return new
        }
        guard let new else { return }
        notice("version \(version) was rolled back: \(reason)")
        let newcomers = newcomers.withLock { $0 }
        for session in bridge.sessions where !newcomers.contains(session) {
            bridge.announce(event(new, own: page(of: session) == version), to: session)
        }
    }

    /// Tells a page that has just connected that its version was rolled back earlier, or which version it replaces.
    /// - Parameter version: the page's; `nil` if it is unknown.
    func tellEarlierRollbacks(to session: BridgeSessionID, of version: String?) {
        let told = rollbacks.withLock { rollbacks -> [Rollback] in
            if let own = rollbacks.first(where: { $0.version == version }) { return [own] }
            let places = rollbacks.indices.filter { rollbacks[$0].untoldCount > 0 }
            for place in places { rollbacks[place].untoldCount -= 1 }
            return places.map { rollbacks[$0] }
        }
        for left in told { bridge.announce(event(left, own: left.version == version), to: session) }
    }

    /// Tells a page that it has outlived the server which watched the start of its version.
    ///
    /// Nobody watches that start until a navigation repeats it, so the page reloads itself, once in this process. A
    /// version that was never started, such as one opened by a stranger's link, has lost nothing.
    func tellOutlived(_ session: BridgeSessionID, of own: String?) {
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

    private func event(_ left: Rollback, own: Bool) -> BridgeEvent {
        .rolledBack(version: left.version, reason: left.reason, own: own, at: left.at)
    }
}
