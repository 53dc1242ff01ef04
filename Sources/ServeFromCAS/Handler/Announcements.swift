import VersionTree

/// What has been said of versions, to pages and to the operator, so that nothing is said twice.
struct Announcements: Sendable {
    /// A version that was rolled back because it did not start well.
    struct Rollback: Sendable {
        var version: String
        var reason: String
        /// Seconds since 1970.
        var at: Int64
        /// How many pages that replace pages of that version are still to be told.
        var untoldCount: Int

        /// - Parameter page: the version of the page that is told.
        func event(to page: String?) -> BridgeEvent {
            .rolledBack(version: version, reason: reason, own: page == version, at: at)
        }
    }

    /// The version that pages were last told of, or had from the start.
    private var ready: (version: String, reloads: Bool)?
    /// Of versions that were not shown again.
    private var rollbacks: [Rollback] = []
    /// When it was said which page is kept in place of which version.
    private(set) var stalePages: [String: Duration] = [:]

    /// More rollbacks than happen during one page's life; a page of an older one is told what is ready.
    private static let rollbackCountMax = 8
    /// The most pages of different versions recorded in half a day, each once.
    private static let kept = (countMax: 16, pause: Duration.seconds(43_200))

    /// The pages come from another store.
    mutating func forgetVersions() { (ready, rollbacks) = (nil, []) }

    /// - Parameter reloads: whether pages are to reload themselves.
    /// - Returns: the event for all pages; `nil` if they have been told.
    mutating func becomesReady(_ version: String, reloads: Bool) -> BridgeEvent? {
        if let ready, ready.version == version, ready.reloads || !reloads { return nil }
        ready = (version, reloads)
        return .versionReady(version: version, reload: reloads)
    }

    /// Whether pages were told to reload themselves for a version.
    func reloads(for version: String) -> Bool { ready.map { $0 == (version, true) } ?? false }

    /// - Returns: the rollback, by any process, that a change of the lifecycle was.
    mutating func changes(
        _ before: Lifecycle, _ now: Lifecycle
    ) -> (version: String, reason: String)? {
        // Shown again, a version may be rolled back again, and that is news.
        rollbacks.removeAll { $0.version == now.current }
        guard let left = before.current, let current = now.current, left != current else {
            return nil
        }
        if let ban = now.bad.first(where: { $0.version == left && !before.bad.contains($0) }) {
            return (left, ban.reason)
        }
        guard before.boot?.version == left, !before.knownGood.contains(left), now.pending == left
        else { return nil }
        return (left, "it was started and not confirmed")
    }

    /// - Parameter ownCount: how many pages of the version are open. Each of them is about to reload, even one that
    ///   could not connect, if only by hand.
    /// - Returns: `nil` if this was told, either after the change of the lifecycle or by the process that made it.
    mutating func rollBack(
        _ version: String, _ reason: String, at time: Int64, ownCount: Int
    ) -> Rollback? {
        guard !rollbacks.contains(where: { $0.version == version }) else { return nil }
        let new = Rollback(
            version: version, reason: reason, at: time, untoldCount: max(1, ownCount))
        rollbacks = rollbacks.suffix(Self.rollbackCountMax - 1) + [new]
        return new
    }

    /// What a page that has just connected is told: that its version was rolled back, or which versions it replaces.
    ///
    /// A page of a rolled-back version must learn that it was its own, because it then reloads itself. The page that it
    /// gets learns once what failed: the app may want to say so, and the failed page could not.
    mutating func rollbacks(toldTo page: String?) -> [Rollback] {
        if let own = rollbacks.first(where: { $0.version == page }) { return [own] }
        let places = rollbacks.indices.filter { rollbacks[$0].untoldCount > 0 }
        for place in places { rollbacks[place].untoldCount -= 1 }
        return places.map { rollbacks[$0] }
    }

    /// - Parameter shown: the version of the kept page, if it is known.
    /// - Returns: whether that is news.
    mutating func staysKept(_ shown: String?, insteadOf version: String, now: Duration) -> Bool {
        let key = "\(shown ?? "") \(version)"
        stalePages = stalePages.filter { now - $0.value < Self.kept.pause }
        let isNews = stalePages[key] == nil && stalePages.count < Self.kept.countMax
        if isNews { stalePages[key] = now }
        return isNews
    }

    /// Whether a worker has kept a page in place of a version, which a page of it now confirms.
    mutating func isConfirmed(_ version: String) -> Bool {
        let count = stalePages.count
        stalePages = stalePages.filter { !$0.key.hasSuffix(" " + version) }
        return stalePages.count < count
    }
}
