import WebServer

/// What the pins need to know about a request.
struct PinRequest: Sendable, Hashable {
    /// The kind of load that it is part of.
    var load: RequestHead.Load
    /// Whether it is for a service worker's script.
    var isWorkerScript = false
    /// Whether a person asked to load the page again.
    var isReload = false
    /// The path as sent, without the query.
    var path: [UInt8]
    /// The path of the Referer, if it is of this origin.
    var referrer: [UInt8]?
    /// The cookie's content: the browser, and the version of its newest page.
    var cookie: PinCookie?
    /// The connection that carried it.
    var connection: UInt64 = 0
    /// Which client hints it carries; see ``PageMark``.
    var hints: UInt8 = 0
}

extension PinRequest {
    /// Reads a request.
    ///
    /// - Parameter cookieName: the name of the pins' cookie. Cookies ignore ports, so the name
    ///   contains the port: `castree_page_12345`.
    init(
        _ request: borrowing RequestHead, cookieName: String, seal: PageSeal, connection: UInt64
    ) {
        load = request.load
        hints = PageMark.hints(of: request)
        isReload = request.isReload
        isWorkerScript = request.isWorkerScript
        path = Array(request.bytes[request.path])
        referrer = Self.referrer(request)
        cookie = nil
        for value in CookieText.values(of: Array(cookieName.utf8), in: request) {
            cookie = cookie ?? seal.content(of: value[...]).flatMap { PinCookie($0) }
        }
        self.connection = connection
    }

    /// Whether the pins have a say about a request.
    ///
    /// Without a cookie and a Referer, and if it is no navigation, it belongs to no page: it gets
    /// the current version, and the table is not needed.
    static func isOfPage(_ request: borrowing RequestHead) -> Bool {
        for field in request.fields {
            switch field.name.count {
            case 6 where request.matches(field.name, "cookie"): return true
            case 7 where request.matches(field.name, "referer"): return true
            case 14 where request.matches(field.name, "service-worker"): return true
            default: continue
            }
        }
        return request.load != .subresource
    }

    /// The path in the Referer if its authority is the request's own.
    private static func referrer(_ request: borrowing RequestHead) -> [UInt8]? {
        guard let field = request.value(of: "referer"),
            let host = request.authority ?? request.value(of: "host")
        else { return nil }
        let value = request.bytes[field]
        guard let colon = value.firstIndex(of: 58), value[colon...].starts(with: [58, 47, 47])
        else {
            return nil
        }
        let rest = value[(colon + 3)...]
        let end = rest.firstIndex { $0 == 47 || $0 == 63 || $0 == 35 } ?? rest.endIndex
        let isOwn = rest[..<end].elementsEqual(request.bytes[host]) {
            FieldText.lowercased($0) == FieldText.lowercased($1)
        }
        guard isOwn else { return nil }
        let path = rest[end...].prefix { $0 != 63 && $0 != 35 }
        return path.isEmpty ? [47] : Array(path)
    }
}
