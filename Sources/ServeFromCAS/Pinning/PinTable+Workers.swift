import VersionTree

// Workers that several pages have. A service worker serves all pages of a browser, whatever their versions.
//
// A worker's script comes from the version that the next page gets, even while older pages are open: a browser whose
// worker shows kept pages sends no navigation, and would never get another script. The worker's own requests have the
// script as Referer, and are of the script's version while it installs; requests that it forwards for pages have the
// pages' Referer. Requests by address (`fetch(event.request.url)`) have the script as Referer whichever page needs
// them, and a waiting worker has the same script path as the active one. Then the pages decide
// (``byWorker(_:_:_:)``).
extension PinTable {
    /// Gives the current version to a browser that loads a worker's script, or a worker that loads a page without a
    /// navigation.
    /// - Parameter path: the script's.
    mutating func beginWorker(
        _ request: PinRequest, at path: [UInt8], _ name: String, _ current: VersionName,
        _ now: Duration
    ) -> Decision {
        if let cookie = request.cookie { recall(cookie, isMarking: false, now) }
        guard request.leadsToPage else { return .serve(current, cookie: nil, mark: nil) }
        var browser = browsers[name] ?? Browser(usedAt: now)
        let isFirst = !browser.hasWorker
        browser.usedAt = now
        browser.told = current
        browser.note(Worker(path: path, version: current, givenAt: now, askedAt: now))
        browsers[name] = browser
        if browsers.count > limits.browsers { makeSpace(keeping: name, now) }
        let isNews = request.cookie?.version != current
        guard isNews || isFirst || request.isCookieOld else {
            return .serve(current, cookie: nil, mark: nil)
        }
        // The worker's pages send no navigation: after the open ones have gone, only the cookie tells their version.
        let others =
            isNews
            ? Self.versions(browser.loads.filter { $0.parent == nil && isLive($0, now) })
            : otherVersions(name, now)
        _ = markKept(current, name, now)
        return .serve(current, cookie: cookie(of: name, current, others, now), mark: nil)
    }

    /// The mark for the pages that a worker keeps, whose own requests have none: that of its version's other pages.
    mutating func markKept(
        _ version: VersionName, _ name: String, _ now: Duration
    ) -> PageMark? {
        // Only a browser that has had a mark is known to send them.
        browsers[name]?.marks.isEmpty ?? true ? nil : mark(for: version, name, now)
    }

    /// The answer to a worker's own request; `nil` if a page asks, or the worker asks for one of the open pages.
    mutating func byWorker(
        _ request: PinRequest, _ cookie: PinCookie, _ current: VersionName, _ now: Duration
    ) -> Decision? {
        guard request.load == .subresource, let referrer = request.referrer,
            let browser = browsers[cookie.browser],
            let index = browser.workers.lastIndex(where: { $0.path == referrer })
        else { return nil }
        browsers[cookie.browser]?.usedAt = now
        // It may ask for any of the pages.
        doubts[request.connection] = cookie.browser
        let worker = browser.workers[index]
        let pages = browser.loads.filter { $0.parent == nil && isLive($0, now) }
        if request.asksForPage { browsers[cookie.browser]?.asksByAddress = true }
        if isPageOfWorker(request, current, now), worker.version != current {
            return beginWorker(request, at: referrer, cookie.browser, current, now)
        }
        if worker.isUnsaid, isInstalling(worker, browser, now) {
            return beginWorker(request, at: referrer, cookie.browser, worker.version, now)
        }
        // A page that it requests is for its cache, or for a navigation: the next page gets its version.
        if request.asksForPage || pages.allSatisfy({ $0.version == worker.version }) {
            return .serve(worker.version, cookie: nil, mark: nil)
        }
        if isInstalling(worker, browser, now) {
            browsers[cookie.browser]?.workers[index].askedAt = now
            // A page that was sent after the script is loaded by the existing worker. The new one would keep that
            // page's files permanently, and asks again for what is refused. A page that the existing one has kept
            // counts like those that were open before, although it reports later.
            let isMet = pages.contains {
                $0.begunAt > worker.givenAt && $0.isAnswered && $0.version != worker.version
            }
            return isMet
                ? doubt(Self.versions(pages, after: [worker.version]), of: request, cookie)
                : .serve(worker.version, cookie: nil, mark: nil)
        }
        // It may still be installing, or show a page that it kept and that has not reported yet.
        guard pages.allSatisfy({ $0.begunAt <= worker.givenAt && $0.version != worker.version }),
            browser.keepsPages || now - worker.givenAt <= limits.grace
        else { return nil }
        return doubt(Self.versions(pages, after: [worker.version]), of: request, cookie)
    }

