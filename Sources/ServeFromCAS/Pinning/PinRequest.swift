import VersionTree
import WebServer

/// What the pins need to know about a request.
struct PinRequest: Sendable, Hashable {
    var load: RequestHead.Load
    var isWorkerScript = false
    /// Whether it is for a page in a frame of another origin's page.
    var isEmbedded = false
    var isForFrame = false
    /// Whether a page of another site is around the frame that loads it, however far out.
    var isFrameInAnotherSite = false
    var isReload = false
    var path: [UInt8]
    var referrer: [UInt8]?
    /// The version of the pages that share a worker, from the worker's address: in the request for its script, and in
    /// the Referer of its own requests.
    var shared: VersionName?
    /// The cookie's content: the browser, and the version of its newest page.
    ///
    /// Of several the last: the server's own has the shortest path, and longer ones come first (RFC 6265, section
    /// 5.4).
    var cookie: PinCookie?
    /// The tag in that cookie of its version's content; `nil` if an older castree set it.
    var contentTag: String?
    /// Other cookies of that name, which the server gave to some browser, but not in this form to this one.
    var strays: [PinCookie] = []
    /// Whether the cookie is so old that it alone does not show that its pages are open.
    var isCookieOld = false
    /// Until when another origin may be behind what its page does; `nil` if none may.
    var ledUntil: Duration?
    var connection: UInt64 = 0
    /// Which client hints it carries; see ``PageMark``.
    var hints: UInt8 = 0
    /// Whose request it is; for a page in a frame, whose page embeds it.
    var sender = Sender.unsaid
    /// Whether the page that begins must have no mark of its own.
    var isUnmarkable = false
    /// Whether a navigation leads to a document that may request more, or a worker's script exists.
    var leadsToPage = true
    /// Whether a script or a worker requests a page, for example a worker that forwards a navigation by its address.
    var asksForPage = false

    /// Who sends a request, as far as a browser says so (Referer; Fetch Metadata, section 2.4).
    enum Sender: Sendable, Hashable {
        case page
        /// A page of another origin, as its Referer says, or what no frame of our own pages sends.
        case stranger
        /// An unnamed origin: another site's, or that of a sandboxed frame in one of our own pages.
        case nameless
        /// No page: somebody has typed the address.
        case nobody
        /// The request does not say: a tool, an older browser, plain http to a name other than localhost.
        case unsaid
    }
}

extension PinRequest {
    /// - Parameter cookieName: the name of the pins' cookie, which contains the port, because cookies ignore ports:
    ///   `castree_page_12345`.
    init(
        _ request: borrowing RequestHead, cookieName: String, seal: PageSeal, connection: UInt64
    ) {
        load = request.load
        hints = PageMark.hints(of: request)
        isReload = request.isReload
        isEmbedded = request.isEmbeddedPage
        isForFrame = request.isForFrame
        isFrameInAnotherSite = isForFrame && request.hasForeignStorage
        isWorkerScript = request.method == .get && request.isWorkerScript
        path = Array(request.bytes[request.path])
        referrer = Self.referrer(request)
        sender = Self.sender(request, referrer)
        if isWorkerScript, request.isWorkersList {
            // The worker sends the request, and its script names it.
            let script = referrer.flatMap { Responder.isAsset($0[...]) ? $0 : nil }
            isWorkerScript = script != nil
            path = script ?? path
        }
        if load == .subresource { shared = Self.shared(request, referrer) }
        cookie = nil
        for value in CookieText.values(of: Array(cookieName.utf8), in: request) {
            guard let sealed = seal.content(of: value[...]) else { continue }
            let end = sealed.content.startIndex + PinCookie.tagByteCount
            let isTagged = end < sealed.content.endIndex && sealed.content[end] == 126
            guard
                var read = PinCookie(isTagged ? sealed.content[(end + 1)...] : sealed.content)
            else { continue }
            read.ledMinutes -= min(read.ledMinutes, (max(0, sealed.age) / 60) + 1)
            if let cookie { strays.append(cookie) }
            cookie = read
            contentTag =
                isTagged ? String(decoding: sealed.content[..<end], as: UTF8.self) : nil
            isCookieOld = sealed.age.magnitude > PinCookie.ageMax
        }
        strays.removeAll { $0 == cookie }
        self.connection = connection
    }

    /// Whether the pins matter for a request.
    ///
    /// A request without a cookie, a Referer and Fetch Metadata that is not a navigation belongs to no page. It gets
    /// the current version without the table.
    static func isOfPage(_ request: borrowing RequestHead) -> Bool {
        for field in request.fields {
            switch field.name.count {
            case 6 where request.matches(field.name, "cookie"): return true
            case 7 where request.matches(field.name, "referer"): return true
            case 14
            where request.matches(field.name, "service-worker")
                || request.matches(field.name, "sec-fetch-site"):
                return true
            default: continue
            }
        }
        return request.load != .subresource
    }

    private static func shared(
        _ request: borrowing RequestHead, _ referrer: [UInt8]?
    ) -> VersionName? {
        let own = request.query.flatMap { Self.shared(request.bytes[$0]) }
        if let own { return own }
        guard let referrer, Responder.isAsset(referrer[...]),
            let value = request.value(of: "referer").map({ request.bytes[$0] }),
            let query = value.firstIndex(of: 63)
        else { return nil }
        return Self.shared(value[(query + 1)...])
    }

    /// The version in the parameter that the bridge's script gives to the addresses of shared workers.
    private static func shared(_ query: ArraySlice<UInt8>) -> VersionName? {
        let name = Array((CookieText.ownPrefix + PageWord.parameter).utf8)
        let part = query.prefix { $0 != 35 }.split(separator: 38).last
        guard let part, part.starts(with: name) else { return nil }
        return PageWord(String(decoding: part.dropFirst(name.count), as: UTF8.self)).version
    }

    private static func sender(_ request: borrowing RequestHead, _ referrer: [UInt8]?) -> Sender {
        if referrer != nil { return .page }
        if let field = request.value(of: "referer"), !field.isEmpty { return .stranger }
        guard let site = request.value(of: "sec-fetch-site") else { return .unsaid }
        if request.matches(site, "same-origin") { return .page }
        // Sandboxed frames count as another site's, and in a tab of this site, their own frames may use its cookies.
        if request.matches(site, "same-site") || request.isInAnotherSitesTab { return .stranger }
        return request.matches(site, "none") ? .nobody : .nameless
    }

    /// Whether a browser may reuse the answer of a version for later requests with the same cookie, without asking
    /// (`Vary: Cookie`): only if the cookie names that version.
    ///
    /// Navigations that change the version change the cookie with it.
    func mayBeKept(_ version: VersionName) -> Bool {
        if load == .page || cookie?.version == version { return true }
        return cookie == nil && sender != .page && sender != .nameless
    }

    private static func referrer(_ request: borrowing RequestHead) -> [UInt8]? {
        guard let host = request.authority ?? request.value(of: "host"),
            let page = request.url(in: "referer"),
            RequestHead.areSame(page.authority, request.bytes[host])
        else { return nil }
        let path = page.rest.prefix { $0 != 63 && $0 != 35 }
        return path.isEmpty ? [47] : Array(path)
    }
}
