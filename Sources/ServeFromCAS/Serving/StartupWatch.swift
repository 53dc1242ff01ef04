import CASStore
import Synchronization
import VersionTree

/// Sees to it that a version that starts badly is left again.
///
/// A pending version is started by the first navigation after it came; the start is counted durably
/// before the page is answered. If no page of it confirms in time, the store goes back to the newest
/// known good version. One for all threads.
///
/// Of several servers on one store only the one that has the ``StartClaim`` starts and watches; the
/// others serve. If it dies, another one goes on watching, with the whole time anew. A server that
/// begins after that counts the start as failed instead, as after its own death.
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
        /// While a start is watched.
        var claim: StartClaim?
        /// What was started last, by this server.
        var booted: String?
        /// The token of a start that is not to be taken over: its server had died before this one
        /// began, or it is none of a server's.
        var foreign: String?
        /// The lifecycle under which a page began and did not start what is pending.
        ///
        /// Another server has the claim, or it failed. Until it changes no page is told that it waits.
        var heldBack: Lifecycle?
        var isForeground = true
        var hasEnded = false

        /// The start is settled, one way or another.
        mutating func settle() {
            start = nil
            claim?.settle()
            claim = nil
        }
    }

    private let versions: VersionStore
    private let allowed: Duration
    private let state: Mutex<State>

    init(_ versions: VersionStore, allowed: Duration) {
        self.versions = versions
        self.allowed = allowed
        var state = State()
        state.foreign = Self.abandoned(versions)
        self.state = Mutex(state)
    }

    /// The start that nobody watches any more.
    private static func abandoned(_ versions: VersionStore) -> String? {
        do throws(StoreError) {
            guard let boot = unconfirmed(try versions.lifecycle()),
                try StartClaim.take(versions) != nil
            else { return nil }
            return boot.token
        } catch {
            // Where there is no claim nothing is started; the first page tells why.
            return nil
        }
    }

    /// The start of the current version that nobody has vouched for.
    private static func unconfirmed(_ lifecycle: Lifecycle) -> Lifecycle.Boot? {
        guard let boot = lifecycle.boot, boot.version == lifecycle.current,
            !lifecycle.knownGood.contains(boot.version)
        else { return nil }
        return boot
    }

    /// Whether ``pageBegins(_:now:)`` may have something to do; never waits.
    func isDue(_ lifecycle: Lifecycle) -> Bool {
        // Somebody is at it: whoever comes meanwhile has to wait for it elsewhere.
        state.withLockIfAvailable { Self.isDue(lifecycle, $0) } ?? true
    }

    /// Whether the next page starts what is pending, as far as can be said; may wait for other processes.
    func startsPending(_ lifecycle: Lifecycle) -> Bool {
        state.withLock { state in
            guard lifecycle.pending != nil, !state.hasEnded else { return false }
            return Self.isDue(lifecycle, state) && state.heldBack != lifecycle
        }
    }

    /// A page is about to be loaded: starts what waits to be started.
    ///
    /// That is a pending version; and one that `activate` made current, here or in another process,
    /// and that nobody has vouched for. May wait for other processes.
    ///
    /// - Returns: what was rolled back because it had been started before and never confirmed.
    func pageBegins(_ lifecycle: Lifecycle, now: Duration) throws(StoreError) -> BootReport? {
        guard state.withLock({ Self.isDue(lifecycle, $0) }) else { return nil }
        // Under the lock: two pages that begin at once are one start. A second one would count as the
        // first having failed.
        return try state.withLock { (state) throws(StoreError) -> BootReport? in
            guard !state.hasEnded else { return nil }
            // Stands if it comes to no start, or what follows throws.
            state.heldBack = lifecycle
            var taken = state.claim
            if taken == nil { taken = try StartClaim.take(versions) }
            guard let claim = taken else { return nil }
            // By what is on disk now: another server may have done it until we had the claim.
            let lifecycle = try versions.lifecycle()
            state.heldBack = lifecycle
            guard Self.isDue(lifecycle, state) else { return nil }
            if let boot = Self.unconfirmed(lifecycle), boot.token != state.foreign,
                try claim.token() == boot.token
            {
                watch(boot.version, boot.token, claim, &state, now)
                return nil
            }
            let report = try versions.boot()
            state.heldBack = nil
            if try versions.lifecycle().knownGood.contains(report.version) {
                state.settle()
            } else {
                try claim.note(report.token)
                watch(report.version, report.token, claim, &state, now)
            }
            state.booted = report.version
            return report
        }
    }

    private func watch(
        _ version: String, _ token: String, _ claim: StartClaim, _ state: inout State,
        _ now: Duration
    ) {
        state.claim = claim
        state.booted = version
        state.start = Start(
            version: version, token: token, left: allowed,
            runsSince: state.isForeground ? now : nil)
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

    /// Notes what other processes have done: lets go of a start that they have settled, and takes over
    /// one whose server has died.
    ///
    /// - Parameter lifecycle: as it was last read.
    func follow(_ lifecycle: Lifecycle, now: Duration) throws(StoreError) {
        guard state.withLock({ Self.isNews(lifecycle, $0) }) else { return }
        try state.withLock { (state) throws(StoreError) in
            // What was read before may be older than a start of our own.
            let lifecycle = try versions.lifecycle()
            guard !state.hasEnded, Self.isNews(lifecycle, state) else { return }
            state.settle()
            guard let boot = Self.unconfirmed(lifecycle),
                let claim = try StartClaim.take(versions)
            else { return }
            guard try claim.token() == boot.token else {
                state.foreign = boot.token
                return
            }
            watch(boot.version, boot.token, claim, &state, now)
        }
    }

    private static func isNews(_ lifecycle: Lifecycle, _ state: State) -> Bool {
        let token = unconfirmed(lifecycle)?.token
        if let start = state.start { return start.token != token }
        return token != nil && token != state.foreign
    }

    /// A page says that its version has started well, whichever server started it.
    ///
    /// - Returns: whether that version is known good now.
    func confirm(_ version: String) throws(StoreError) -> Bool {
        let lifecycle = try versions.lifecycle()
        guard let boot = Self.unconfirmed(lifecycle), boot.version == version else {
            return lifecycle.knownGood.contains(version)
        }
        do throws(StoreError) {
            try versions.confirm(version, token: boot.token)
        } catch {
            // Left by somebody else in this moment.
            guard error.code == .wrongToken else { throw error }
            return false
        }
        state.withLock { state in
            if state.start?.token == boot.token { state.settle() }
        }
        return true
    }

    /// Leaves starting and watching to another server.
    func end() {
        state.withLock { state in
            state.hasEnded = true
            state.claim = nil
        }
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
            let reason = "no page confirmed that it started within \(allowedInWords)"
            let left = try versions.rollback(
                unconfirmed: late.version, token: late.token, reason: reason)
            letGo()
            // Else confirmed or left by somebody else meanwhile.
            return left == nil ? nil : (late.version, reason)
        } catch {
            // Without anything better to show a confirmation is welcome however late it comes; a disk
            // that is full or failing may be better soon.
            let isFinal = error.code == .nothingToRollBackTo
            keepWaiting(late, left: isFinal ? nil : Self.retryPause, now)
            throw error
        }
    }

    private static let retryPause = Duration.seconds(5)

    private func letGo() {
        state.withLock { state in
            if state.start == nil { state.settle() }
        }
    }

    private func keepWaiting(_ late: Start, left: Duration?, _ now: Duration) {
        state.withLock { state in
            guard state.start == nil else { return }
            state.start = late
            state.start?.left = left
            state.start?.runsSince = now
            if left == nil {
                // What is pending need not wait for it any more.
                state.heldBack = nil
                state.claim?.settle()
                state.claim = nil
            }
        }
    }

    private var allowedInWords: String {
        let milliseconds = allowed.milliseconds
        return milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }
}
