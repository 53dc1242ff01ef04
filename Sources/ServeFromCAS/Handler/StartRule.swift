import VersionTree

/// What counts as a start: a GET that is answered 200 with the app's HTML, and nothing else.
///
/// Pure. HEAD, ranges, 304, 404, redirections, frames and what is fetched ahead of a visit show nobody a
/// page.
enum StartRule {
    /// Whether a request may be a start, whatever its answer.
    static func mayStart(_ head: borrowing RequestHead) -> Bool {
        head.method == .get && head.load == .page
    }

    /// The request that starts a version, if this one does.
    ///
    /// A browser asks on most visits whether its copy of the page is still right. Where the page of the new
    /// version has the same bytes it would be told so, and the version would never start: it gets
    /// the page in full.
    static func start(_ head: RequestHead, _ site: Site) -> RequestHead? {
        guard mayStart(head) else { return nil }
        if isPage(Responder.respond(to: head, site: site)) { return head }
        guard head.isBrowserNavigation else { return nil }
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
