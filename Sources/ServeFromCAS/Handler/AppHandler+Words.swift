import CASStore
import Synchronization
import VersionTree

// What follows from what a page says of itself. It may prove less than its requests do, never more: a service worker
// that keeps pages shows an old one where the server has answered the navigation with another version.
extension AppHandler {
    /// What a confirmation, or a report of a kept page, comes from.
    struct Witness: Sendable {
        var session: BridgeSessionID
        /// The version that its requests tell; `nil` if they tell none, or several.
        var answered: String?
        /// What the page says of itself.
        var word: PageWord?
        /// The browser that the cookie names.
        var browser: String?
    }

    /// Whether a page whose navigation was answered with a version may be of it.
    private func isOf(_ answered: String, _ word: PageWord?) -> Bool {
        guard let word else { return true }
        return word.version?.description == answered
    }

    /// A start by a browser whose service worker may show another page in its place, and which pages were heard of in its time.
    struct StartBehindWorker: Sendable {
        var version: String
        var token: String
        /// The browser; `nil` if it may be any.
        var browser: String?
        /// Whether they were older ones of that browser alone; `nil` if there were none.
        var isOlderAlone: Bool?
    }

    /// A start begins behind a worker.
    ///
    /// - Parameter isOfScript: whether the worker's script makes it, beside the pages that are open. A navigation may end
    ///   one, or be another tab's: only a page that has just come may be what the worker shows for it.
    func noteStart(
        of version: String, _ token: String, in browser: String?, isOfScript: Bool
    ) {
        let since = SystemClock.now - .seconds(30)
        let late = heardAt.withLock { $0 }
        let isHeard = bridge.sessions.contains {
            mayBe($0, of: browser) && (isOfScript || late[$0] ?? .zero >= since)
        }
        let start = StartBehindWorker(
            version: version, token: token, browser: browser,
            isOlderAlone: isHeard ? !isShown(version) : nil)
        startBehindWorker.withLock { $0 = start }
    }

    /// A page is heard of for the first time; it may be gone again when the time of a start ends.
    func noteHeard(_ session: BridgeSessionID) {
        heardAt.withLock { $0[session] = SystemClock.now }
        let version = page(of: session)
        startBehindWorker.withLock { start in
            guard let begun = start else { return }
            if version == begun.version {
                start?.isOlderAlone = false
            } else if begun.isOlderAlone == nil, mayBe(session, of: begun.browser) {
                start?.isOlderAlone = true
            }
        }
    }

    /// Whether a session's page may be in a browser; what is not known may be.
    private func mayBe(_ session: BridgeSessionID, of browser: String?) -> Bool {
        let own = pins.withLock { $0.browser(ofSession: session.description) }
        return own == nil || browser == nil || own == browser
    }

    /// The version that a page vouches for: the one that its requests tell, if it says the same, or another that its
    /// browser was given, with a page or with the worker that shows it; else `nil`.
    func proven(_ witness: Witness) -> String? {
        if let answered = witness.answered, isOf(answered, witness.word) { return answered }
        guard let own = witness.word?.version,
            pins.withLock({
                $0.wasGiven(
                    own, session: witness.session.description, browser: witness.browser)
            })
        else { return nil }
        return own.description
    }

    /// The answer to a confirmation by a page that is not of the version which its requests tell.
    ///
    /// Nothing is known good because of it; may wait for other processes.
    func unproven(_ witness: Witness, _ method: Method) -> Response {
        if let answered = witness.answered { takeBackUnshown(answered, witness) }
        if let own = witness.word?.version,
            startup == nil || shelf.lifecycle.knownGood.contains(own.description)
        {
            return Self.empty(204)
        }
        guard let answered = witness.answered else {
            if witness.word == nil { isRefused.store(true, ordering: .relaxed) }
            return PlainAnswer.response(
                409, "The server cannot tell which version this page has.", method: method)
        }
        return PlainAnswer.response(
            409,
            "This page is not of version \(answered), which the server has sent: a service worker keeps it.",
            method: method)
    }

