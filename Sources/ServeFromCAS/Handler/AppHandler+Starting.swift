import CASStore
import Synchronization
import VersionTree
import WebServer

// What must be done for a page before it is answered.
extension AppHandler {
    /// Before a page is answered: takes in changes of the lifecycle, and starts a version that waits.
    ///
    /// May wait for other processes; `isBusy` if one has locked the store for so long that nothing was started.
    /// - Parameter browser: its browser, if that has a service worker.
    func begin(_ asked: inout PageRequest, _ request: PinRequest, withWorkerOf browser: String?) {
        asked.hasBegun = true
        follow()
        guard let startup else { return }
        // By then the request has been answered, so nothing starts any more.
        asked.isBusy = asked.end.map { SuspendingClock.now >= $0 } ?? false
        guard !asked.isBusy else { return }
        do throws(StoreError) {
            if let start = try start(&asked, request, startup),
                try begin(asked.head, request, startup, withWorkerOf: browser)
            {
                asked.head = start
            }
        } catch {
            // A store that cannot be written would report this for each page.
            startFailure.tell("unable to start the pending version: \(error.message)")
            asked.isBusy = error.code == .locked
        }
    }

    /// - Returns: whether anything has started.
    private func begin(
        _ head: RequestHead, _ request: PinRequest, _ startup: StartWatch,
        withWorkerOf browser: String?
    ) throws(StoreError) -> Bool {
        let lifecycle = cache.lifecycle
        let isUntrusted = mayBeOfStranger(head, request)
        let isOthers = isUntrusted || head.isFromAnotherOrigin
        let begun = try startup.judge { (judge, ledger) throws(StoreError) in
            try judge.pageBegins(lifecycle, ledger, now: SystemClock.now, isCounted: !isOthers)
        }
        guard let begun else {
            // A watcher that still runs will report its judgement soon enough.
            if let watcher = try otherWatcher(), watcher.isStopped {
                startFailure.tell(watcher.watching)
            }
            return false
        }
        startFailure.end()
        starts.begin(
            begun.version, byToken: head.hasSecret, isOthers: isOthers,
            behind: worker(head, in: browser, before: begun))
        if let left = begun.left { tellRollback(left.from, left.reason) }
        // An open page of it may have confirmed it before its navigation came.
        let isConfirmed = pins.withLock { pins in
            pins.sessions.values.contains { $0.earlyWord == begun.version }
        }
        if isConfirmed { _ = try startup.confirm(begun.version) }
        follow()
        // Not before: until then the cookies of other pages name what is current.
        if isUntrusted { starts.note(.untrusted) } else { starts.end(.untrusted) }
        return true
    }

    /// Lets the judge leave the current version, and tells the pages if it did.
    @discardableResult
    func leave(
        _ startup: StartWatch,
        _ decide: (inout StartJudge, any StartLedger) throws(StoreError) -> LeftVersion?
    ) throws(StoreError) -> Bool {
        guard let left = try startup.judge(decide) else { return false }
        // Before anyone else notices the change without knowing the reason.
        tellRollback(left.from, left.reason)
        follow()
        return true
    }

    func isPageNews(_ head: borrowing RequestHead) -> Bool {
        if cache.hasNews { return true }
        guard let startup, StartRule.mayStart(head) else { return false }
        let lifecycle = cache.lifecycle
        // Another thread is doing it: requests that come meanwhile have to wait on a thread that may.
        return startup.askIfFree { $0.isDue(lifecycle) } ?? true
    }

    /// Whether a page of another site may be behind a navigation, as far as can be told.
    ///
    /// Over plain http to a name other than localhost browsers do not say, and such a page can keep its own address to
    /// itself (Referrer Policy). What it cannot make a frame or `fetch` send is the cookie (`Lax`); a Referer of this
    /// server's is also that of the app's own page in its frame.
    private func mayBeOfStranger(_ head: RequestHead, _ request: PinRequest) -> Bool {
        guard tokenPolicy == nil, !head.isWorkerScript, head.value(of: "sec-fetch-site") == nil,
            head.value(of: "sec-fetch-mode") == nil, request.cookie == nil
        else { return false }
        // At localhost they say it: what does not is a tool.
        return (head.authority ?? head.host).map { !HostPolicy.isLoopback(head.bytes[$0]) } ?? false
    }

