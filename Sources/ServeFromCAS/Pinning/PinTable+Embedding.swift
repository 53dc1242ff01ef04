import VersionTree

// Pages in frames of other origins' pages, for example of a shell at another port. No page of this server is around
// them, so each is a page of its own, and its navigation may start a version.
extension PinTable {
    /// Whether a session's page is in a frame of another site's page, or of a page from which no cookie comes: there
    /// it starts nothing.
    func isForeign(session: String) -> Bool {
        browser(ofSession: session).map(PinCookie.isForeign) ?? embedded.contains(session)
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