    func isInstalling(_ worker: Worker, _ browser: Browser, _ now: Duration) -> Bool {
        now - worker.askedAt <= limits.installing * (browser.keepsPages ? 3 : 1)
            && now - worker.givenAt <= limits.loadingMax
    }

    /// The answer to a `SharedWorker`, which pages share, and to requests for its script: the version of its pages
    /// while one is open.
    ///
    /// It lives as long as any of them, also beside pages of newer versions, and its requests have no mark.
    mutating func bySharedWorker(
        _ request: PinRequest, _ cookie: PinCookie, _ now: Duration
    ) -> Decision? {
        guard let version = request.shared,
            let load = browsers[cookie.browser]?.loads.last(where: {
                $0.version == version && $0.parent == nil && isHeld($0, now)
            })
        else { return nil }
        browsers[cookie.browser]?.usedAt = now
        change(cookie.browser, load.number) { $0.usedAt = max($0.usedAt, now) }
        attach(request.connection, cookie.browser, load.number, now)
        return .serve(version, cookie: nil, mark: nil)
    }

    /// Whether a session's browser was given a version, so that a page of it may be of that version.
    /// - Parameter browser: the browser that the request's cookie names, if no request of the session has told.
    func wasGiven(_ version: VersionName, session: String, browser: String?) -> Bool {
        [self.browser(ofSession: session), browser].contains { name in
            name.flatMap { browsers[$0]?.wasGiven(version) } ?? false
        }
    }

    /// Whether a session's page is of a version and came without a navigation, and its browser was given that
    /// version's worker.
    func isOfWorker(_ version: String, _ session: String) -> Bool {
        guard let holder = sessions[session]?.page, !holder.isAnswered else { return false }
        let workers = browsers[holder.browser]?.workers ?? []
        return holder.version.description == version
            && workers.contains { $0.version == holder.version }
    }

    /// A page that a worker keeps equals one of a later version, byte by byte: from now on its marks name that
    /// version.
    /// - Parameters:
    ///   - isOther: whether a worker's script differs between the versions.
    ///   - absent: the sessions whose pages go with this one, or have gone silently, unless the browser keeps them in
    ///     memory.
    /// - Returns: the cookie that says so. `nil` if the browser has not got the later version's worker, or while
    ///   another page with these marks is open there that is not known to be equal.
    mutating func adopt(
        session: String, from old: VersionName, as new: VersionName, isOther: ([UInt8]) -> Bool,
        absent: Set<String>, now: Duration
    ) -> PinCookie? {
        guard let name = browser(ofSession: session), var browser = browsers[name],
            browser.workers.contains(where: { $0.version == new && isOther($0.path) })
        else { return nil }
        sessions[session]?.successor = new
        // A silent page at this page's address does not count: it has its own session, or does not exist, because the
        // browser asked for a page that the worker showed, or the page went while its answer was under way.
        let silent = browser.loads.contains {
            $0.version == old && $0.parent == nil && isLive($0, now) && $0.pages > $0.sessions
                && $0.path != sessions[session]?.address
        }
        let others = sessions.filter { other, session in
            session.page?.browser == name && session.page?.version == old
                && session.successor != new
                && (kept[other] != nil || !absent.contains(other))
        }
        guard !silent, others.isEmpty else { return nil }
        for index in browser.marks.indices where browser.marks[index].version == old {
            browser.marks[index].version = new
        }
        // In other browsers the marks may still be the older version's.
        browser.hasRecalled = true
        browser.told = new
        browsers[name] = browser
        return cookie(of: name, new, otherVersions(name, now).filter { $0 != old }, now)
    }

    /// Records that a worker of a session's browser keeps pages.
    /// - Returns: whether that is news, and may be the server's fault: the worker asked for a page by its address,
    ///   and got the worker's version. From now on it gets the next page's.
    @discardableResult mutating func noteKeeping(session: String, browser: String?) -> Bool {
        guard let name = self.browser(ofSession: session) ?? browser, let known = browsers[name]
        else { return false }
        browsers[name]?.keepsPages = true
        return !known.keepsPages && known.asksByAddress
    }

    /// Whether a worker that shows pages requests one by its address, which counts as its navigation.
    ///
    /// A worker whose script came a moment ago, and of whose version there is no page yet, installs: its cache must not
    /// have the page of a version that came meanwhile beside its own files.
    func isPageOfWorker(_ request: PinRequest, _ current: VersionName, _ now: Duration) -> Bool {
        guard request.asksForPage, let name = request.cookie?.browser, let browser = browsers[name],
            browser.keepsPages,
            let worker = browser.workers.last(where: { $0.path == request.referrer })
        else { return false }
        if worker.version == current || now - worker.givenAt > limits.loadingMax { return true }
        // What only a cookie names may be the page of another version, which the worker keeps.
        return browser.loads.contains {
            $0.version == worker.version && $0.isAnswered && isLive($0, now)
        }
            || sessions.contains {
                $0.value.page?.browser == name && $0.value.word?.version == worker.version
            }
    }

