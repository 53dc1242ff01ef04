public import CASStore
public import VersionTree

// What happens to versions in the store: starting, judging, freeing space.

extension UpdateManager {
    /// Starts the app: adopts the shipped version, counts the attempt durably, and says what to show.
    ///
    /// First rolls back from a version that was started before and never confirmed. Call it before anything is shown; a
    /// second call in the same process returns the same answer.
    ///
    /// - Returns: what to show; `nil` if there is nothing yet, and ``update()`` must fetch it.
    /// - Throws: what booting throws; a failure to adopt the shipped version only if there is nothing else to show.
    public func start() throws(StoreError) -> BootReport? {
        if let running { return running.report }
        if let embedded = options.embedded {
            do throws(StoreError) {
                try versions.adopt(embedded, app: options.app)
            } catch {
                eventLog.record(error, during: "embedded")
                let current = try versions.lifecycle().current
                if current == nil { throw error }
                tell(error, during: .adopting)
            }
        }
        let lifecycle = try versions.lifecycle()
        guard lifecycle.current != nil || lifecycle.pending != nil else { return nil }
        return try boot()
    }

    /// Switches to a version that waits for a navigation; call it before a page loads.
    ///
    /// - Returns: what to show; `nil` if nothing changes.
    public func navigationBegins() throws(StoreError) -> BootReport? {
        try switchIfDue(at: .navigation)
    }

    /// Confirms the version that started, then frees space: retires unneeded versions and collects their objects.
    ///
    /// - Throws: `.wrongToken` if another version or start is running. Failures in freeing space are reported as
    ///   events, not thrown.
    public func confirm(_ version: String, token: String) throws(StoreError) {
        try versions.confirm(version, token: token)
        if running?.report.version == version, running?.report.token == token {
            running?.isTrusted = true
            try starts.judge { (judge, ledger) throws(StoreError) in
                judge.stopWatching(token: token, ledger)
            }
            watchStart()
        }
        tell(.confirmed(version: version))
        tidy()
        // A version that became ready meanwhile may have waited for this.
        switchIfDueOrTell(at: .ready)
    }

    /// Rolls back to the newest known-good version and bans the current one, by request.
    ///
    /// - Returns: what to show.
    /// - Throws: `.nothingToRollBackTo`.
    @discardableResult
    public func rollback(
        reason: String = "rolled back by request"
    ) throws(StoreError) -> BootReport {
        let left = try versions.rollback(reason: reason)
        tell(.rolledBack(version: left.current, from: left.from, reason: reason))
        return try boot()
    }

    /// Ends the app in an orderly way: takes back an unconfirmed start, so that it does not count as failed.
    ///
    /// The third start in a row that is taken back counts all the same. Afterwards this manager starts nothing.
    public func end() throws(StoreError) {
        watch?.cancel()
        try starts.judge { (judge, ledger) throws(StoreError) in try judge.end(ledger) }
    }

    /// Notes whether the app is in the foreground; time in the background does not count against a start.
    ///
    /// Returning to the foreground may be the moment to switch; see ``SwitchPolicy/background(_:)``.
    public func setForeground(_ isForeground: Bool) {
        let now = clock.now
        starts.setForeground(isForeground, now: now)
        watchStart()
        let awayTime = isForeground ? backgroundSince.map { now - $0 } : nil
        backgroundSince = isForeground ? nil : backgroundSince ?? now
        guard let awayTime, case .background(let least) = options.policy, awayTime >= least else {
            return
        }
        switchIfDueOrTell(at: .background)
    }

    /// Reports an error as an event, because no caller waits for it.
    private func switchIfDueOrTell(at point: SwitchPoint) {
        do throws(StoreError) {
            _ = try switchIfDue(at: point)
        } catch {
            eventLog.record(error, during: "switch")
            tell(error, during: .switching)
        }
    }

    // MARK: Starting and judging

