import CASStore
import Synchronization
import VersionTree

/// Sees to it that a version that starts badly is left again.
///
/// A pending version is started by the first navigation after it came; the start is counted durably
/// before the page is answered. If no page of it confirms in time, the store goes back to the newest
/// known good version. One for all threads.
final class StartupWatch: Sendable {
    private struct Start {
        var version: String
        var token: String
        /// What is left of the time while pages are in the foreground; `nil` if it is over and there
        /// was nothing to go back to.
        var left: Duration?
        /// Since when the time runs; `nil` while in the background.
        var runsSince: Duration?
    }

    private struct State {
        var start: Start?
        /// What was started last, by this server.
        var booted: String?
        var isForeground = true
    }

    private let versions: VersionStore
    private let allowed: Duration
    private let state = Mutex(State())

    init(_ versions: VersionStore, allowed: Duration) {
        self.versions = versions
        self.allowed = allowed
    }

    /// A page is about to be loaded: starts what waits to be started.
    ///
    /// That is a pending version; and one that `activate` made current, here or in another process,
    /// and that nobody has vouched for.
    ///
    /// - Returns: what was rolled back because it had been started before and never confirmed.
    func pageBegins(_ lifecycle: Lifecycle, now: Duration) throws(StoreError) -> BootReport? {
        guard state.withLock({ Self.isDue(lifecycle, $0) }) else { return nil }
        // Under the lock, by what is on disk now: two pages that begin at once are one start. A second
        // one would count as the first having failed.
        return try state.withLock { (state) throws(StoreError) -> BootReport? in
            guard Self.isDue(try versions.lifecycle(), state) else { return nil }
            let report = try versions.boot()
            let isKnownGood = try versions.lifecycle().knownGood.contains(report.version)
            state.booted = report.version
            state.start =
                isKnownGood
                ? nil
                : Start(
                    version: report.version, token: report.token, left: allowed,
                    runsSince: state.isForeground ? now : nil)
            return report
        }
    }

    private static func isDue(_ lifecycle: Lifecycle, _ state: State) -> Bool {
        guard lifecycle.current != nil || lifecycle.pending != nil else { return false }
        // A start that is being watched is settled first.
        if let start = state.start, start.version == lifecycle.current, start.left != nil {
            return false
        }
        return state.booted == nil || lifecycle.pending != nil || isNew(lifecycle, state)
    }

    /// Whether somebody has made a version current that nobody has started or vouched for yet.
    private static func isNew(_ lifecycle: Lifecycle, _ state: State) -> Bool {
        guard let current = lifecycle.current, current != state.booted else { return false }
        return lifecycle.boot?.version != current && !lifecycle.knownGood.contains(current)
    }

    /// A page says that its version has started well.
    ///
    /// - Returns: whether that version is known good now.
    func confirm(_ version: String) throws(StoreError) -> Bool {
        guard let start = state.withLock({ $0.start }), start.version == version else {
            return try versions.lifecycle().knownGood.contains(version)
        }
        try versions.confirm(version, token: start.token)
        state.withLock { state in
            if state.start?.token == start.token { state.start = nil }
        }
        return true
    }

    /// Time in the background does not count: the page may not even run.
    func setForeground(_ isForeground: Bool, now: Duration) {
        state.withLock { state in
            guard state.isForeground != isForeground else { return }
            state.isForeground = isForeground
            guard var start = state.start else { return }
            if isForeground {
                start.runsSince = now
            } else if let since = start.runsSince {
                start.left = start.left.map { $0 - (now - since) }
                start.runsSince = nil
            }
            state.start = start
        }
    }

    /// Goes back if the time is over.
    ///
    /// - Returns: the version that was left and why, if it was.
    func look(now: Duration) throws(StoreError) -> (version: String, reason: String)? {
        let late = state.withLock { state -> Start? in
            guard let start = state.start, let left = start.left, let since = start.runsSince,
                now - since >= left
            else { return nil }
            state.start = nil
            return start
        }
        guard let late else { return nil }
        do throws(StoreError) {
            let lifecycle = try versions.lifecycle()
            // Confirmed or left by somebody else meanwhile.
            guard lifecycle.current == late.version, lifecycle.boot?.token == late.token else {
                return nil
            }
            let reason = "no page confirmed that it started within \(allowedInWords)"
            _ = try versions.rollback(reason: reason)
            return (late.version, reason)
        } catch {
            // Without anything better to show a confirmation is welcome however late it comes; a disk
            // that is full or failing may be better soon.
            let isFinal = error.code == .nothingToRollBackTo
            keepWaiting(late, left: isFinal ? nil : Self.retryPause, now)
            throw error
        }
    }

    private static let retryPause = Duration.seconds(5)

    private func keepWaiting(_ late: Start, left: Duration?, _ now: Duration) {
        state.withLock { state in
            guard state.start == nil else { return }
            state.start = late
            state.start?.left = left
            state.start?.runsSince = now
        }
    }

    private var allowedInWords: String {
        let milliseconds = allowed.milliseconds
        return milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }
}
