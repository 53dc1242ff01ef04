public import CASStore
public import VersionTree

// What happens to versions that are there: they running, prove good or not, make room.

extension UpdateManager {
    /// The app starts: adopts what it was shipped with, counts the attempt durably, and says what to
    /// show.
    ///
    /// Goes back first from a version that was started before and never confirmed. Call it before anything
    /// is shown; a process that calls it again gets the same answer.
    /// - Returns: what to show; `nil` if there is nothing yet, and ``update()`` must bring it.
    /// - Throws: what booting throws; a shipped version that cannot be adopted is an error only if
    ///   there is nothing else.
    public func start() throws(StoreError) -> BootReport? {
        if let running { return running.report }
        if let embedded = options.embedded {
            do throws(StoreError) {
                try versions.adopt(embedded, app: options.app)
            } catch {
                journal.record(error, during: "embedded")
                let current = try versions.lifecycle().current
                if current == nil { throw error }
                tell(error, during: "embedded")
            }
        }
        let lifecycle = try versions.lifecycle()
        guard lifecycle.current != nil || lifecycle.pending != nil else { return nil }
        return try boot()
    }

    /// A page is about to be loaded: switches to a version that waits for this.
    /// - Returns: what to show; `nil` if it is what was shown before.
    public func navigationBegins() throws(StoreError) -> BootReport? {
        try switchIfDue(at: .navigation)
    }

    /// Vouches for the version that started, then makes room: retires versions that are not needed and
    /// collects what only they had.
    ///
    /// - Throws: `.wrongToken` when another version or start is the one that runs. What goes wrong with
    ///   making room is told, not thrown.
    public func confirm(_ version: String, token: String) throws(StoreError) {
        try versions.confirm(version, token: token)
        if running?.report.version == version, running?.report.token == token {
            running?.isSettled = true
            running?.timer = nil
            watchStart()
        }
        tell(.confirmed(version: version))
        tidy()
        // What became ready meanwhile may have waited for this.
        do throws(StoreError) {
            _ = try switchIfDue(at: .ready)
        } catch {
            journal.record(error, during: "switch")
            tell(error, during: "switch")
        }
    }

    /// Goes back to the newest known good version and bans the current one, by request.
    /// - Returns: what to show.
    /// - Throws: `.nothingToRollBackTo`.
    @discardableResult
    public func rollback(
        reason: String = "rolled back by request"
    ) throws(StoreError) -> BootReport {
        try goOn(after: versions.rollback(reason: reason), reason)
    }

    /// Starts what a version was left for.
    private func goOn(
        after left: (current: String, from: String), _ reason: String
    ) throws(StoreError) -> BootReport {
        tell(.rolledBack(version: left.current, from: left.from, reason: reason))
        return try boot()
    }

    /// Notes whether the app is in the foreground; in the background no time runs against a start.
    public func setForeground(_ isForeground: Bool) {
        self.isForeground = isForeground
        running?.timer?.setForeground(isForeground, now: clock.now)
        watchStart()
    }

    // MARK: Starting and judging

    private func boot() throws(StoreError) -> BootReport {
        let report = try versions.boot()
        let lifecycle = try versions.lifecycle()
        let isKnownGood = lifecycle.knownGood.contains(report.version)
        var timer: ForegroundTimer?
        if !isKnownGood, let allowed = options.confirmWithin {
            timer = ForegroundTimer(allowed, isForeground: isForeground, now: clock.now)
        }
        running = Start(report: report, isSettled: isKnownGood, timer: timer)
        if let from = report.rolledBackFrom {
            let ban = lifecycle.bad.first { $0.version == from }
            tell(
                .rolledBack(
                    version: report.version, from: from,
                    reason: ban?.reason ?? "it could not be shown"))
        }
        if forcedVersion == report.version { forcedVersion = nil }
        if try owed.version() == report.version { try owed.set(nil) }
        tell(.started(report))
        watchStart()
        return report
    }

    /// Switches to what waits, if this is the moment.
    func switchIfDue(at moment: SwitchMoment) throws(StoreError) -> BootReport? {
        let lifecycle = try versions.lifecycle()
        guard let pending = lifecycle.pending else { return nil }
        guard decide(on: pending, lifecycle, moment) == .switchNow else { return nil }
        // Left before it could prove itself: neither good nor bad.
        if !isSettled(lifecycle) { try versions.activate(pending) }
        return try boot()
    }

    private func decide(
        on pending: String, _ lifecycle: Lifecycle, _ moment: SwitchMoment
    ) -> SwitchDecision {
        SwitchDecision.decide(
            options.policy, isForced: forcedVersion == pending || lifecycle.current == nil,
            at: moment,
            // Judged by the next start only: nothing to wait for.
            isSettled: isSettled(lifecycle) || running != nil && options.confirmWithin == nil)
    }

    /// Whether the start of the current version needs no confirmation any more, by whichever process
    /// it was made.
    private func isSettled(_ lifecycle: Lifecycle) -> Bool {
        if let running, running.report.version == lifecycle.current { return running.isSettled }
        guard let boot = lifecycle.boot, boot.version == lifecycle.current else { return true }
        return lifecycle.knownGood.contains(boot.version)
    }

    /// What a version that is ready waits for.
    func waitsFor(_ version: String) throws(StoreError) -> String {
        let decision = decide(on: version, try versions.lifecycle(), .ready)
        return if case .wait(let reason) = decision { reason } else { "the next start of the app" }
    }

    /// Lets the time of the current start run, if any does.
    func watchStart() {
        watch?.cancel()
        watch = nil
        guard let timer = running?.timer, timer.isRunning else { return }
        let now = clock.now
        let deadline = now + timer.remaining(now: now)
        watch = Task { [weak self, clock] in
            do {
                try await clock.sleep(until: deadline)
            } catch {
                return
            }
            await self?.judgeStart()
        }
    }

    private static let retryPause = Duration.seconds(5)

    private func judgeStart() {
        guard !Task.isCancelled, let late = running, let timer = late.timer else { return }
        guard timer.isOver(now: clock.now) else {
            watchStart()
            return
        }
        do throws(StoreError) {
            let reason = "it was not confirmed within \(allowedInWords)"
            let left = try versions.rollback(
                unconfirmed: late.report.version, token: late.report.token, reason: reason)
            guard let left else {
                // Confirmed or left by somebody else meanwhile.
                running?.timer = nil
                running?.isSettled = true
                return
            }
            _ = try goOn(after: left, reason)
        } catch {
            // Without anything better to show a confirmation is welcome however late it comes; a disk
            // that is full or failing may be better soon.
            let isFinal = error.code == .nothingToRollBackTo
            running?.timer =
                isFinal
                ? nil
                : ForegroundTimer(Self.retryPause, isForeground: isForeground, now: clock.now)
            journal.record(error, during: "rollback")
            tell(error, during: "rollback")
            watchStart()
        }
    }

    private var allowedInWords: String {
        let milliseconds = (options.confirmWithin ?? .zero).milliseconds
        return milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }

    // MARK: Making room

    /// Retires what the plan of retention says, and collects.
    private func tidy() {
        do throws(StoreError) {
            let plan = try versions.planRetention(.generations(options.keptGoodCount))
            let retired = try versions.retire(plan)
            let collected = try versions.collect()
            if !retired.isEmpty || collected.objectCount > 0 {
                tell(.tidied(versions: retired, bytes: collected.byteCount))
            }
        } catch {
            journal.record(error, during: "tidy")
            tell(error, during: "tidy")
        }
    }
}
