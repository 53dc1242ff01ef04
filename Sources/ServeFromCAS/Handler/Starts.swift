import CASStore
import Synchronization
import VersionTree

/// The start under judgement: who watches it, and what makes its end say nothing of its version.
///
/// Its lock is never held while anything waits, and what every request asks takes none.
final class Starts: Sendable {
    /// What has happened since the last start.
    enum Taint: UInt8 {
        /// A request was in doubt because of cookies that contradict its page.
        case contradicted = 1
        /// A request was refused that may come from a page of the started version.
        case refused = 2
        /// The page of the start came by the address with the token: its browser may keep no cookie.
        case byToken = 4
        /// A page of another site may have made the start, and none of this server's has shown itself since.
        case untrusted = 8
    }

    /// A start by a browser whose service worker may show another page in its place, and the pages that reported
    /// meanwhile.
    struct BehindWorker: Sendable {
        var version: String
        var token: String
        /// The browser; `nil` if it may be any.
        var browser: String?
        /// Whether all of them were older pages of that browser; `nil` if there were none.
        var isOlderAlone: Bool?
    }

    private struct State: Sendable {
        var watch: StartWatch?
        var isForeground = true
        var rule = SwitchingRule()
        var behindWorker: BehindWorker?
        /// The versions that pages of other origins have started: once in a process, because that does not count.
        var byOthers: Set<String> = []
    }

    private let state: Mutex<State>
    private let taints = Atomic<UInt8>(0)

    init(_ watch: StartWatch?) { state = Mutex(State(watch: watch)) }

    var watch: StartWatch? { state.withLock { $0.watch } }

    /// Whether pages reload themselves when another version is ready.
    var reloads: Bool { state.withLock { $0.rule.reloads } }

    func setSwitching(_ rule: SwitchingRule) {
        change { $0.rule = rule }?.deferPending(rule.waitsForStart)
    }

    func setForeground(_ isForeground: Bool) {
        change { $0.isForeground = isForeground }?
            .setForeground(isForeground, now: SystemClock.now)
    }

    /// The judge may wait for the store, so it must not be called under a lock that each page needs.
    private func change(_ change: (inout State) -> Void) -> StartWatch? {
        state.withLock { state in
            change(&state)
            return state.watch
        }
    }

    /// Lets the time of a start run or stop, by what the program and the pages report.
    func noteVisibility(now: Duration, isUnseen: () -> Bool) {
        let (watch, isForeground) = state.withLock { ($0.watch, $0.isForeground) }
        guard let watch else { return }
        let isUnseen = watch.ask { $0.watchedToken != nil } && isUnseen()
        watch.setForeground(isForeground && !isUnseen, now: now)
    }

    /// Another store is served, or none.
    func replace(by new: StartWatch?) {
        let old = state.withLock { state -> StartWatch? in
            defer { state.watch = new }
            if !state.isForeground { new?.setForeground(false, now: SystemClock.now) }
            new?.deferPending(state.rule.waitsForStart)
            return state.watch
        }
        old?.letGo()
    }

    /// - Parameter isOthers: whether a page of another origin may have made the start.
    func begin(_ version: String, byToken: Bool, isOthers: Bool, behind worker: BehindWorker?) {
        for taint in [Taint.contradicted, .refused, .byToken] { end(taint) }
        if byToken { note(.byToken) }
        state.withLock { state in
            state.behindWorker = worker ?? state.behindWorker
            if isOthers { state.byOthers.insert(version) }
        }
    }

    func has(_ taint: Taint) -> Bool { taints.load(ordering: .relaxed) & taint.rawValue != 0 }

    func note(_ taint: Taint) { taints.bitwiseOr(taint.rawValue, ordering: .relaxed) }

    /// - Returns: whether there was that taint.
    @discardableResult
    func end(_ taint: Taint) -> Bool {
        taints.bitwiseAnd(~taint.rawValue, ordering: .relaxed).oldValue & taint.rawValue != 0
    }

    /// A page has reported for the first time.
    /// - Parameter browser: `nil` if it may be in any.
    func hear(_ version: String?, in browser: String?) {
        state.withLock { state in
            guard let start = state.behindWorker else { return }
            if version == start.version {
                state.behindWorker?.isOlderAlone = false
            } else if start.isOlderAlone == nil,
                browser == nil || start.browser == nil || browser == start.browser
            {
                state.behindWorker?.isOlderAlone = true
            }
        }
    }

    func mayOthersStart(_ version: String) -> Bool {
        state.withLock { !$0.byOthers.contains(version) }
    }

    /// The start of a version counts from now on.
    func letOthersStart(_ version: String) { state.withLock { _ = $0.byOthers.remove(version) } }

    /// Why a start whose time is over is taken back instead of judged; `rests`, or it would start at once again.
    /// - Parameters:
    ///   - isHidden: whether no open page is of the version.
    ///   - isReturnable: whether the start does not count, and can be taken back; else it stays for a late confirmation.
    func excuse(
        token: String, isHidden: () -> Bool, isReturnable: () -> Bool
    ) -> (reason: String, rests: Bool)? {
        let but = "it was not confirmed, and "
        if has(.untrusted), isReturnable() {
            return (but + "no page with its cookie came: another site may have opened it", false)
        }
        if has(.contradicted) {
            return (but + "cookies that other servers have set contradicted its page's", true)
        }
        // The worker waits behind older pages, has kept the new page for the next load, or showed its own page before
        // the navigation came. What was refused was the installing worker's, which asks again.
        if let start = state.withLock({ $0.behindWorker }), start.token == token,
            start.isOlderAlone == true, isHidden()
        {
            return ("its service worker shows an older page", false)
        }
        return has(.refused) ? (StoreEvent.refusedPages, true) : nil
    }
}
