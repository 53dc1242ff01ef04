import CASStore
import Synchronization
import VersionTree

// What follows from a page's report about itself. The report may prove less than the page's requests, never more: a
// service worker may show an old page where the server answered the navigation with another version.
extension AppHandler {
    /// What a confirmation, or a report of a kept page, comes from.
    struct Witness: Sendable {
        var session: BridgeSessionID
        /// The version that its requests show; `nil` if they show none, or several.
        var answered: String?
        var word: PageWord?
        var browser: String?
    }

    private func isOf(_ answered: String, _ word: PageWord?) -> Bool {
        word.map { $0.version?.description == answered } ?? true
    }

    /// The worker that may show another page in place of one that starts a version.
    func worker(
        _ head: RequestHead, in browser: String?, before begun: Begun
    ) -> Starts.BehindWorker? {
        // A module worker's script is asked for without the cookie.
        guard browser != nil || head.isNavigationOfWorker || head.isWorkerScript else { return nil }
        // A worker starts a version (by its script, or a page by its address) beside the open pages. A navigation may end
        // a page, or be another tab's: what the worker shows for it is a page that has just come.
        let isOfWorker = head.isWorkerScript || head.isPageOfWorker
        let since = isOfWorker ? nil : SystemClock.now - .seconds(30)
        let isHeard = pins.withLock { $0.hasHeard(from: browser, since: since) }
        return Starts.BehindWorker(
            version: begun.version, token: begun.token, browser: browser,
            isOlderAlone: isHeard ? !isShown(begun.version) : nil)
    }

    /// The version that a page confirms: the one that its requests show, if it reports the same, or another that its
    /// browser was given with a page or a worker; else `nil`.
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

    /// Refuses a confirmation by a page of another version than its requests show; may wait for other processes.
    func unproven(_ witness: Witness, _ method: Method) -> Response {
        if let answered = witness.answered { takeBackUnshown(answered, witness) }
        if let own = witness.word?.version,
            startup == nil || cache.lifecycle.knownGood.contains(own.description)
        {
            return Self.empty(204)
        }
        guard let answered = witness.answered else {
            if witness.word == nil { starts.note(.refused) }
            return PlainAnswer.response(
                409, "The server cannot tell which version this page has.", method: method)
        }
        return PlainAnswer.response(
            409,
            "This page is not of version \(answered), which the server has sent: a service worker keeps it.",
            method: method)
    }

    /// Takes back a start if the resulting page reports another version; may wait for other processes.
    func takeBackUnshown(_ session: BridgeSessionID) {
        let name = session.description
        let (answered, word) = pins.withLock {
            ($0.answered(session: name), $0.sessions[name]?.word)
        }
        guard let answered, !isOf(answered.description, word) else { return }
        takeBackUnshown(answered.description, Witness(session: session, word: word))
    }

    /// - Parameter operation: what the worker has done with a version.
    func takeBackUnshown(_ answered: String, _ witness: Witness, _ operation: String = "showed") {
        guard let startup, startup.ask({ $0.isWatching(answered) }), !isShown(answered) else {
            return
        }
        _ = pins.withLock {
            $0.noteKeeping(session: witness.session.description, browser: witness.browser)
        }
        recordStalePage(insteadOf: answered, witness.word)
        let shown = witness.word?.version.map { "version \($0)" } ?? "an older page"
        takeBackUnshown(answered, "a service worker \(operation) \(shown) in its place", startup)
    }

    /// Takes back a start whose page got files of another version from the browser's cache.
    /// - Parameter rests: whether the version waits as after a failed start.
    func takeBackMixed(_ answered: String, _ witness: Witness, rests: Bool) {
        guard let startup, startup.ask({ $0.isWatching(answered) }),
            !isShown(answered, besides: witness.session)
        else { return }
        let other = witness.word?.version.map { "version \($0)" } ?? "another version"
        takeBackUnshown(
            answered, "the browser's cache showed files of \(other) in its page", startup,
            rests: rests)
    }

    private func isShown(_ version: String, besides: BridgeSessionID? = nil) -> Bool {
        pages.contains { $0.session != besides && $0.version == version }
    }

    /// - Returns: whether that could be decided.
    @discardableResult
    private func takeBackUnshown(
        _ version: String, _ reason: String, _ startup: StartWatch, rests: Bool = false
    ) -> Bool {
        do throws(StoreError) {
            let isLeft = try leave(startup) { (judge, ledger) throws(StoreError) in
                try judge.takeBackUnshown(version, reason, rests: rests, ledger)
            }
            if !isLeft { follow() }
            return true
        } catch {
            startFailure.tell("unable to take back a start that nobody saw: \(error.message)")
            return false
        }
    }

    /// Takes back a start whose time is over and whose end says nothing of its version.
    /// - Returns: whether the start may be judged; not if it should be taken back but could not be.
    func takeBackWaiting(_ startup: StartWatch) -> Bool {
        let lifecycle = cache.lifecycle
        guard let token = startup.ask({ $0.isOver ? $0.watchedToken : nil }),
            let version = lifecycle.current
        else { return true }
        let excuse = starts.excuse(token: token) {
            startup.ask { $0.isWatching(version) } && !isShown(version)
        } isReturnable: {
            // What the disk refuses, the judge tells.
            lifecycle.unconfirmed?.isUncounted == true
                && (try? lifecycle.findWayBack(store.versions, showing: startPage.isShown)) != nil
        }
        guard let excuse else { return true }
        return takeBackUnshown(version, excuse.reason, startup, rests: excuse.rests)
    }
}
