import WebServer

// What a version has no longer: a page's own version, and a page that another version had.
extension AppHandler {
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
}
