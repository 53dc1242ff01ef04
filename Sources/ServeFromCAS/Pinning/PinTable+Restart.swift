import VersionTree

// After a restart only the cookie is known of earlier pages. It names the versions that the browser's pages had when
// the newest of them began, but not which page sends a request.
extension PinTable {
    /// The versions of a browser's other pages, for the cookie that its newest page gets.
    /// - Parameter replaced: the load of which that page replaces one, and which has not yet reported its end.
    func otherVersions(
        _ name: String, besides replaced: UInt64? = nil, _ now: Duration
    ) -> [VersionName] {
        let pages =
            browsers[name]?.loads.filter { $0.parent == nil && isLive($0, now) && !isKept($0) }
            ?? []
        guard let newest = pages.last else { return [] }
        // There may be several pages of one path and version.
        let isOne = newest.pages <= (newest.number == replaced ? 2 : 1)
        return Self.versions(
            pages.dropLast().filter { $0.number != replaced }, after: isOne ? [] : [newest.version])
    }

    func cookie(
        of name: String, _ version: VersionName, _ others: [VersionName], _ now: Duration
    ) -> PinCookie {
        var cookie = PinCookie(
            browser: name, version: version, run: run,
            others: Array(others.prefix(PinCookie.othersMax)))
        cookie.note(browsers[name]?.marks ?? [])
        cookie.isLasting = browsers[name]?.hasWorker ?? false
        cookie.ledMinutes = ((ledUntil(name, now) ?? now) - now).components.seconds / 60
        return cookie
    }

    /// Assumes that the pages named by the cookie of an earlier run are open, if nothing else is known.
    ///
    /// They count for the grace, and only once, so that one cookie cannot hold its pages indefinitely. A browser that
    /// this run knew, and forgot because it was silent, has no such pages.
    mutating func recallPages(_ request: PinRequest, isPage: Bool, _ now: Duration) {
        guard let cookie = request.cookie, cookie.run != run else { return }
        // It had only one page, which loads again or sends this request: nothing else is open.
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
            // None of them counts as loading, so that no request goes to the newest one without reason.
            browser.loads.append(
                Load(
                    number: nextLoad, path: [], version: version, usedAt: now,
                    askedAt: now - limits.loading - .seconds(1),
                    begunAt: now - limits.loadingMax - .seconds(1), isAnswered: false))
        }
        browsers[cookie.browser] = browser
        if browsers.count > limits.browsers { makeSpace(keeping: cookie.browser, now) }
    }

    /// The corrected cookie of a page that sends another request, without the versions whose pages are gone; `nil` if
    /// it is right.
    ///
    /// The cookie was set at a navigation, when the page being left still counted. It continues to state that its own
    /// version had another page: after a restart, one load may stand for several.
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
        return self.cookie(of: cookie.browser, version, open, now)
    }
}

extension PinTable.Load {
    private var isRecalled: Bool { path.isEmpty }

    /// Records that its page may have sent a request.
    ///
    /// If this run saw the page begin, the Referer must be its path; so closed pages of its version are not held by
    /// others' requests. After a restart the sending page is unknown, so any of them counts as open.
    mutating func heard(
        _ request: PinRequest, at now: Duration, _ limits: PinTable.Limits
    ) {
        // Pages with a session hold their load themselves, and those with a mark are not in doubt.
        let isHeard =
            isRecalled
            ? now - begunAt < limits.loadingMax + limits.recalled
            : path == request.referrer && sessions < pages && !isMarked
        if isHeard { usedAt = now }
    }
}

// A browser may lose its cookie while pages are open: by a logout (Clear-Site-Data), a setting, an extension, or its
// limit for cookies. With its next page it seems to be new, and all its pages send the new cookie. Their marks still
// tell them apart, if the new browser does not reuse marks of the earlier one's pages.
//
// Which earlier browser it is, is unknown. But it last showed its cookie before the new one came.
extension PinTable {
    /// The browsers that the open pages of a browser without a cookie may come from, with the marks that they gave
    /// away.
    private func forerunners(of name: String) -> [Browser] {
        guard let since = browsers[name]?.bareSince else { return [] }
        return browsers.filter { other, browser in
            other != name && !browser.marks.isEmpty && browser.usedAt <= since
        }.map(\.value)
    }

    /// The versions of a mark from before its browser lost its cookie, if the browser itself does not know it.
    func inheritable(_ mark: PageMark, in name: String) -> [VersionName] {
        guard let browser = browsers[name], browser.bareSince != nil, !browser.hasLostMarks,
            !browser.marks.contains(where: { $0.mark == mark })
        else { return [] }
        var versions: Set<VersionName> = []
        for earlier in forerunners(of: name) {
            for known in earlier.marks where known.mark == mark { versions.insert(known.version) }
        }
        return versions.sorted()
    }

    /// The same; a single version is recorded as the browser's own.
    mutating func inherit(_ mark: PageMark, in name: String) -> [VersionName] {
        let versions = inheritable(mark, in: name)
        if versions.count == 1, let version = versions.first {
            browsers[name]?.marks.insert((mark, version), at: 0)
        }
        return versions
    }
}
