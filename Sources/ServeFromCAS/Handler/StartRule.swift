import VersionTree

/// What counts as a start: a GET answered with 200 and the app's HTML, and nothing else.
///
/// Pure. HEAD, ranges, 304, 404, redirections, downloads, frames and pages fetched ahead of a visit
/// show nobody a page. Nor does a start come of what another site sends a browser to: nobody waits for that page to
/// confirm anything.
enum StartRule {
    /// Whether a request may be a start, whatever its answer.
    ///
    /// Where a service worker keeps pages, no navigation comes, and the worker's script takes its place, or what the
    /// worker asks for by the page's address.
    static func mayStart(_ head: borrowing RequestHead) -> Bool {
        (head.mayBeginPage || head.method == .get && (head.isWorkerScript || head.isPageOfWorker))
            && !head.isFromAnotherSite
    }

    /// The request to answer if this one starts a version; otherwise `nil`.
    ///
    /// On most visits, a browser asks whether its copy of the page is still right. If the new
    /// version's page has the same bytes, the answer would be yes and the version would never
    /// start: so the browser gets the page in full.
    static func start(_ head: RequestHead, _ site: Site) -> RequestHead? {
        guard mayStart(head) else { return nil }
        if head.isWorkerScript {
            // The browser may have it already: a worker that waited is asked for again when it shows pages. Where there is
            // none, the browser gets one that removes itself, and sends a navigation then.
            let whole = Responder.respond(to: head.withoutRevalidation, site: site)
            return [200, 404].contains(whole.head.status) ? head : nil
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