    /// Counts a start that a page of another site may have made, from the first request with the cookie that its
    /// answer set: it has become a page of this server's.
    func heedCookie(of head: RequestHead) {
        guard head.load == .subresource, let startup, let current = cache.current,
            PinRequest(head, cookieName: cookieName, seal: parts.pageSeal, connection: 0).cookie?
                .version == current.site.version,
            starts.end(.untrusted)
        else { return }
        let version = current.site.version.description
        let isTaken = storeWork.add {
            do throws(StoreError) {
                try startup.judge { (judge, ledger) throws(StoreError) in
                    try judge.count(version, ledger)
                }
                self.starts.letOthersStart(version)
                self.follow()
            } catch {
                self.starts.note(.untrusted)
                self.startFailure.tell("unable to count the start of a version: \(error.message)")
            }
        }
        if !isTaken { starts.note(.untrusted) }
    }

    func mayBeStartedByOthers(_ version: String) -> Bool {
        cache.lifecycle.knownGood.contains(version) || starts.mayOthersStart(version)
    }

    /// Starts the current version where a worker has shown it before any request could: if the browser came without
    /// its cookie, the server did not know of its worker when it sent that version's script.
    func startsUnasked(
        _ version: String, _ witness: Witness, _ startup: StartWatch
    ) throws(StoreError) -> Bool {
        let lifecycle = cache.lifecycle
        guard lifecycle.current == version,
            startup.ask({ $0.isDue(lifecycle) && $0.candidate(lifecycle) == version }),
            pins.withLock({ $0.isOfWorker(version, witness.session.description) })
        else { return false }
        let begun = try startup.judge { (judge, ledger) throws(StoreError) in
            try judge.pageBegins(lifecycle, ledger, now: SystemClock.now)
        }
        return begun?.version == version
    }

    /// Another process that watches a start; `nil` if there is none, or it cannot be named.
    func otherWatcher() throws(StoreError) -> LockHolder? {
        guard let watcher = try store.versions.startWatcher(), !watcher.isThis else { return nil }
        return watcher
    }

    /// The request to answer if a page starts a version; otherwise `nil`, perhaps with an answer in its place.
    /// - Throws: `.locked` if that cannot be determined before the request's time is over.
    private func start(
        _ asked: inout PageRequest, _ request: PinRequest, _ startup: StartWatch
    ) throws(StoreError) -> RequestHead? {
        let (head, lifecycle) = (asked.head, cache.lifecycle)
        guard StartRule.mayStart(head),
            startup.ask({ $0.isDue(lifecycle) }),
            let candidate = startup.ask({ $0.candidate(lifecycle) }),
            !head.isFromAnotherOrigin && !mayBeOfStranger(head, request)
                || mayBeStartedByOthers(candidate)
        else { return nil }
        let site: Site
        do throws(StoreError) {
            site = try cache.open(VersionName(candidate)).site
        } catch {
            // Continuing would wait for the same lock.
            if error.code == .locked { throw error }
            // Starting a version that cannot be shown notices this, and rolls back.
            return head
        }
        if let start = StartRule.start(head, site), canSend(start, site),
            head.isWorkerScript ? bringsPages(start, site) : isOfApp(start, site)
        {
            // What does not follow it has no page, and starts nothing.
            asked.instead = insteadOfLostPage(head, request, site)
            return asked.instead == nil ? start : nil
        }
        guard let reason = startPage.unfitness(of: site) else {
            tellWaiting(head, site)
            return nil
        }
        if candidate != lifecycle.current {
            // It waits for another page; the current version is shown.
            startFailure.tell("version \(candidate) is not started: \(reason)")
            startup.holdBack(lifecycle)
        } else if isShownBetter(head, site, lifecycle) {
            // Nobody has started it, and it has no page for the request.
            try leave(startup) { (judge, ledger) throws(StoreError) in
                try judge.leaveUnshown(candidate, reason, ledger)
            }
        }
        return nil
    }

    /// Reports that a version waits behind a page that only the current one has (`--fallback none`).
    private func tellWaiting(_ head: RequestHead, _ site: Site) {
        guard !head.isWorkerScript, StartRule.start(head, site) == nil,
            let current = cache.current?.site, current.version != site.version,
            StartRule.start(head, current) != nil
        else { return }
        // Without its address: of many pages that would be a line for each visit.
        startFailure.tell(
            "version \(site.version) waits: it does not have the page that a browser has open")
    }

    /// Whether a page is the start page, or loads the bridge; others (terms, a licence) could never confirm a
    /// version.
    private func isOfApp(_ head: RequestHead, _ site: Site) -> Bool {
        guard let start = site.indexResource else { return true }
        let page = Responder.respond(to: head.withoutEncodings, site: site)
        guard case .piece(.object(let object, _, let size)) = page.body, object != start.address
        else { return true }
        return objects.mentions(BridgeScript.path.dropFirst(), object, size: size)
    }

