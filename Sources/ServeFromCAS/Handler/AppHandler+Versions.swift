import CASStore
import Synchronization
import VersionTree
import WebServer

// Which version a request gets.
//
// A loop never waits for the store, whose lock another process may keep for any time. Another thread fetches what is
// not in memory and then answers the request.
extension AppHandler {
    /// A page's request, and what was found for its answer.
    struct PageRequest: Sendable {
        var head: RequestHead
        var hasBegun = false
        /// An answer that needs no version.
        var instead: Response?
        /// Decided once: a page that has begun does not begin again.
        var decided: (request: PinRequest, decision: PinTable.Decision)?
        /// `nil` for versions that cannot be served.
        var entries: [VersionName: SiteCache.Entry?] = [:]
        /// Whether another process kept the store locked for too long.
        var isBusy = false
        /// The time by which another process must release the store, for all fetches together.
        var end: SuspendingClock.Instant?
    }

    /// What an answer needs that only a thread which may wait can bring.
    private enum Need: Error {
        /// What a navigation begins; in a browser, if that has a worker.
        case beginning(PinRequest, workerOf: String?)
        case versions([VersionName])
        case allVersions
    }

    func respondCurrent(_ head: borrowing RequestHead, _ state: LoopState) -> Response {
        state.renew(cache)
        return state.respondCurrent(to: head) ?? nothingCurrent(head.method)
    }

    /// - Parameter cookies: the cookies to set besides the pins' own.
    func respondPinned(_ asked: PageRequest, _ exchange: Exchange, _ cookies: [String]) -> Answer {
        var asked = asked
        do throws(Need) {
            let response = try respond(to: &asked, exchange)
            let own = asked.decided.map { removals(of: $0.request, asked.head) } ?? []
            return .response(adding(cookies + own, to: response))
        } catch {
            return later(asked.head, exchange, until: asked.end) { [asked] end in
                self.fetch(error, asked, by: end)
            } then: { found in
                found.isBusy
                    ? .response(Self.busy(found.head.method))
                    : self.respondPinned(found, exchange, cookies)
            }
        }
    }

    private func respond(
        to asked: inout PageRequest, _ exchange: Exchange
    ) throws(Need) -> Response {
        if let instead = asked.instead { return instead }
        if let (request, decision) = asked.decided {
            return try carryOut(decision, of: request, asked, exchange)
        }
        let (head, seen) = see(asked.head, exchange)
        asked.head = head
        var request = seen
        if isOfOtherContent(request) { return Self.gone(head.method) }
        let begins =
            request.load == .page || head.isPageOfWorker
            || request.isWorkerScript && pins.withLock { $0.keepsPages(request, SystemClock.now) }
        if begins, !asked.hasBegun, isPageNews(head) {
            let hasWorker = pins.withLock { $0.hasWorker(request, SystemClock.now) }
            throw .beginning(request, workerOf: hasWorker ? request.cookie?.browser : nil)
        }
        guard let current = cache.current else { return nothingCurrent(head.method) }
        if let instead = insteadOfLostPage(head, request, current.site) { return instead }
        if request.load == .page {
            request.leadsToPage =
                head.mayBeginPage && Responder(site: current.site).leadsToPage(head)
        } else if request.isWorkerScript {
            let script = Responder.respond(to: head.withoutEncodings, site: current.site)
            request.leadsToPage = script.head.status < 400
        }
        var unknown: [VersionName] = []
        let decision = decide(request, current) { version, path in
            if let entry = find(version, asked) { return entry?.site.contains(path) ?? false }
            unknown.append(version)
            return nil
        }
        guard let decision else { throw .versions(unknown) }
        asked.decided = (request, decision)
        return try carryOut(decision, of: request, asked, exchange)
    }

    func pinRequest(_ head: borrowing RequestHead, _ exchange: Exchange) -> PinRequest {
        PinRequest(
            head, cookieName: cookieName, seal: parts.pageSeal, connection: exchange.connection.raw)
    }

