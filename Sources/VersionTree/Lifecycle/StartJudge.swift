package import CASStore

/// The store as a judge of starts sees it; of its own process it knows only whether that has the lock.
package protocol StartLedger: Sendable {
    func lifecycle() throws(StoreError) -> Lifecycle
    /// Returns `false` while another process has the lock.
    func takeLock() throws(StoreError) -> Bool
    func releaseLock()
    /// Makes a start, adding token, time and system to the request.
    func begin(_ request: StartRequest) throws(StoreError) -> Begun
    func leave(_ departure: Departure, failedAttempts: Int) throws(StoreError) -> LeftVersion?
    func confirm(_ version: String, token: String) throws(StoreError)
}

/// Judges the starts of one process, as a value without clock or disk.
///
/// It decides when a page or the app starts a version, watches the start until it is confirmed, and rolls back when
/// its time is over. Of several processes only the one with the lock watches and judges.
package struct StartJudge: Sendable, Hashable {
    package struct Rules: Sendable, Hashable {
        /// The time in the foreground in which a start must be confirmed; `nil` for no limit.
        package var allowed: Duration?
        package var failedAttempts = Lifecycle.usualFailedAttempts
        /// The time in the foreground after which a version that waits after a failed start is started again.
        package var rest = Duration.seconds(6 * 3600)
        /// The most time that counts between two looks; a later look judges nothing, because the process stood still.
        package var pace = Duration.seconds(2)
        /// Whether ``StartJudge/tick(now:)`` is called continually; otherwise time counts by the clock of the app.
        package var isTicking = true

        package init(allowed: Duration?) { self.allowed = allowed }
    }

    struct Watched: Sendable, Hashable {
        var version: String
        var token: String
        /// The remaining time; `nil` if there is no limit, or there was nothing to roll back to.
        var left: Duration?
        /// Whether its time is over and there was nothing to roll back to.
        var isOverdue = false
    }

    let rules: Rules
    private(set) var watched: Watched?
    var booted: String?
    /// Whether this process has had its first start: only that one retries a version that waits after a failed start.
    var hasStarted = false
    /// The version that was rolled back to, until its next page: that page is the reload, which starts nothing.
    private var reloading: String?
    /// The token of a start whose process died before this one began.
    var abandoned: String?
    /// The lifecycle under which a page began without starting the pending version: the lock was taken, or it failed.
    ///
    /// Until this changes, pages are not told that a version is pending.
    package var heldBack: Lifecycle?
    /// The lifecycle in which a start did not switch to the pending version, which then waits whatever its name.
    var refused: Lifecycle?
    var restLeft: Duration
    var lastLook: Duration?
    private var isForeground = true
    private var hasEnded = false
    /// Whether the pending version waits for the first page of the next process.
    package var defersPending = false

    package init(_ rules: Rules, _ ledger: some StartLedger) {
        self.rules = rules
        restLeft = rules.rest
        do throws(StoreError) {
            guard let boot = try ledger.lifecycle().unconfirmed, boot.isWatched,
                try ledger.takeLock()
            else { return }
            ledger.releaseLock()
            abandoned = boot.token
        } catch {
            // Without a lock nothing is started; the first page reports why.
        }
    }

    // MARK: Questions

    /// Whether a page may have to be judged before it is answered.
    package func isDue(_ lifecycle: Lifecycle) -> Bool {
        guard !hasEnded, lifecycle.current != nil || lifecycle.pending != nil else { return false }
        if isReload(lifecycle) { return true }
        // First a start that is being watched is confirmed or rolled back.
        if let watched, watched.version == lifecycle.current, !watched.isOverdue { return false }
        return booted == nil || waits(lifecycle) || isNew(lifecycle) || isUnwatched(lifecycle)
    }

    /// Whether the next page is the reload that follows a rollback, unless another version was made current.
    private func isReload(_ lifecycle: Lifecycle) -> Bool {
        reloading != nil && reloading == lifecycle.current
    }

    /// Whether the current version was started but not confirmed, and no process watches it.
    private func isUnwatched(_ lifecycle: Lifecycle) -> Bool {
        guard let boot = lifecycle.unconfirmed else { return false }
        return !boot.isWatched && boot.version == lifecycle.current && boot.token != watched?.token
    }

    /// Whether the next page starts the pending version, as far as can be told.
    package func startsPending(_ lifecycle: Lifecycle) -> Bool {
        waits(lifecycle) && !isReload(lifecycle) && isDue(lifecycle) && heldBack != lifecycle
    }

    /// The version that a page that begins now would show.
    package func candidate(_ lifecycle: Lifecycle) -> String? {
        waits(lifecycle) && !isReload(lifecycle) ? lifecycle.pending : lifecycle.current
    }

    /// Whether a version that waits after a failed start may be started.
    private var mayRetry: Bool { !hasStarted || restLeft <= .zero }

    private func waits(_ lifecycle: Lifecycle) -> Bool {
        if lifecycle == refused, restLeft > .zero { return false }
        return lifecycle.pending.map { mayStart($0, lifecycle) } ?? false
    }

    /// Whether a pending version may be started: not while it waits after a failed start or for the next process.
    package func mayStart(_ pending: String, _ lifecycle: Lifecycle) -> Bool {
        if defersPending, hasStarted, lifecycle.current != nil { return false }
        return mayRetry || lifecycle.current == nil || !lifecycle.isResting(pending)
    }

    /// Whether a version was made current that was neither started nor confirmed yet.
    private func isNew(_ lifecycle: Lifecycle) -> Bool {
        guard let current = lifecycle.current else { return false }
        return lifecycle.boot?.version != current && !lifecycle.knownGood.contains(current)
    }

    package var watchedToken: String? { watched?.token }

    /// How long until the time of the watched start is over; `nil` if no time runs.
    package func remaining(now: Duration) -> Duration? {
        guard isForeground, let left = watched?.left else { return nil }
        return max(.zero, left - max(.zero, now - (lastLook ?? now)))
    }

    // MARK: Starting

    /// The app starts or switches: an unconfirmed start that no process watches has failed.
    package mutating func start(
        _ ledger: some StartLedger, now: Duration
    ) throws(StoreError) -> Begun {
        pass(now)
        var request = StartRequest(failedAttempts: rules.failedAttempts)
        request.mayRetry = mayRetry
        hasStarted = true
        return try begin(request, ledger, hasLock: ledger.takeLock())
    }

    /// Starts a pending or unconfirmed current version when a GET serves a page, answered 200 with the app's HTML.
    /// - Parameter isCounted: whether the start counts against the content if it is not confirmed.
    /// - Returns: what was started; `nil` if there was nothing to do, or another process has the lock.
    package mutating func pageBegins(
        _ lifecycle: Lifecycle, _ ledger: some StartLedger, now: Duration, isCounted: Bool = true
    ) throws(StoreError) -> Begun? {
        guard isDue(lifecycle) else { return nil }
        pass(now)
        // Stays if nothing is started, or if what follows throws.
        heldBack = lifecycle
        let isReload = isReload(lifecycle)
        reloading = nil
        if isReload {
            hasStarted = true
            heldBack = nil
            return nil
        }
        // Starts after the first retry nothing, however this one ends.
        let isFirst = !hasStarted
        defer { hasStarted = true }
        guard try ledger.takeLock() else { return nil }
        defer { if watched == nil { ledger.releaseLock() } }
        // Decide by what is on disk now: another process may have acted before we had the lock.
        let lifecycle = try ledger.lifecycle()
        heldBack = lifecycle
        guard isDue(lifecycle) else { return nil }
        var request = StartRequest(failedAttempts: rules.failedAttempts)
        request.mayRetry = isFirst || restLeft <= .zero
        request.takesPending = isFirst || !defersPending
        request.successor = watched?.isOverdue == true ? .judges : .adopts(besides: abandoned)
        request.isCounted = isCounted
        let begun = try begin(request, ledger, hasLock: true)
        heldBack = nil
        return begun
    }

    /// Counts the start that this process watches, if it did not count so far, and gives it the full time.
    package mutating func count(
        _ version: String, _ ledger: some StartLedger
    ) throws(StoreError) {
        guard let watched, watched.version == version, !watched.isOverdue,
            let boot = try ledger.lifecycle().unconfirmed, boot.token == watched.token,
            boot.isUncounted
        else { return }
        var request = StartRequest(failedAttempts: rules.failedAttempts)
        (request.mayRetry, request.takesPending) = (false, false)
        request.successor = .adopts(besides: nil)
        _ = try begin(request, ledger, hasLock: true)
    }

    private mutating func begin(
        _ request: StartRequest, _ ledger: some StartLedger, hasLock: Bool
    ) throws(StoreError) -> Begun {
        defer { if watched == nil, hasLock { ledger.releaseLock() } }
        var request = request
        // A process that does not watch has found the lock taken.
        (request.isWatching, request.isLockTaken) = (hasLock, !hasLock)
        let begun = try ledger.begin(request)
        if request.mayRetry || begun.left != nil { restLeft = rules.rest }
        booted = begun.version
        watched = nil
        let lifecycle = try ledger.lifecycle()
        refused = lifecycle.pending != nil && request.takesPending ? lifecycle : nil
        guard begun.kind != .joined, lifecycle.unconfirmed?.token == begun.token else {
            return begun
        }
        watched = Watched(version: begun.version, token: begun.token, left: rules.allowed)
        return begun
    }

    // MARK: Watching

    /// Follows other processes: drops a start that they ended, and takes over one whose process has died.
    package mutating func follow(
        _ lifecycle: Lifecycle, _ ledger: some StartLedger, now: Duration
    ) throws(StoreError) {
        guard isNews(lifecycle) else { return }
        pass(now)
        // What was read before may be older than a start of our own.
        let lifecycle = try ledger.lifecycle()
        guard !hasEnded, isNews(lifecycle) else { return }
        stopWatching(ledger)
        guard let boot = lifecycle.unconfirmed, boot.isWatched, boot.token != abandoned,
            try ledger.takeLock()
        else { return }
        booted = boot.version
        watched = Watched(version: boot.version, token: boot.token, left: rules.allowed)
    }

    private func isNews(_ lifecycle: Lifecycle) -> Bool {
        let boot = lifecycle.unconfirmed
        if let watched { return watched.token != boot?.token }
        return boot?.isWatched == true && boot?.token != abandoned
    }

    /// Confirms a version on behalf of a page or the app, whichever process started it.
    /// - Returns: whether that version is known good now.
    package mutating func confirm(
        _ version: String, _ ledger: some StartLedger
    ) throws(StoreError) -> Bool {
        let (isGood, token) = try Self.confirm(for: version, ledger)
        if let token { stopWatching(token: token, ledger) }
        return isGood
    }

    /// Confirms a version; returns whether it is known good now, and the token of the start that this ended.
    static func confirm(
        for version: String, _ ledger: some StartLedger
    ) throws(StoreError) -> (isGood: Bool, token: String?) {
        let lifecycle = try ledger.lifecycle()
        guard let boot = lifecycle.boot, boot.version == version, lifecycle.current == version,
            !lifecycle.knownGood.contains(version)
        else { return (lifecycle.knownGood.contains(version), nil) }
        do throws(StoreError) {
            try ledger.confirm(version, token: boot.token)
        } catch {
            // It was rolled back just now.
            guard error.code == .wrongToken else { throw error }
            return (false, nil)
        }
        return (true, boot.token)
    }

    /// Stops watching the start with that token, which was confirmed or rolled back.
    package mutating func stopWatching(token: String, _ ledger: some StartLedger) {
        if watched?.token == token { stopWatching(ledger) }
    }

    private mutating func stopWatching(_ ledger: some StartLedger) {
        guard watched != nil else { return }
        watched = nil
        ledger.releaseLock()
    }

    /// - Returns: whether to judge the start once all arrived input is read; `false` if the last look was long ago.
    package mutating func tick(now: Duration) -> Bool {
        let isLate = pass(now)
        return !isLate && isOver
    }

    /// Wakes up when the time of a start should be over, for callers that do not look continually.
    /// - Returns: whether to judge it now; `false` if the call is late, because then the process stood still.
    package mutating func wake(due deadline: Duration, now: Duration) -> Bool {
        let isLate = now - deadline > rules.pace
        pass(isLate ? deadline : now)
        lastLook = now
        // As long as it takes to read what arrived meanwhile.
        if isLate, isOver { watched?.left = rules.pace }
        return !isLate && isOver
    }

    package mutating func judge(
        _ ledger: some StartLedger
    ) throws(StoreError) -> LeftVersion? {
        guard isOver, let late = watched else { return nil }
        do throws(StoreError) {
            let left = try ledger.leave(
                .unconfirmed(late.version, token: late.token, reason: reason),
                failedAttempts: rules.failedAttempts)
            // Otherwise it was confirmed or rolled back elsewhere.
            stopWatching(ledger)
            guard let left else { return nil }
            booted = left.current
            hasStarted = true
            reloading = left.current
            restLeft = rules.rest
            return left
        } catch {
            // If there is nothing better to show, a late confirmation is welcome; a disk may recover soon.
            if error.code == .nothingToRollBackTo {
                watched?.left = nil
                watched?.isOverdue = true
                // The pending version need not wait for it any longer, here or elsewhere.
                heldBack = nil
                ledger.releaseLock()
            } else {
                watched?.left = Self.retryPause
            }
            throw error
        }
    }

    private static let retryPause = Duration.seconds(5)

    package var isOver: Bool { watched?.left.map { $0 <= .zero } ?? false }
    package var isOverdue: Bool { watched?.isOverdue ?? false }

    private var reason: String {
        let count = (rules.allowed ?? .zero).milliseconds
        let words = count % 1000 == 0 ? "\(count / 1000) s" : "\(count) ms"
        return "it was not confirmed within \(words)"
    }

    /// - Returns: whether the last look was so long ago that the process must have stood still.
    @discardableResult
    private mutating func pass(_ now: Duration) -> Bool {
        let passed = max(.zero, now - (lastLook ?? now))
        lastLook = max(now, lastLook ?? now)
        guard rules.isTicking else {
            if isForeground { count(passed) }
            return false
        }
        if isForeground { count(min(passed, rules.pace)) }
        return passed > rules.pace
    }

    private mutating func count(_ counted: Duration) {
        if let left = watched?.left { watched?.left = left - counted }
        restLeft = max(.zero, restLeft - counted)
    }

    /// Time in the background does not count: the page may not even run.
    package mutating func setForeground(_ isForeground: Bool, now: Duration) {
        pass(now)
        self.isForeground = isForeground
    }

    mutating func letGo(_ ledger: some StartLedger) {
        hasEnded = true
        stopWatching(ledger)
    }

    /// Ends the process in an orderly way, taking back a start that is not yet confirmed.
    package mutating func end(_ ledger: some StartLedger) throws(StoreError) {
        hasEnded = true
        guard let watched else { return }
        defer { stopWatching(ledger) }
        _ = try ledger.leave(
            .stopped(watched.version, token: watched.token), failedAttempts: rules.failedAttempts)
    }
}