    private func boot() throws(StoreError) -> BootReport {
        let now = clock.now
        let begun = try starts.judge { (judge, ledger) throws(StoreError) in
            try judge.start(ledger, now: now)
        }
        let report = BootReport(begun)
        let lifecycle = try versions.lifecycle()
        let isTrusted = lifecycle.unconfirmed?.version != report.version
        running = Start(report: report, isTrusted: isTrusted)
        if let left = begun.left {
            tell(.rolledBack(version: report.version, from: left.from, reason: left.reason))
        }
        if forcedVersion == report.version { forcedVersion = nil }
        if try versions.pendingForcedVersion == report.version {
            try versions.notePendingForced(nil)
        }
        tell(.started(report))
        watchStart()
        return report
    }

    /// Switches to the pending version, if this is the moment.
    func switchIfDue(at point: SwitchPoint) throws(StoreError) -> BootReport? {
        let lifecycle = try versions.lifecycle()
        guard let pending = lifecycle.pending else { return nil }
        guard wait(of: pending, lifecycle, point) == nil else { return nil }
        // After a failed start it waits for the next process, or some hours.
        let now = clock.now
        let mayStart = try starts.judge { (judge, _) in
            // While no start is watched, nothing else makes its time pass.
            _ = judge.tick(now: now)
            return judge.mayStart(pending, lifecycle)
        }
        guard mayStart else { return nil }
        // The current version is left unconfirmed, neither good nor bad.
        if !isTrusted(lifecycle) { try versions.activate(pending) }
        return try boot()
    }

    private func wait(
        of pending: String, _ lifecycle: Lifecycle, _ point: SwitchPoint
    ) -> SwitchWait? {
        options.policy.wait(
            isForced: forcedVersion == pending || lifecycle.current == nil, at: point,
            // Without a time limit only the next start judges it, so there is nothing to wait for.
            isTrusted: isTrusted(lifecycle) || running != nil && options.confirmWithin == nil)
    }

    /// Whether the current version, started by whichever process, needs no further confirmation: it has one, needs
    /// none, or timed out with nothing to roll back to.
    private func isTrusted(_ lifecycle: Lifecycle) -> Bool {
        if let running, running.report.version == lifecycle.current {
            return running.isTrusted || starts.ask { $0.isOverdue }
        }
        return lifecycle.unconfirmed == nil
    }

    func waitsFor(_ version: String) throws(StoreError) -> String {
        (wait(of: version, try versions.lifecycle(), .ready) ?? .nextStart).sentence
    }

    func watchStart() {
        watch?.cancel()
        watch = nil
        let now = clock.now
        guard let left = starts.ask({ $0.remaining(now: now) }) else { return }
        let deadline = now + left
        watch = Task { [weak self, clock] in
            do {
                try await clock.sleep(until: deadline)
            } catch {
                return
            }
            await self?.judgeStart(due: deadline)
        }
    }

    private func judgeStart(due deadline: Duration) {
        guard !Task.isCancelled else { return }
        let now = clock.now
        do throws(StoreError) {
            let left = try starts.judge { (judge, ledger) throws(StoreError) -> LeftVersion? in
                judge.wake(due: deadline, now: now) ? try judge.judge(ledger) : nil
            }
            if let left {
                tell(.rolledBack(version: left.current, from: left.from, reason: left.reason))
                _ = try boot()
                return
            }
            // Another process has confirmed or left it meanwhile.
            if starts.ask({ $0.watchedToken }) == nil { running?.isTrusted = true }
        } catch {
            eventLog.record(error, during: "rollback")
            tell(error, during: .rollingBack)
            // The pending version need not wait for it any longer.
            if error.code == .nothingToRollBackTo { switchIfDueOrTell(at: .ready) }
        }
        watchStart()
    }

    // MARK: Freeing space

    func tidy() {
        do throws(StoreError) {
            if let tidied = try versions.tidy(keptGoodCount: options.keptGoodCount) {
                tell(.tidied(versions: tidied.versions, bytes: tidied.byteCount))
            }
        } catch {
            eventLog.record(error, during: "tidy")
            tell(error, during: .tidying)
        }
    }
}