    /// A request as the pins see it; one from a frame of another origin's page is a page's.
    private func see(
        _ head: RequestHead, _ exchange: Exchange
    ) -> (head: RequestHead, PinRequest) {
        var head = head
        var request = pinRequest(head, exchange)
        if head.isNavigationOfWorker, pins.withLock({ $0.isFrameOfWorker(request) }) {
            request.load = .frame
        }
        head.isShownAgain = request.load == .page && request.isReload && request.cookie != nil
        if request.load == .frame,
            isInPageOfUpstream(head, request)
                || pins.withLock({ $0.isEmbeddedPage(request, now: SystemClock.now) })
        {
            head.isEmbeddedPage = true
            head.isInAnotherSite = request.cookie?.isForeign ?? request.isFrameInAnotherSite
            request.load = .page
            request.isEmbedded = true
        }
        if request.load != .page, let current = cache.current, let referrer = request.referrer,
            Responder.isAsset(referrer[...]), !Responder.isAsset(request.path[...])
        {
            request.asksForPage = Responder(site: current.site).leadsToPage(head)
            head.isPageOfWorker = pins.withLock {
                $0.isPageOfWorker(request, current.site.version, SystemClock.now)
            }
        }
        if head.isForWorkersModule || head.isForScript && request.hints == 0,
            let importer = pins.withLock({ $0.importer(of: head, request, now: SystemClock.now) })
        {
            head.isImportOfWorker = true
            request.isWorkerScript = true
            request.path = importer
        }
        if request.load == .page && head.mayBeginPage || head.isPageAhead, !request.isEmbedded {
            head.isLedByAnother = leads(to: &request, head)
        }
        if head.isEmbeddedPage, head.isFromAnotherSite, startup != nil,
            let pending = cache.lifecycle.pending
        {
            startFailure.tell(
                "version \(pending) waits: a frame of another site's page shows the app, which starts nothing"
            )
        }
        return (head, request)
    }

    /// Whether another origin may be behind a navigation, which the request then says.
    func leads(to request: inout PinRequest, _ given: RequestHead) -> Bool {
        guard startup != nil else { return false }
        // A request is looked at again once what it needs has come.
        var head = given
        head.isLedByAnother = false
        let (isFromAnother, isUnasked) = (head.isFromAnotherOrigin, head.isUnaskedOwn)
        let until = pins.withLock {
            $0.ledUntil(request, isFromAnother: isFromAnother, SystemClock.now)
        }
        // Of browsers without cookies, one may be led and another one not.
        if request.cookie != nil || isFromAnother || isUnasked { request.ledUntil = until }
        return isFromAnother || isUnasked && until != nil
    }

    private func carryOut(
        _ decision: PinTable.Decision, of request: PinRequest, _ asked: PageRequest,
        _ exchange: Exchange
    ) throws(Need) -> Response {
        let head = asked.head
        switch decision {
        case .serve(let version, let cookie, let mark):
            guard let found = find(version, asked) else { throw .versions([version]) }
            guard let entry = found else { return Self.gone(head.method) }
            return page(
                of: entry, mark, cookie ?? renewed(request, entry), to: request, asked, exchange)
        case .doubt([]): throw .allVersions
        case .doubt(let versions):
            let unknown = versions.filter { find($0, asked) == nil }
            guard unknown.isEmpty else { throw .versions(unknown) }
            // The content of a version that was retired while no server held it is unknown: it may be the page's.
            let entries = versions.compactMap { find($0, asked) ?? nil }
            var response: Response
            if entries.count == versions.count, let first = entries.first,
                PinTable.agree(entries.map(\.site), on: head)
            {
                response = respond(asked, first, exchange)
            } else {
                // A request was refused that may belong to the current version, which may be on trial.
                if head.method != .head,
                    versions.contains(where: { $0 == cache.current?.site.version })
                {
                    starts.note(.refused)
                }
                response = PinTable.refusal(head.method)
            }
            // The bridge's script asks whether its page is known: a cookie would be.
            if head.method == .head, request.cookie == nil {
                response.head.add("Castree-Unknown", "1")
            }
            return response
        }
    }

    private func page(
        of entry: SiteCache.Entry, _ mark: PageMark?, _ cookie: PinCookie?, to request: PinRequest,
        _ asked: PageRequest, _ exchange: Exchange
    ) -> Response {
        let head = asked.head
        var mark = mark
        let version = entry.site.version
        // Visiting a prerendered page sends no navigation, so it must be what a navigation gets, with its mark.
        if head.isPageAhead {
            mark = mark ?? pins.withLock { $0.markAhead(request, version, SystemClock.now) }
            if version != cache.current?.site.version || isWaiting
                || request.canBeMarked && mark == nil
            {
                return Self.refusedAhead(head.method)
            }
        }
        // What a worker keeps of a page is shown without a navigation.
        let isKept = request.asksForPage && request.cookie != nil
        if isKept, let browser = request.cookie?.browser {
            mark = mark ?? pins.withLock { $0.markKept(version, browser, SystemClock.now) }
        }
        var response = respond(asked, entry, exchange)
        if request.isWorkerScript, !head.isWorkersList, !head.isImportOfWorker,
            response.head.status == 404,
            pins.withLock({ $0.hasWorker(request, SystemClock.now) })
        {
            response = Self.removingWorker(head.method)
        }
        if isKept || request.load != .subresource && (mark != nil || request.hints == 7) {
            // Also on a 304: the stored response may have another one.
            response.head.add("Permissions-Policy", PageMark.policy(mark))
        }
        if cookie == nil, !request.mayBeKept(version), !response.head.isPublic {
            response.head.add("Cache-Control", "no-store")
        }
        // An answer that a cache may give to others must not contain anybody's cookie.
        if let cookie, request.load != .subresource || !response.head.isPublic {
            response.head.add("Set-Cookie", setting(cookie))
        }
        return response
    }

