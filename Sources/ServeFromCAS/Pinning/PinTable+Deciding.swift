import VersionTree

// Which version a request gets: step by step, until one step has the answer.
extension PinTable {
    /// Decides which version a request gets.
    /// - Parameters:
    ///   - current: the version that new pages get.
    ///   - now: by any monotonic clock.
    ///   - newBrowser: 16 to 64 random letters and digits, for a browser without a cookie.
    ///   - contains: whether a version has a path, `nil` if not in memory; only called for Referers.
    /// - Returns: `nil` if it needs something not in memory. Nothing has begun: call again when it is known.
    mutating func decide(
        _ request: PinRequest, current: VersionName, now: Duration,
        newBrowser: @autoclosure () -> String, contains: (VersionName, [UInt8]) -> Bool?
    ) -> Decision? {
        // The open page stays, and the request is not its.
        if request.load == .page, !request.leadsToPage {
            return .serve(current, cookie: nil, mark: nil)
        }
        if let cookie = request.cookie { recallLed(cookie, now) }
        let request = owned(request)
        let isPage = request.load == .page || request.load == .frame && !isInPage(request, now)
        if let cookie = request.cookie, !isPage, !request.isWorkerScript {
            let versions = contradiction(request, now)
            if !versions.isEmpty {
                contradictions += 1
                return doubt(versions, of: request, cookie)
            }
        }
        recallPages(request, isPage: isPage || request.isWorkerScript, now)
        if isPage {
            let name =
                request.cookie?.browser
                ?? (request.isFrameInAnotherSite ? PinCookie.foreign(newBrowser()) : newBrowser())
            return beginPage(request, name, current, now)
        }
        if request.isWorkerScript {
            if request.cookie == nil, request.leadsToPage {
                noteWorker(at: request.path, current, now)
            }
            return beginWorker(
                request, at: request.path, request.cookie?.browser ?? newBrowser(), current, now)
        }
        guard let cookie = request.cookie else {
            return withoutCookie(request, current, now, contains)
        }
        recall(cookie, isMarking: false, now)
        if let decision = byWorker(request, cookie, current, now) { return decision }
        if let decision = byMark(request, cookie, now) ?? bySharedWorker(request, cookie, now) {
            return decision
        }
        guard let place = browsers.index(forKey: cookie.browser),
            browsers.values[place].loads.contains(where: { isLive($0, now) })
        else {
            // Forgotten, or the server was restarted: the cookie remembers.
            note(request, cookie.browser, cookie.version, now)
            return serve(cookie.version, request, cookie, now)
        }
        browsers.values[place].hasShownCookie = true
        browsers.values[place].usedAt = now
        if request.load != .frame, !isEarlier(cookie, browsers.values[place], now),
            let load = onlyVersion(at: place, request, now)
        {
            browsers.values[place].loads[load].asks(at: now, limits)
            let number = browsers.values[place].loads[load].number
            let version = browsers.values[place].loads[load].version
            attach(request.connection, cookie.browser, number, now)
            return serve(version, request, cookie, now)
        }
        return byExclusion(request, cookie, browsers.values[place], now, contains)
    }

    /// Whether a frame's document has a page of ours around it, which its inherited mark shows even in a sandbox.
    func isInPage(_ request: PinRequest, _ now: Duration) -> Bool {
        switch request.sender {
        case .page: true
        case .stranger, .nobody: false
        case .nameless: !marked(request, now).isEmpty
        case .unsaid: request.cookie != nil
        }
    }

