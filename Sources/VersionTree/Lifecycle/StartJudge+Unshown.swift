package import CASStore

// Versions that have no page to start with.
extension StartJudge {
    /// Rolls back from a version that was made current but has no page to show, and makes it pending.
    /// - Returns: `nil` if it is known good or the rollback target, if there is none, or if another process has the
    ///   lock.
    package mutating func leaveUnshown(
        _ version: String, _ reason: String, _ ledger: some StartLedger
    ) throws(StoreError) -> LeftVersion? {
        guard try ledger.takeLock() else { return nil }
        defer { if watchedToken == nil { ledger.releaseLock() } }
        // Decide by what is on disk now: another process may have acted before we had the lock.
        let lifecycle = try ledger.lifecycle()
        guard lifecycle.current == version, isDue(lifecycle) else { return nil }
        let left = try ledger.leave(
            .unshown(version, token: nil, reason: reason), failedAttempts: rules.failedAttempts)
        guard left != nil else { return nil }
        if let watchedToken { stopWatching(token: watchedToken, ledger) }
        holdBack(try ledger.lifecycle())
        return left
    }

    package func isWatching(_ version: String) -> Bool { watched?.version == version }

    /// Takes back the start that this process watches: its page was sent, but the browser showed another version's.
    ///
    /// It was no start, so it does not count, and the next page is the first one again. If there is nothing to roll
    /// back to, the version stays and its next page starts it.
    /// - Parameter rests: whether it nevertheless waits as after a failed start.
    /// - Returns: `nil` if the version stays, or this process does not watch it.
    package mutating func takeBackUnshown(
        _ version: String, _ reason: String, rests: Bool = false, _ ledger: some StartLedger
    ) throws(StoreError) -> LeftVersion? {
        guard let watched, watched.version == version else { return nil }
        let left = try ledger.leave(
            .unshown(version, token: watched.token, reason: reason),
            failedAttempts: rules.failedAttempts)
        let lifecycle = try ledger.lifecycle()
        // It was confirmed meanwhile.
        guard lifecycle.boot?.token != watched.token else { return nil }
        hasStarted = false
        stopWatching(token: watched.token, ledger)
        if rests, left != nil {
            hasStarted = true
            booted = lifecycle.current
            refused = lifecycle
            restLeft = rules.rest
        }
        return left
    }

    /// Notes that the pending version cannot be shown: pages hear of it only once something changes.
    package mutating func holdBack(_ lifecycle: Lifecycle) { heldBack = lifecycle }
}

extension Lifecycle {
    /// Rolls back from a version that could not be shown, and so was never started, or not by this process.
    ///
    /// Earlier starts count as before; this adds none. A start made by `castree boot` and watched by no server ends
    /// here without having been seen, so it does not count either. Nor does the one with `token`, which is over even
    /// if there is nothing to roll back to.
    mutating func leave(
        unshown version: String, token: String?, _ reason: String, _ request: StartRequest,
        _ versions: some StartableVersions
    ) throws(StoreError) -> LeftVersion? {
        guard current == version else { return nil }
        try recognize(version, versions)
        guard isBeingTried(version) else { return nil }
        if let boot = unconfirmed, Self.isOfAnotherSystem(boot, request),
            let left = try takeBack(boot, request, versions)
        {
            return left
        }
        var after = self
        let isOver = unconfirmed.map { $0.token == token } ?? false
        if let boot = unconfirmed, isOver || !boot.isWatched || Self.isUnattributed(boot, request) {
            after.abandonStart()
        }
        guard let left = try after.leave(reason, request, versions) else {
            if isOver { abandonStart() }
            return nil
        }
        self = after
        try forgetTokens(of: version, versions)
        return left
    }
}
