import VersionTree

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
        var versions: [VersionName] = []
        for load in browsers[browser]?.loads ?? []
        where isLive(load, now) && !versions.contains(load.version) {
            versions.append(load.version)
        }
        return versions
    }
}