    /// Loads a page: it gets the current version, and its browser a cookie that says so.
    private mutating func beginPage(
        _ request: PinRequest, _ browser: String, _ current: VersionName, _ now: Duration
    ) -> Decision {
        let replaced = begin(request, browser, current, now)
        if let cookie = request.cookie { recall(cookie, isMarking: request.canBeMarked, now) }
        browsers[browser]?.told = current
        lead(browser, until: request.ledUntil, now)
        if request.cookie == nil, request.canBeMarked { browsers[browser]?.bareSince = now }
        let isInMarked = request.isEmbedded && request.mark != nil
        if !request.canBeMarked, !isInMarked { browsers[browser]?.plainHints = request.hints }
        var mark: PageMark?
        if isInMarked {
            mark = markInMarked(request, current, browser, now)
        } else if request.canBeMarked, !request.isUnmarkable {
            mark = self.mark(for: current, browser, now)
        }
        let others = otherVersions(browser, besides: replaced, now)
        let cookie = self.cookie(of: browser, current, others, now)
        let isRight =
            cookie == request.cookie && !request.isCookieOld
            && cookie.ledMinutes - (request.cookie?.ledMinutes ?? 0) <= 2
        return .serve(current, cookie: isRight ? nil : cookie, mark: mark)
    }

    /// The version that the request's mark names; `nil` if it has no mark, or its browser has none.
    private mutating func byMark(
        _ request: PinRequest, _ cookie: PinCookie, _ now: Duration
    ) -> Decision? {
        guard let mark = request.mark, let browser = browsers[cookie.browser] else { return nil }
        let inherited = inherit(mark, in: cookie.browser)
        if inherited.count > 1 { return doubt(inherited, of: request, cookie) }
        let known = browser.marks.first { $0.mark == mark }?.version ?? inherited.first
        guard let version = known else {
            // The mark is unknown, so its page belongs to none of the known versions.
            let isMarking = !browser.marks.isEmpty || browser.hasLostMarks
            return isMarking ? doubt([], of: request, cookie) : nil
        }
        noteMarked(request, cookie.browser, version, now)
        return serve(version, request, cookie, now)
    }

    /// Excludes, while pages of several versions are open, those that cannot have sent the request.
    private mutating func byExclusion(
        _ request: PinRequest, _ cookie: PinCookie, _ known: Browser, _ now: Duration,
        _ contains: (VersionName, [UInt8]) -> Bool?
    ) -> Decision? {
        var browser = known
        let isEarlier = isEarlier(cookie, known, now)
        var live = browser.loads.indices.filter {
            // The page that a reload ends still exists until the new one has come.
            isLive(browser.loads[$0], now)
                || isEarlier && browser.loads[$0].version == cookie.version
                    && isHeld(browser.loads[$0], now)
        }
        // Where others' requests have marks, except those of their workers.
        let silent =
            request.hints == 0 && !browser.marks.isEmpty
            ? live.filter { browser.loads[$0].isSilent } : []
        if !silent.isEmpty, !browser.hasWorker,
            let referrer = request.referrer, !Responder.isAsset(referrer[...])
        {
            live = silent
        }
        guard let possible = possible(live.map { browser.loads[$0] }, request, contains)
        else { return nil }
        let versions = Self.versions(possible)
        if let newest = Self.newest(possible),
            versions.count == 1
                || isLoading(newest, now) && (newest.isAnswered || browser.hasWorker) && !isEarlier
                    && (silent.isEmpty || newest.isSilent)
                    && !Self.isOfOther(than: newest, possible, request)
        {
            // Of that version's loads, the one whose path is the Referer.
            let own = possible.last { $0.version == newest.version && $0.path == request.referrer }
            let number = (own ?? newest).number
            change(cookie.browser, number) { [limits] in $0.asks(at: now, limits) }
            attach(request.connection, cookie.browser, number, now)
            if request.load == .frame {
                note(request, cookie.browser, newest.version, now, parent: number)
            }
            return .serve(newest.version, cookie: nil, mark: nil)
        }
        for index in live where versions.contains(browser.loads[index].version) {
            browser.loads[index].heard(request, at: now, limits)
        }
        browsers[cookie.browser] = browser
        return doubt(versions, of: request, cookie)
    }