    /// Takes back a start whose navigation was answered, where the page that came of it says that it is of another
    /// version; may wait for other processes.
    func takeBackUnshown(_ session: BridgeSessionID) {
        let name = session.description
        let (answered, word) = pins.withLock { ($0.answered(session: name), $0.words[name]) }
        guard let answered, !isOf(answered.description, word) else { return }
        takeBackUnshown(answered.description, Witness(session: session, word: word))
    }

    /// - Parameter deed: what the worker has done with a version.
    func takeBackUnshown(_ answered: String, _ witness: Witness, _ deed: String = "showed") {
        guard let startup, startup.ask({ $0.isWatching(answered) }), !isShown(answered) else {
            return
        }
        _ = pins.withLock {
            $0.noteKeeping(session: witness.session.description, browser: witness.browser)
        }
        recordStalePage(insteadOf: answered, witness.word)
        let shown = witness.word?.version.map { "version \($0)" } ?? "an older page"
        takeBackUnshown(answered, "a service worker \(deed) \(shown) in its place", startup)
    }

    /// Takes back a start of whose page the browser's cache had files of another version.
    ///
    /// - Parameter rests: whether the version waits as after a strike.
    func takeBackMixed(_ answered: String, _ witness: Witness, rests: Bool) {
        guard let startup, startup.ask({ $0.isWatching(answered) }),
            !isShown(answered, besides: witness.session)
        else { return }
        let other = witness.word?.version.map { "version \($0)" } ?? "another version"
        takeBackUnshown(
            answered, "the browser's cache showed files of \(other) in its page", startup,
            rests: rests)
    }

    /// Whether a page that is open shows a version.
    private func isShown(_ version: String, besides: BridgeSessionID? = nil) -> Bool {
        bridge.sessions.contains { $0 != besides && page(of: $0) == version }
    }

    /// - Returns: whether that could be decided.
    @discardableResult
    private func takeBackUnshown(
        _ version: String, _ reason: String, _ startup: StartWatch, rests: Bool = false
    ) -> Bool {
        do throws(StoreError) {
            let left = try startup.judge { (judge, ledger) throws(StoreError) in
                try judge.takeBackUnshown(version, reason, rests: rests, ledger)
            }
            if let left { tellRollback(left.from, left.reason) }
            follow()
            return true
        } catch {
            startTrouble.tell("unable to take back a start that nobody saw: \(error.message)")
            return false
        }
    }

    /// Takes back a start whose time is over and whose browser has a worker, if older pages alone were heard of in its time:
    /// the worker waits behind them, has kept for the next page what came, or had its page there before the browser's own
    /// navigation came.
    ///
    /// Nor does one count during which the server refused what may be its page's: by cookies that are not its browser's, or
    /// because two pages could not be told apart. Then the version waits as after a strike, or it would be started at once again.
    /// - Returns: whether what is left may be judged; not if such a start stands, since it could not be taken back.
    func takeBackWaiting(_ startup: StartWatch) -> Bool {
        guard let token = startup.ask({ $0.isOver ? $0.watchedToken : nil }),
            let version = shelf.lifecycle.current
        else { return true }
        if isContradicted.load(ordering: .relaxed) {
            return takeBackUnshown(
                version,
                "it was not confirmed, and cookies that other servers have set contradicted its page's",
                startup, rests: true)
        }
        if let start = startBehindWorker.withLock({ $0 }), start.token == token,
            startup.ask({ $0.isWatching(version) }),
            start.isOlderAlone == true, !isShown(version)
        {
            // What was refused was the worker's, which installs: it comes back.
            return takeBackUnshown(version, "its service worker shows an older page", startup)
        }
        if isRefused.load(ordering: .relaxed) {
            return takeBackUnshown(
                version,
                "it was not confirmed, and the server had refused files, or a connection to the bridge, that may be its page's",
                startup, rests: true)
        }
        return true
    }

    /// A version starts: a page of it that is open may have said that it works, before its navigation came.
    func heedEarlierWords(of version: String, _ startup: StartWatch) throws(StoreError) {
        let sessions = Set(bridge.sessions)
        let isVouchedFor = earlyWords.withLock { words in
            words.contains { $0.value == version && sessions.contains($0.key) }
        }
        if isVouchedFor { _ = try startup.confirm(version) }
    }
}