    private func respond(
        _ asked: PageRequest, _ entry: SiteCache.Entry, _ exchange: Exchange
    ) -> Response {
        // The decision has pinned it: versions that left the cache since the fetch belong there again.
        if !asked.entries.isEmpty { cache.keep(entry) }
        let state = loops[exchange.loop.number]
        state.renew(cache)
        return state.respond(to: asked.head, from: entry.site)
    }

    /// The version that a request belongs to, for the page's own requests to the server.
    ///
    /// `nil` also if finding out would need a fetch. Never begins a page or worker, whatever the request claims to
    /// load.
    func version(of head: borrowing RequestHead, _ exchange: Exchange) -> String? {
        var request = pinRequest(head, exchange)
        request.load = .subresource
        request.isWorkerScript = false
        guard let current = cache.current, !isOfOtherContent(request) else { return nil }
        switch decide(request, current) {
        case .serve(let version, _, _): return version.description
        case .doubt, nil: return nil
        }
    }

    /// The browser that a request's cookie names; of several the one that was given the version which the page
    /// reports.
    func browser(
        of head: borrowing RequestHead, _ exchange: Exchange, given said: VersionName? = nil
    ) -> String? {
        let request = pinRequest(head, exchange)
        return pins.withLock { $0.owned(request, given: said) }.cookie?.browser
    }

    /// The same, by what is in memory.
    func decide(_ request: PinRequest, _ current: SiteCache.Entry) -> PinTable.Decision? {
        decide(request, current) { version, path in
            cache.entry(version).map { $0.site.contains(path) }
        }
    }

    private func decide(
        _ request: PinRequest, _ current: SiteCache.Entry,
        contains: (VersionName, [UInt8]) -> Bool?
    ) -> PinTable.Decision? {
        pins.withLock { pins in
            let before = pins.contradictions
            defer { if pins.contradictions != before { starts.note(.contradicted) } }
            return pins.decide(
                request, current: current.site.version, now: SystemClock.now,
                newBrowser: Self.newBrowser(), contains: contains)
        }
    }

    // MARK: Fetching

    /// A version in memory, `.some(nil)` if it cannot be served; `nil` if nobody has looked.
    private func find(_ version: VersionName, _ asked: PageRequest) -> SiteCache.Entry?? {
        if let entry = cache.entry(version) { return .some(entry) }
        return asked.entries[version]
    }

    private func fetch(
        _ need: Need, _ asked: PageRequest, by end: SuspendingClock.Instant
    ) -> PageRequest {
        var asked = asked
        asked.end = end
        switch need {
        case .beginning(let request, let browser):
            begin(&asked, request, withWorkerOf: browser)
        case .versions(let versions):
            for version in versions where !asked.isBusy {
                asked.entries[version] = .some(open(version, &asked.isBusy))
            }
        case .allVersions:
            asked.entries = [:]
            for name in cache.names(store.versions) where !asked.isBusy {
                do throws(StoreError) {
                    let version = try VersionName(name)
                    asked.entries[version] = .some(try cache.open(version))
                } catch {
                    // No page is of a version that cannot be shown.
                    asked.isBusy = error.code == .locked
                }
            }
            let all = asked.entries.keys.sorted()
            asked.decided?.decision = .doubt(all)
            if all.isEmpty { asked.instead = PinTable.refusal(asked.head.method) }
        }
        return asked
    }

    /// Answers when another thread has done its work.
    /// - Parameters:
    ///   - end: when the waiting ends; inherited from the request's earlier work, if there was any.
    ///   - work: gets that end.
    func later<Result: Sendable>(
        _ head: RequestHead, _ exchange: Exchange, until end: SuspendingClock.Instant? = nil,
        _ work: @escaping @Sendable (_ end: SuspendingClock.Instant) -> Result,
        then: @escaping @Sendable (Result) -> Answer
    ) -> Answer {
        let end = end ?? SuspendingClock.now + waitLimit
        let isTaken = storeWork.add {
            let result = LockDeadline.until(end, unless: self.isGivenUp) { work(end) }
            exchange.answer { then(result) }
        }
        guard isTaken else { return .response(Self.busy(head.method)) }
        let method = head.method
        // Work whose wait times out reports that itself.
        let left = max(.zero, end - SuspendingClock.now) + .seconds(1)
        return .soon(within: left.milliseconds, otherwise: { Self.busy(method) })
    }

    /// How long work for a request, or one round of checks, waits for other processes; the browser shows nothing.
    var waitLimit: Duration { min(.seconds(30), store.versions.store.options.waitLimit) }