    /// The newest page, or the newest frame in it: a frame makes an older page no newer.
    private static func newest(_ loads: [Load]) -> Load? {
        guard let page = loads.last(where: { $0.parent == nil }) else { return loads.last }
        var own: Set<UInt64> = [page.number]
        // Frames in frames; one that was loaded again comes after its own.
        for _ in 0..<4 {
            for load in loads where load.parent.map(own.contains) ?? false {
                own.insert(load.number)
            }
        }
        return loads.last { own.contains($0.number) }
    }

    /// Whether a request was sent before its browser had the answer that changed its cookie.
    ///
    /// An older page has then sent it, and the navigation that was answered may have been abandoned.
    private func isEarlier(_ cookie: PinCookie, _ browser: Browser, _ now: Duration) -> Bool {
        guard let told = browser.told, told != cookie.version else { return false }
        return browser.loads.contains { $0.version == cookie.version && isHeld($0, now) }
    }

    /// Whether the Referer is an older page's address, and not one of the newest version.
    private static func isOfOther(
        than newest: Load, _ loads: [Load], _ request: PinRequest
    ) -> Bool {
        let named = loads.filter { $0.path == request.referrer }
        return !named.isEmpty && !named.contains { $0.version == newest.version }
    }

    private func serve(
        _ version: VersionName, _ request: PinRequest, _ cookie: PinCookie, _ now: Duration
    ) -> Decision {
        .serve(
            version, cookie: correction(of: cookie, request, version, now), mark: request.mark)
    }

    /// The position of a request's load, if all live loads of its browser have one version; usual, so nothing is
    /// copied.
    private func onlyVersion(
        at place: Dictionary<String, Browser>.Index, _ request: PinRequest, _ now: Duration
    ) -> Int? {
        var (newest, own) = (-1, -1)
        for index in browsers.values[place].loads.indices {
            let load = browsers.values[place].loads[index]
            guard isLive(load, now) else { continue }
            if newest >= 0, load.version != browsers.values[place].loads[newest].version {
                return nil
            }
            newest = index
            if load.path == request.referrer { own = index }
        }
        if own >= 0 { return own }
        return newest >= 0 ? newest : nil
    }

    /// Decides a request without a cookie.
    ///
    /// If a page of ours may have sent it, its mark shows the version; otherwise it may be any open page's. Browsers
    /// fetch web app manifests without cookies, scripts may omit them (`credentials: 'omit'`), and a sandboxed frame
    /// has none.
    private mutating func withoutCookie(
        _ request: PinRequest, _ current: VersionName, _ now: Duration,
        _ contains: (VersionName, [UInt8]) -> Bool?
    ) -> Decision? {
        // The connection's earlier requests may have been another page's.
        detach(request.connection, now)
        guard request.sender == .page || request.sender == .nameless else {
            return .serve(current, cookie: nil, mark: nil)
        }
        var versions = marked(request, now)
        if versions.isEmpty {
            // A page that an earlier run has marked, or one silent for long: it may be of any version.
            let isPlain = browsers.values.contains { $0.plainHints == request.hints }
            if request.mark != nil, !isPlain { return .doubt([]) }
            var live: [Load] = []
            for browser in browsers.values { live += browser.loads.filter { isLive($0, now) } }
            live.sort { $0.number < $1.number }
            guard let possible = possible(live, request, contains) else { return nil }
            versions = Self.versions(possible)
        }
        if versions.count > 1 { return .doubt(versions) }
        return .serve(versions.first ?? current, cookie: nil, mark: request.mark)
    }

    /// The loads to which a request may belong.
    ///
    /// A page may give itself any address, so the address of a page excludes nothing; a script or style has the
    /// address it was loaded from. `nil` if it is not known yet which version has that path.
    private func possible(
        _ loads: [Load], _ request: PinRequest, _ contains: (VersionName, [UInt8]) -> Bool?
    ) -> [Load]? {
        let loads = awake(loads, request)
        guard let referrer = request.referrer, Self.versions(loads).count > 1,
            Responder.isAsset(referrer[...])
        else { return loads }
        var possible: [Load] = []
        var isKnown = true
        for load in loads {
            switch contains(load.version, referrer) {
            case true?: possible.append(load)
            case false?: continue
            case nil: isKnown = false
            }
        }
        guard isKnown else { return nil }
        return possible.isEmpty ? loads : possible
    }

