import VersionTree

/// What counts as a start: a GET answered with 200 and the app's HTML.
///
/// Pure. HEAD, ranges, 304, 404, redirections, downloads, frames and prefetched pages do not count, because they show
/// nobody a page. Neither do navigations from other sites: nobody waits for such a page to confirm anything.
enum StartRule {
    /// Whether a request may be a start, whatever its answer.
    ///
    /// Where a service worker keeps pages, no navigation comes. The request for the worker's script takes its place,
    /// or the worker's own request for a page.
    static func mayStart(_ head: borrowing RequestHead) -> Bool {
        (head.mayBeginPage || head.method == .get && (head.isWorkerScript || head.isPageOfWorker))
            && !head.isFromAnotherSite
    }

    /// The request to answer if this one starts a version; otherwise `nil`.
    ///
    /// It has no conditions: if the new version's page had the same bytes as the browser's copy, a 304 would not
    /// count as a start, and the version would never start.
    static func start(_ head: RequestHead, _ site: Site) -> RequestHead? {
        guard mayStart(head) else { return nil }
        if head.isWorkerScript {
            // The browser may have it already: it asks again for a waiting worker when that shows pages. If there is
            // none, it gets one that removes itself, and then sends a navigation.
            let whole = Responder.respond(to: head.withoutRevalidation, site: site)
            let fit = head.isImportOfWorker ? [200] : [200, 404]
            return fit.contains(whole.head.status) ? head : nil
        }
        guard Responder(site: site).leadsToPage(head) else { return nil }
        if isPage(Responder.respond(to: head, site: site)) { return head }
        guard head.isBrowserNavigation || head.isPageOfWorker else { return nil }
        let whole = head.withoutRevalidation
        guard whole.fields.count < head.fields.count,
            isPage(Responder.respond(to: whole, site: site))
        else { return nil }
        return whole
    }

    private static func isPage(_ response: Response) -> Bool {
        response.head.status == 200 && response.head.isHTML
    }
}