    /// Whether to stop all waiting, because the server ends.
    var isGivenUp: @Sendable () -> Bool {
        { [weak self] in self?.isStopping.load(ordering: .acquiring) ?? true }
    }

    private func open(_ version: VersionName, _ isBusy: inout Bool) -> SiteCache.Entry? {
        do throws(StoreError) {
            return try cache.open(version)
        } catch {
            isBusy = error.code == .locked
            // Retired while nobody held it: its page must be loaded again.
            if error.code != .noVersion { notice(error.message) }
            return nil
        }
    }

    // MARK: Answers of its own

    private static func busy(_ method: Method) -> Response {
        PlainAnswer.response(
            503, "The store is busy: another process has held its lock for long.", method: method,
            fields: asking(again: 5))
    }

    private func nothingCurrent(_ method: Method) -> Response {
        let sentence =
            cache.isEmptied
            ? "The store is gone; castree add makes a new one, which is served then."
            : !cache.isFollowing
                ? "What is current cannot be shown now; the server has said why."
                : options.updates == nil
                    ? "No version is current; castree activate VERSION makes one current."
                    : "No version is current yet; the first release of the origin is shown once it has come."
        return PlainAnswer.response(
            503, sentence, method: method, fields: Self.asking(again: 1))
    }

    /// Tells programs when to ask again (`Retry-After`), and browsers that show this answer as a page, which obey
    /// only `Refresh`.
    private static func asking(again seconds: Int) -> [(name: String, value: String)] {
        ["Retry-After", "Refresh"].map { ($0, String(seconds)) }
    }

    private var isWaiting: Bool { startup != nil && cache.lifecycle.pending != nil }

    private static func refusedAhead(_ method: Method) -> Response {
        PlainAnswer.response(
            503,
            "Another version waits, or the page could not be told from others: it is not fetched ahead.",
            method: method)
    }

    // MARK: What a version has no longer: a page's own version, and a page that another version had

    static func gone(_ method: Method) -> Response {
        PlainAnswer.response(
            409, "The version that this page was loaded from is gone: load the page again.",
            method: method)
    }

    /// The way to the start page, for a navigation to a page that only the browser's version has.
    ///
    /// The index, which the version shown would give for it, may name its files relative to its own address: there they
    /// are missing, nobody confirms the version, and it is struck. For an address that both versions give the index,
    /// the app has a route.
    func insteadOfLostPage(
        _ head: borrowing RequestHead, _ request: PinRequest, _ shown: Site
    ) -> Response? {
        guard request.load == .page, head.mayBeginPage, shown.options.fallback == .navigations,
            !shown.contains(request.path), Responder(site: shown).leadsToPage(head),
            let own = request.cookie?.version, own != shown.version,
            let before = cache.entry(own)?.site,
            before.contains(request.path), Responder(site: before).leadsToPage(head)
        else { return nil }
        return PlainAnswer.response(
            302, "This version does not have the page; its start page is at /.",
            method: head.method,
            fields: [("Location", "/")])
    }

    // MARK: The cookies of answers, which say what a page or a worker has

    /// Whether a page's version now has other content under the same name, so that the page's own version is gone.
    ///
    /// Its cookie tells, until a newer page of its browser begins.
    func isOfOtherContent(_ request: PinRequest) -> Bool {
        guard request.load != .page, !request.isWorkerScript, !request.asksForPage,
            let tag = request.contentTag, let cookie = request.cookie
        else { return false }
        return cache.entry(cookie.version)?.tag.map { $0 != tag } ?? false
    }

    /// The cookie of a new page, or of a worker, whose cookie says everything but the content of its version.
    func renewed(_ request: PinRequest, _ entry: SiteCache.Entry) -> PinCookie? {
        guard request.load == .page && request.leadsToPage || request.isWorkerScript,
            request.contentTag != entry.tag,
            request.cookie?.version == entry.site.version
        else { return nil }
        return request.cookie
    }

    /// Removes cookies that other servers of this host's name have set in the pins' name: at longer paths, or without
    /// a name (`=castree_page_1=…`).
    func removals(of request: PinRequest, _ head: RequestHead) -> [String] {
        guard !request.strays.isEmpty else { return [] }
        let path = head.text(head.path)
        var paths = [path]
        for slash in path.indices.dropFirst().filter({ path[$0] == "/" }).prefix(8) {
            paths += [String(path[..<slash]), String(path[...slash])]
        }
        let end = "; Max-Age=0"
        return ["=x; Path=/" + end]
            + paths.filter { $0 != "/" && !$0.contains(";") }.flatMap {
                ["\(cookieName)=x; Path=\($0)" + end, "=x; Path=\($0)" + end]
            }
    }

    func setting(_ cookie: PinCookie) -> String {
        cookie.setCookie(
            cookieName, parts.pageSeal, tag: cache.entry(cookie.version)?.tag, isSecure: isSecure)
    }
}
