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
        /// What is left of the time while pages are in the foreground.
        var left: Duration
        /// Since when the time runs; `nil` while in the background.
        var runsSince: Duration?
    }

    private struct State {
        var start: Start?
        var hasBooted = false
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
            state.hasBooted = true
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
        if lifecycle.pending == nil {
            guard let current = lifecycle.current else { return false }
            // A start that is being watched is settled first.
            if state.start?.version == current { return false }
            return !state.hasBooted || !lifecycle.knownGood.contains(current)
        }
        return state.start == nil || state.start?.version != lifecycle.current
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
                start.left -= now - since
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
            guard let start = state.start, let since = start.runsSince,
                now - since >= start.left
            else { return nil }
            state.start = nil
            return start
        }
        guard let late else { return nil }
        let lifecycle = try versions.lifecycle()
        // Confirmed or left by somebody else meanwhile.
        guard lifecycle.current == late.version, lifecycle.boot?.token == late.token else {
            return nil
        }
        let reason = "no page confirmed that it started within \(allowed.components.seconds) s"
        _ = try versions.rollback(reason: reason)
        return (late.version, reason)
    }
}
