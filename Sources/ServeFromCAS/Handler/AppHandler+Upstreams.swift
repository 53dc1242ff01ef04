import VersionTree
import WebServer

// Pages that another server renders (`--proxy`). Their files may be of the tree, so each has a version. Whether they
// show it is unknown, so they neither start nor confirm one.
extension AppHandler {
    /// If an upstream answers a navigation with a page, that page begins with the current version, and its browser
    /// gets the cookie.
    ///
    /// The page gets no mark: frames in it would inherit that, and the app in a frame is a page of its own.
    func beginPageOfUpstream(
        _ head: RequestHead, _ exchange: Exchange, _ answer: inout ResponseHead
    ) {
        var head = head
        // The answer to a form is a page, too.
        if head.method == .post { head.method = .get }
        guard head.mayBeginPage, Self.isPage(answer), let current = cache.current else { return }
        // Once the browser's newest page is of another version, one that it keeps begins anew.
        answer.add("Vary", "Cookie")
        var request = pinRequest(head, exchange)
        request.isUnmarkable = true
        _ = leads(to: &request, head)
        guard case .serve(_, let cookie?, _) = decide(request, current) else { return }
        answer.add("Set-Cookie", setting(cookie))
    }

    /// Whether a browser shows an answer as a page, possibly from its own cache; publicly cacheable ones belong to
    /// nobody.
    private static func isPage(_ answer: ResponseHead) -> Bool {
        func says(_ name: String, _ word: String) -> Bool {
            guard let value = answer.value(of: name) else { return false }
            return String(decoding: value, as: UTF8.self).lowercased().contains(word)
        }
        guard !says("cache-control", "public") else { return false }
        if answer.status == 304 { return true }
        return (answer.status == 200 || answer.status >= 400)
            && (says("content-type", "text/html") || says("content-type", "application/xhtml"))
            && !says("content-disposition", "attachment")
    }

    /// Whether a navigation in a frame of an upstream's page leads to a page of the app, which is then a page of its
    /// own.
    func isInPageOfUpstream(_ head: RequestHead, _ request: PinRequest) -> Bool {
        head.isForFrame && request.mark == nil && isUpstreams(request.referrer)
    }

    func isPageOfUpstream(_ head: RequestHead, _ exchange: Exchange) -> Bool {
        guard parts.proxies != nil else { return false }
        return isUpstreams(pinRequest(head, exchange).referrer)
    }

    private func isUpstreams(_ path: [UInt8]?) -> Bool {
        guard let path, let proxies = parts.proxies else { return false }
        return proxies.takes(path[...])
    }
}