    /// Whether a navigation that a worker forwards is a frame's: it has the mark of the page around it, and a tab's
    /// has none.
    func isFrameOfWorker(_ request: PinRequest) -> Bool {
        guard request.load == .page, request.sender == .page, let mark = request.mark,
            let cookie = request.cookie
        else { return false }
        return cookie.names(mark)
            || browsers[cookie.browser]?.marks.contains { $0.mark == mark } ?? false
    }

    func hasWorker(_ request: PinRequest, _ now: Duration) -> Bool {
        browserOfWorker(request, now).map { browsers[$0]?.hasWorker ?? false } ?? false
    }

    /// Whether a worker of a request's browser has kept pages: then the next page comes with the worker's script.
    func keepsPages(_ request: PinRequest, _ now: Duration) -> Bool {
        browserOfWorker(request, now).map { browsers[$0]?.keepsPages ?? false } ?? false
    }
}

extension PinTable {
    /// The script of a service worker that a browser was given.
    struct Worker: Sendable {
        var path: [UInt8]
        var version: VersionName
        var givenAt: Duration
        // When it last asked for what it installs.
        var askedAt: Duration
        // Whether the browser's cookie does not name its version yet.
        var isUnsaid = false
    }
}

extension PinTable.Browser {
    /// Scripts remembered for one browser: of one path the last is the worker's; others may still show what they
    /// keep.
    private static let workersMax = 8

    mutating func note(_ worker: PinTable.Worker) {
        workers.removeAll { $0.path == worker.path && $0.version == worker.version }
        workers.append(worker)
        if workers.count > Self.workersMax { workers.removeFirst() }
    }

    var hasWorker: Bool { keepsPages || hasEarlierWorker || !workers.isEmpty }

    /// Whether the browser has had a page of a version, or a worker's script, which shows pages without a navigation.
    func wasGiven(_ version: VersionName) -> Bool {
        workers.contains { $0.version == version } || marks.contains { $0.version == version }
            || loads.contains { $0.version == version }
    }
}

// Scripts that a service worker imports. Browsers compare them as they compare the worker's own script, so they come
// from the same version.
extension PinTable {
    /// The path of the worker's script that imports what a request asks for; `nil` if none does.
    ///
    /// For a module the browser says so. Other imports are compared right after the script, in the name of the page
    /// (Chromium), but without the hints that pages send; a page's own worker names itself or nobody. While a worker
    /// installs, it asks in its own name (``byWorker(_:_:_:_:)``).
    func importer(of head: RequestHead, _ request: PinRequest, now: Duration) -> [UInt8]? {
        // A request that had to wait was looked at before.
        guard let referrer = request.referrer, request.load == .subresource,
            head.isImportOfWorker || !request.isWorkerScript
        else { return nil }
        let browser = browserOfWorker(request, now).flatMap { browsers[$0] }
        let worker = browser?.workers.last
        if head.isForWorkersModule {
            // A module names the one that imports it.
            let isKnown = browser?.workers.contains { $0.path == referrer } ?? false
            return isKnown ? referrer : worker?.path ?? referrer
        }
        guard let browser, let worker, request.hints == 0, !browser.marks.isEmpty,
            !Responder.isAsset(referrer[...]), !browser.loads.contains(where: \.isSilent),
            head.isImportOfWorker || isInstalling(worker, browser, now)
        else { return nil }
        return worker.path
    }

    /// Notes a worker's script that was asked for without a cookie for the browser that must have it.
    ///
    /// Chromium asks so for modules. The worker sends the cookie, and gets the one that names its version.
    mutating func noteWorker(at path: [UInt8], _ version: VersionName, _ now: Duration) {
        guard let name = onlyBrowser(now) else { return }
        browsers[name]?.note(
            Worker(path: path, version: version, givenAt: now, askedAt: now, isUnsaid: true))
    }

    /// The browser that asks for a worker's script.
    func browserOfWorker(_ request: PinRequest, _ now: Duration) -> String? {
        request.cookie?.browser ?? onlyBrowser(now)
    }

    /// The browser, if only one has pages.
    private func onlyBrowser(_ now: Duration) -> String? {
        let all = browsers.filter { $0.value.loads.contains { isHeld($0, now) } }
        return all.count == 1 ? all.first?.key : nil
    }
}