    /// The versions of loads, each once, that of the newest load first.
    static func versions(_ loads: [Load], after first: [VersionName] = []) -> [VersionName] {
        loads.reversed().reduce(into: first) { versions, load in
            if !versions.contains(load.version) { versions.append(load.version) }
        }
    }
}

// Cookies that may be another browser's. A server at another port of this host receives the browsers' cookies, and
// may set any cookie that this server gave to some browser: with a longer path, without a name, or in place of the
// own one. So a cookie never decides alone where another one, the page's mark, or its own age contradicts it.
extension PinTable {
    /// A request with the cookie of its own browser, if several cookies can be told apart: the browser that was given
    /// the request's mark, or the version that its page reports.
    func owned(_ request: PinRequest, given said: VersionName? = nil) -> PinRequest {
        guard let cookie = request.cookie, !request.strays.isEmpty else { return request }
        var all = [cookie] + request.strays
        let own = all.firstIndex { cookie in
            guard let browser = browsers[cookie.browser] else { return false }
            if let said, browser.wasGiven(said) { return true }
            return browser.marks.contains {
                $0.mark == request.mark && given[$0.mark.hints] == $0.version
            }
        }
        guard let own, own > 0 else { return request }
        var request = request
        request.cookie = all.remove(at: own)
        request.strays = all
        return request
    }

    /// The versions that a request may be of, if its cookies, its mark and the open pages contradict each other; else
    /// none.
    func contradiction(_ request: PinRequest, _ now: Duration) -> [VersionName] {
        guard let cookie = request.cookie,
            request.mark != nil || !request.strays.isEmpty || request.isCookieOld
        else { return [] }
        let own = named(by: cookie, request, now)
        var versions = own
        func add(_ others: [VersionName]) {
            for version in others where !versions.contains(version) { versions.append(version) }
        }
        // The frame of another app inherits marks that are not of this server.
        let loads = browsers[cookie.browser]?.loads ?? []
        let isEmbedded = loads.contains { $0.isEmbedded && isLive($0, now) }
        let isPlain = browsers[cookie.browser]?.plainHints == request.hints
        // An earlier run's mark may mean another version in other browsers; the sealed cookie says which it means
        // here.
        let hasRecalled = browsers[cookie.browser]?.hasRecalled ?? false
        if let mark = request.mark, !isEmbedded, !isPlain, !(hasRecalled && cookie.names(mark)),
            let marked = given[mark.hints]
        {
            // No other browser has the mark for another version.
            if own == [marked] { return [] }
            add([marked])
        }
        for stray in request.strays { add(named(by: stray, request, now)) }
        if request.isCookieOld, live(cookie.browser, now).isEmpty {
            for name in browsers.keys { add(live(name, now)) }
        }
        return versions.count > own.count ? versions : []
    }

    private func named(
        by cookie: PinCookie, _ request: PinRequest, _ now: Duration
    ) -> [VersionName] {
        let marks = browsers[cookie.browser]?.marks ?? []
        if let marked = marks.first(where: { $0.mark == request.mark }) { return [marked.version] }
        // Pages from before its earlier cookie was lost have that cookie's marks.
        let inherited = request.mark.map { inheritable($0, in: cookie.browser) } ?? []
        if !inherited.isEmpty { return inherited }
        let open = live(cookie.browser, now)
        return open.isEmpty ? [cookie.version] + cookie.others : open
    }

    private func live(_ browser: String, _ now: Duration) -> [VersionName] {
        Self.versions(browsers[browser]?.loads.filter { isLive($0, now) }.reversed() ?? [])
    }
}

