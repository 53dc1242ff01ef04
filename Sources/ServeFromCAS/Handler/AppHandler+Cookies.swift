import WebServer

// The cookies of answers, which say what a page or a worker has.
extension AppHandler {
    /// Whether a page's version now has other content under the same name, so that the page's own version is gone.
    ///
    /// Its cookie tells, until a newer page of its browser begins.
    func isOfOtherContent(_ request: PinRequest) -> Bool {
        guard request.load != .page, !request.isWorkerScript, !request.asksForPage,
            let tag = request.contentTag, let cookie = request.cookie
        else { return false }
        return cache.entry(cookie.version)?.tag.map { $0 != tag } ?? false
    }

    /// The cookie of a new page, or of a worker, whose cookie says everything but the content of its version.
    func renewed(_ request: PinRequest, _ entry: SiteCache.Entry) -> PinCookie? {
        guard request.load == .page && request.leadsToPage || request.isWorkerScript,
            request.contentTag != entry.tag,
            request.cookie?.version == entry.site.version
        else { return nil }
        return request.cookie
    }

    /// Removes cookies that other servers of this host's name have set in the pins' name: at longer paths, or without
    /// a name (`=castree_page_1=…`).
    func removals(of request: PinRequest, _ head: RequestHead) -> [String] {
        guard !request.strays.isEmpty else { return [] }
        let path = head.text(head.path)
        var paths = [path]
        for slash in path.indices.dropFirst().filter({ path[$0] == "/" }).prefix(8) {
            paths += [String(path[..<slash]), String(path[...slash])]
        }
        let end = "; Max-Age=0"
        return ["=x; Path=/" + end]
            + paths.filter { $0 != "/" && !$0.contains(";") }.flatMap {
                ["\(cookieName)=x; Path=\($0)" + end, "=x; Path=\($0)" + end]
            }
    }

    func setting(_ cookie: PinCookie) -> String {
        cookie.setCookie(
            cookieName, parts.pageSeal, tag: cache.entry(cookie.version)?.tag, isSecure: isSecure)
    }
}
