import VersionTree

// Service workers: one for all pages of a browser, whatever their versions.
//
// A worker's script comes from the version that the next page gets, also while older pages are open: with theirs a browser
// that shows what its worker keeps, and so sends no navigation, would never get another one. What the worker itself asks for
// has the script as Referer, and is of the script's version; what it passes on for pages has theirs.
extension PinTable {
    /// How many scripts of one browser are remembered; of one path the last is the worker's, the others may still show
    /// what they keep.
    private static let workersMax = 8

    /// A browser loads a worker's script: it gets the current version, as a page does.
    mutating func beginWorker(
        _ request: PinRequest, _ name: String, _ current: VersionName, _ now: Duration
    ) -> Decision {
        var browser = browsers[name] ?? Browser(usedAt: now)
        browser.usedAt = now
        browser.told = current
        browser.workers.removeAll { $0.path == request.path && $0.version == current }
        browser.workers.append((request.path, current))
        if browser.workers.count > Self.workersMax { browser.workers.removeFirst() }
        browsers[name] = browser
        if browsers.count > limits.browsers { makeRoom(keeping: name, now) }
        guard request.cookie?.version != current else {
            return .serve(current, cookie: nil, mark: nil)
        }
        // The worker's pages send no navigation: once those that are open have gone, the cookie alone tells their version.
        var others: [VersionName] = []
        for load in browser.loads.reversed() where load.parent == nil && isLive(load, now) {
            if !others.contains(load.version) { others.append(load.version) }
        }
        let cookie = PinCookie(
            browser: name, version: current,
            mark: browser.marks.first { $0.version == current }?.mark, run: run,
            others: Array(others.prefix(PinCookie.othersMax)))
        return .serve(current, cookie: cookie, mark: nil)
    }

    /// The version of the worker that sends a request; `nil` if a page does, or it is not known.
    func workersVersion(_ request: PinRequest, _ cookie: PinCookie) -> VersionName? {
        guard request.load == .subresource, let referrer = request.referrer,
            let workers = browsers[cookie.browser]?.workers
        else { return nil }
        return workers.last { $0.path == referrer }?.version
    }

    /// Whether a session's browser was given a version, so that a page of it may be of that version.
    ///
    /// - Parameter browser: the browser that the request's cookie names, where no request of the session has told.
    func wasGiven(_ version: VersionName, session: String, browser: String?) -> Bool {
        [self.browser(ofSession: session), browser].contains { name in
            name.flatMap { browsers[$0]?.wasGiven(version) } ?? false
        }
    }

    /// Notes that a worker of a session's browser keeps pages.
    mutating func noteKeeping(session: String, browser: String?) {
        guard let name = self.browser(ofSession: session) ?? browser else { return }
        browsers[name]?.keepsPages = true
    }

    /// Whether a worker of a request's browser has kept pages: then the next page comes with the worker's script.
    func keepsPages(_ request: PinRequest) -> Bool {
        request.cookie.map { browsers[$0.browser]?.keepsPages ?? false } ?? false
    }
}

extension PinTable.Browser {
    /// Whether the browser has had a page of a version, or a worker's script, which shows pages without a navigation.
    func wasGiven(_ version: VersionName) -> Bool {
        workers.contains { $0.version == version } || marks.contains { $0.version == version }
            || loads.contains { $0.version == version }
    }
}