    /// Whether a version's worker brings its pages: it has one at the start, with another script than the current
    /// version's.
    ///
    /// Otherwise the browser continues with its worker. A worker that the version no longer has is removed by
    /// ``removingWorker(_:)``.
    private func bringsPages(_ head: RequestHead, _ site: Site) -> Bool {
        guard startPage.unfitness(of: site) == nil else { return false }
        guard let current = cache.current?.site, current !== site else { return true }
        let whole = head.withoutRevalidation
        func script(_ site: Site) -> ObjectID? {
            let response = Responder.respond(to: whole, site: site)
            guard response.head.status == 200,
                case .piece(.object(let script, _, _)) = response.body
            else { return nil }
            return script
        }
        return script(site) != script(current)
    }

    /// Whether a request fails with a version being tried, but would get a page from the one before it.
    private func isShownBetter(_ head: RequestHead, _ site: Site, _ lifecycle: Lifecycle) -> Bool {
        let response = Responder.respond(to: head, site: site)
        guard lifecycle.isBeingTried(site.version.description),
            response.head.status >= 400 || !canSend(head, site)
        else { return false }
        do throws(StoreError) {
            let way = try lifecycle.findWayBack(store.versions, showing: startPage.isShown)
            guard let name = way else { return false }
            let before = try cache.open(VersionName(name)).site
            return StartRule.start(head, before).map { canSend($0, before) } ?? false
        } catch {
            // A version that cannot be shown is no reason to leave another one for it.
            return false
        }
    }

    /// Whether the answer to a request can be sent: verified now, so that decisions based on it are right.
    private func canSend(_ head: RequestHead, _ site: Site) -> Bool {
        let response = Responder.respond(to: head, site: site)
        guard case .piece(.object(let object, _, let size)) = response.body else { return true }
        do throws(StoreError) {
            try objects.verify(object, size: size)
            return true
        } catch { return false }
    }
}

/// What counts as a start: a GET answered with 200 and the app's HTML.
///
/// Pure. HEAD, ranges, 304, 404, redirections, downloads, frames and prefetched pages do not count, because they show
/// nobody a page. Neither do navigations from other sites: nobody waits for such a page to confirm anything.
enum StartRule {
    /// Whether a request may be a start, whatever its answer.
    ///
    /// Where a service worker keeps pages, no navigation comes. The request for the worker's script takes its place,
    /// or the worker's own request for a page.
    static func mayStart(_ head: borrowing RequestHead) -> Bool {
        (head.mayBeginPage || head.method == .get && (head.isWorkerScript || head.isPageOfWorker))
            && !head.isFromAnotherSite
    }

    /// The request to answer if this one starts a version; otherwise `nil`.
    ///
    /// It has no conditions: if the new version's page had the same bytes as the browser's copy, a 304 would not
    /// count as a start, and the version would never start.
    static func start(_ head: RequestHead, _ site: Site) -> RequestHead? {
        guard mayStart(head) else { return nil }
        if head.isWorkerScript {
            // The browser may have it already: it asks again for a waiting worker when that shows pages. If there is
            // none, it gets one that removes itself, and then sends a navigation.
            let whole = Responder.respond(to: head.withoutRevalidation, site: site)
            let fit = head.isImportOfWorker ? [200] : [200, 404]
            return fit.contains(whole.head.status) ? head : nil
        }
        guard Responder(site: site).leadsToPage(head) else { return nil }
        if isPage(Responder.respond(to: head, site: site)) { return head }
        guard head.isBrowserNavigation || head.isPageOfWorker else { return nil }
        let whole = head.withoutRevalidation
        guard whole.fields.count < head.fields.count,
            isPage(Responder.respond(to: whole, site: site))
        else { return nil }
        return whole
    }

    private static func isPage(_ response: Response) -> Bool {
        response.head.status == 200 && response.head.isHTML
    }
}

/// A version's start page: whether it has one that can be sent.
struct StartPage: Sendable {
    let cache: SiteCache
    let objects: ContentCache

    func unfitness(of site: Site) -> String? {
        do throws(StoreError) {
            return try has(site) ? nil : "it has no page to start with (\(site.options.index))"
        } catch { return "its page cannot be shown: \(error.message)" }
    }

    /// Whether a version, current or not, has a start page.
    /// - Throws: what the disk reported, because a retry may succeed.
    func isShown(_ version: String) throws(StoreError) -> Bool {
        do throws(StoreError) {
            return try cache.examine(VersionName(version)) { (site) throws(StoreError) in
                try has(site)
            }
        } catch {
            if error.cause != nil { throw error }
            return false
        }
    }

    private func has(_ site: Site) throws(StoreError) -> Bool {
        guard let index = site.indexResource else { return false }
        try objects.verify(index.address, size: index.byteCount)
        return true
    }
}
