import VersionTree

// What is known of pages that were served before the server was started anew: the cookie, which says
// which versions the browser's pages had when the newest of them began. Which page asks it does not say.
extension PinTable {
    /// The versions of a browser's other pages, for the cookie that its newest page gets.
    func otherVersions(_ name: String, _ now: Duration) -> [VersionName] {
        let pages = browsers[name]?.loads.filter { $0.parent == nil && isLive($0, now) } ?? []
        guard let newest = pages.last else { return [] }
        var result: [VersionName] = []
        // Of one path and version there may be several pages.
        if newest.pages > 1 { result.append(newest.version) }
        for load in pages.dropLast().reversed() where !result.contains(load.version) {
            result.append(load.version)
        }
        return Array(result.prefix(PinCookie.othersMax))
    }

    /// Takes the pages for open that the cookie of an earlier run names, if nothing else is known.
    ///
    /// They count for the grace, once: what one and the same cookie names is not open for ever. A browser
    /// that this run has known itself, and has forgotten since it was silent, has no such pages.
    mutating func recallPages(_ request: PinRequest, isPage: Bool, _ now: Duration) {
        guard let cookie = request.cookie, cookie.run != run else { return }
        // The only page there was is loaded again, or asks: nothing else is open.
        if cookie.others.isEmpty, !isPage || request.isReload { return }
        var browser = browsers[cookie.browser] ?? Browser(usedAt: now)
        guard !browser.loads.contains(where: { isLive($0, now) }),
            recalled[cookie.browser] != cookie
        else { return }
        if recalled.count >= limits.browsers { recalled = [:] }
        recalled[cookie.browser] = cookie
        browser.hasShownCookie = true
        browser.usedAt = now
        for version in cookie.others.reversed() + [cookie.version] {
            nextLoad += 1
            // None of them is loading, so that nothing is taken for the newest one's without reason.
            browser.loads.append(
                Load(
                    number: nextLoad, path: [], version: version, usedAt: now,
                    askedAt: now - limits.loading - .seconds(1),
                    begunAt: now - limits.loadingMax - .seconds(1)))
        }
        browsers[cookie.browser] = browser
        if browsers.count > limits.browsers { makeRoom(keeping: cookie.browser, now) }
    }

    /// The cookie of a page that asks, once more, without the versions whose pages are gone.
    ///
    /// It was set at a navigation, when the page that was left still counted. `nil` if it is right. That
    /// there was another page of its own version is kept: after a restart one load may stand for several.
    func correction(
        of cookie: PinCookie, _ request: PinRequest, _ version: VersionName, _ now: Duration
    ) -> PinCookie? {
        guard !cookie.others.isEmpty, request.load == .subresource, version == cookie.version,
            let loads = browsers[cookie.browser]?.loads,
            loads.last(where: { $0.parent == nil && isLive($0, now) })?.version == version
        else { return nil }
        var open = otherVersions(cookie.browser, now)
        if cookie.others.contains(version), !open.contains(version) { open.append(version) }
        guard cookie.others.contains(where: { !open.contains($0) }) else { return nil }
        var corrected = cookie
        corrected.run = run
        corrected.others = Array(open.prefix(PinCookie.othersMax))
        return corrected
    }
}

extension PinTable.Load {
    /// Whether only the cookie of an earlier run tells of it.
    private var isRecalled: Bool { path.isEmpty }

    /// Notes that it may have asked.
    ///
    /// One that this run has seen begin asks with its path as the Referer; of others of its version that
    /// were left before nothing is heard, so they hold nothing for ever. After a restart nobody can tell
    /// which page asks, and whichever does is not closed.
    mutating func heard(
        _ request: PinRequest, at now: Duration, _ limits: PinTable.Limits
    ) {
        let isHeard =
            isRecalled
            ? now - begunAt < limits.loadingMax + limits.recalled : path == request.referrer
        if isHeard { usedAt = now }
    }
}