// Pages in frames of other origins' pages, for example of a shell at another port. No page of this server is around
// them, so each is a page of its own, and its navigation may start a version.
extension PinTable {
    /// Whether a session's page is in a frame of another site's page, or of a page from which no cookie comes: there
    /// it starts nothing.
    func isForeign(session: String) -> Bool {
        browser(ofSession: session).map(PinCookie.isForeign)
            ?? (sessions[session]?.isEmbedded == true)
    }

    /// Whether a frame's navigation is an embedded page's: sent by the other origin's page, or by the embedded page
    /// itself.
    ///
    /// Navigations of frames within a page of this server carry its mark (``PageMark``). The embedded page differs
    /// from a frame within it, and from one within a tab at the same path, by what only it sends: a reload of its own
    /// path (no page has a frame at its own address) or, if the requests of all of them are marked, a request with
    /// none of their marks. So does one without a cookie or mark: of its browser nothing else is known.
    func isEmbeddedPage(_ request: PinRequest, now: Duration) -> Bool {
        guard request.isForFrame else { return false }
        guard request.sender == .page else {
            return request.sender.isOfAnotherOrigin && !isInPage(request, now)
        }
        guard let cookie = request.cookie else { return request.canBeMarked }
        let browser = browsers[cookie.browser] ?? Browser(usedAt: now)
        let live = browser.loads.filter { isLive($0, now) }
        // A page's scripts may have changed its address.
        let there = live.filter { $0.path == request.referrer }
        let around = (there.isEmpty ? live : there).filter { $0.parent == nil }
        let isThere = cookie.isForeign || around.contains(where: \.isEmbedded)
        if request.mark != nil, !isOwn(request, cookie) {
            if isThere { return true }
            // What a worker keeps may have a mark that is given to others since.
            return (!browser.marks.isEmpty || !cookie.marks.isEmpty)
                && !browser.hasWorker && !cookie.isLasting
                && request.strays.isEmpty && marked(request, now).isEmpty
        }
        guard isThere else { return false }
        let marks = browser.marks.map { ($0.mark, $0.version) } + cookie.marks.map { ($0, $1) }
        if request.canBeMarked,
            around.allSatisfy({ load in marks.contains { $0.1 == load.version } })
        {
            return true
        }
        let version = marks.first { $0.0 == request.mark }?.1
        return request.isReload && request.path == request.referrer
            && (cookie.isForeign && version == nil || there.contains(where: \.isEmbedded))
            && !there.contains { $0.parent != nil && $0.version == version }
    }

    /// Whether pages of a request's browser have its mark, or may have it.
    private func isOwn(_ request: PinRequest, _ cookie: PinCookie) -> Bool {
        guard let mark = request.mark, !cookie.names(mark) else { return true }
        guard let browser = browsers[cookie.browser] else { return cookie.lacksMarks }
        return browser.hasLostMarks || browser.plainHints == request.hints
            || browser.marks.contains { $0.mark == mark }
            || !inheritable(mark, in: cookie.browser).isEmpty
    }

    /// The mark of a page that another castree server's page embeds, which must not be that page's.
    mutating func markInMarked(
        _ request: PinRequest, _ version: VersionName, _ name: String, _ now: Duration
    ) -> PageMark {
        // Requests with that one are no longer those of a page that is gone.
        let loads = browsers[name]?.loads.filter { $0.parent == nil && isLive($0, now) } ?? []
        browsers[name]?.marks.removeAll { mark, version in
            mark == request.mark && !loads.contains { $0.version == version && !$0.isEmbedded }
        }
        browsers[name]?.hintsAround = request.hints
        let mark = mark(for: version, name, within: request.hints, now) ?? .silent
        if mark == .silent, let load = browsers[name]?.loads.last {
            change(name, load.number) { $0.isSilent = true }
        }
        return mark
    }
}

extension PinRequest.Sender {
    var isOfAnotherOrigin: Bool { self == .stranger || self == .nameless }
}
