package import CASStore

// What has no page to start with.
extension StartJudge {
    /// Leaves a version that somebody made current and that no page can be shown of: it was not started, so
    /// it waits, as if it had been made pending.
    ///
    /// - Returns: `nil` where it is known good or the way back itself, where there is nothing to go back to, or
    ///   another process has the lock.
    package mutating func leaveUnshown(
        _ version: String, _ reason: String, _ ledger: some StartLedger
    ) throws(StoreError) -> LeftVersion? {
        guard try ledger.takeLock() else { return nil }
        defer { if watchedToken == nil { ledger.releaseLock() } }
        // By what is on disk now: another process may have settled it until we had the lock.
        let lifecycle = try ledger.lifecycle()
        guard lifecycle.current == version, isDue(lifecycle) else { return nil }
        let left = try ledger.leave(unshown: version, reason: reason, strikes: rules.strikes)
        guard left != nil else { return nil }
        if let watchedToken { stopWatching(token: watchedToken, ledger) }
        holdBack(try ledger.lifecycle())
        return left
    }

    /// Notes that what is pending cannot be shown: until something changes no page is told that it waits.
    package mutating func holdBack(_ lifecycle: Lifecycle) { heldBack = lifecycle }
}

extension Lifecycle {
    /// Leaves a version that nobody could be shown, so that it was never started, or not by this process.
    ///
    /// Starts of before count as they did; of its own accord this counts nothing.
    package mutating func leave(
        unshown version: String, _ reason: String, _ request: StartRequest,
        _ versions: some StartableVersions
    ) throws(StoreError) -> LeftVersion? {
        guard current == version else { return nil }
        try recognize(version, versions)
        guard isOnTrial(version) else { return nil }
        if let boot = unconfirmed, Self.isOfAnotherSystem(boot, request),
            let left = try takeBack(boot, request, versions)
        {
            return left
        }
        return try leave(reason, request, versions)
    }
}
