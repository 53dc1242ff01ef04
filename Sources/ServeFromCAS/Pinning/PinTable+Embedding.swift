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
    /// path (no page has a frame at its own address) or, if the requests of all of them are marked, a request without
    /// a mark. So does one without a cookie: of its browser nothing else is known.
    func isEmbeddedPage(_ request: PinRequest, now: Duration) -> Bool {
        guard request.load == .frame, request.mark == nil else { return false }
        if request.isFrameOfAnotherOrigin { return !isInPage(request, now) }
        guard let referrer = request.referrer else { return false }
        guard let cookie = request.cookie else { return request.isForFrame && request.canBeMarked }
        let browser = browsers[cookie.browser] ?? Browser(usedAt: now)
        let around = browser.loads.filter {
            $0.path == referrer && $0.parent == nil && isLive($0, now)
        }
        guard cookie.isForeign || around.contains(where: \.isEmbedded) else { return false }
        if request.isReload, request.path == referrer { return true }
        return request.canBeMarked
            && around.allSatisfy { load in
                browser.marks.contains { $0.version == load.version }
            }
    }
}
