import Platform
package import WebServer

/// The rules of HTTP: which response a request gets from a site (RFC 9110, 9111).
///
/// Pure: no I/O, no clock, and the same request always gets the same response. It caches heads, so each thread has
/// its own responder for each site.
package struct Responder: Sendable {
    package let site: Site
    /// A cache of heads that representations with a label or a source map share with no other.
    private var ownHeads: RecentlyUsed<Int, ResponseHead>
    private var templates = HeadTemplates()

    /// - Parameter headCountMax: how many unshared heads are kept, about half a KB each.
    package init(site: Site, headCountMax: Int = 512) {
        self.site = site
        ownHeads = RecentlyUsed(limit: headCountMax)
    }

    package static func respond(to request: borrowing RequestHead, site: Site) -> Response {
        var responder = Responder(site: site, headCountMax: 16)
        return responder.respond(to: request)
    }

    package mutating func respond(to request: borrowing RequestHead) -> Response {
        let isOptions: Bool
        switch request.method {
        case .get, .head: isOptions = false
        case .options:
            if request.path.count == 1, request.bytes[request.path.lowerBound] == 42 {
                return PlainAnswer.options()
            }
            isOptions = true
        case .other: return PlainAnswer.notImplemented(request.method)
        default: return refuse(request)
        }
        switch find(request) {
        case .resource(let key, let resource):
            return isOptions ? PlainAnswer.options() : representation(request, key, resource)
        case .directory(let key):
            return isOptions ? PlainAnswer.options() : redirect(request, key)
        case .malformed:
            return PlainAnswer.malformedPath(request.method)
        case .nothing:
            if !isOptions, let key = site.index, getsIndex(request) {
                return representation(request, key, site.destinations[key].resource)
            }
            return PlainAnswer.notFound(
                request.method, isPage: request.load == .page && site.indexResource == nil)
        }
    }

    func leadsToPage(_ request: borrowing RequestHead) -> Bool {
        let base: Int32
        switch find(request) {
        case .resource(_, let resource): base = resource
        case .nothing:
            guard let key = site.index, getsIndex(request) else { return false }
            base = site.destinations[key].resource
        case .directory, .malformed: return false
        }
        return Representation(
            site: site, resource: site.resources[Int(base)], base: base, coding: .identity,
            isImmutable: false
        ).beginsPage
    }

    private func find(_ request: borrowing RequestHead) -> Site.Found {
        let path = request.path
        return request.bytes.withUnsafeBufferPointer { [site] bytes in
            site.find(UnsafeBufferPointer(rebasing: bytes[path]))
        }
    }

    /// 405 if there is something at the path, else 404.
    private func refuse(_ request: borrowing RequestHead) -> Response {
        switch find(request) {
        case .resource, .directory: PlainAnswer.methodNotAllowed(request.method)
        case .malformed: PlainAnswer.malformedPath(request.method)
        case .nothing: PlainAnswer.notFound(request.method)
        }
    }

    private func redirect(_ request: borrowing RequestHead, _ key: Int) -> Response {
        // A tree's path has no empty component, so this cannot begin with "//" and name another host.
        var location = PercentEncoding.path(of: Array(site.table.key(key))) + "/"
        if let query = request.query { location += "?" + request.text(query) }
        return PlainAnswer.response(
            301, "The address of this directory ends with a slash.", method: request.method,
            fields: [("Location", location)])
    }

    private func isImmutable(_ request: borrowing RequestHead, _ key: Int, _ base: Int32) -> Bool {
        switch site.options.immutableURLs {
        case .meteor:
            guard site.resources[Int(base)].isCacheable else { return false }
            return request.query.map { !$0.isEmpty } ?? false || site.destinations[key].isImmutable
        case .hashedNames, .prefixes:
            return site.destinations[key].isImmutable
        }
    }

    private mutating func representation(
        _ request: borrowing RequestHead, _ key: Int, _ base: Int32
    ) -> Response {
        let fields = ConditionalFields(request)
        guard let coding = choose(request, fields, base) else {
            let hasVariants = site.resources[Int(base)].variants >= 0
            return PlainAnswer.response(
                406, "The file is not available in an encoding that the request accepts.",
                method: request.method, fields: hasVariants ? [("Vary", "Accept-Encoding")] : [])
        }
        var resource = site.resources[Int(base)]
        if coding != .identity {
            let variant = site.variants[Int(resource.variants)][coding]
            resource = site.resources[Int(variant)]
        }
        let shown = Representation(
            site: site, resource: resource, base: base, coding: coding,
            isImmutable: isImmutable(request, key, base))
        if fields.isPlain { return whole(request, shown) }
        if fields.isOnlyIfNoneMatch, let value = fields.list(request, fields.ifNoneMatch),
            shown.isTag(value)
        {
            return Response(head: notModified(shown))
        }
        let tag = shown.tag
        switch Preconditions.evaluate(request, fields, tag: tag) {
        case .notModified: return Response(head: notModified(shown))
        case .failed:
            return PlainAnswer.response(
                412, "The file is not the one that the request is for.", method: request.method)
        case .proceed: break
        }
        // Ranges are defined for GET only (RFC 9110, section 14.2).
        if request.method == .get, fields.range >= 0,
            Preconditions.rangeCounts(request, fields, tag: tag),
            let value = fields.single(request, fields.range),
            let part = RangeAnswer.response(value, shown)
        {
            return part
        }
        return whole(request, shown)
    }

    private mutating func notModified(_ shown: borrowing Representation) -> ResponseHead {
        templates.notModified(shown) ?? ownHead(shown, isNotModified: true)
    }

    private mutating func ownHead(
        _ shown: borrowing Representation, isNotModified: Bool
    ) -> ResponseHead {
        let key = shown.number * 2 + (isNotModified ? 1 : 0)
        if let head = ownHeads.value(of: key) { return head }
        let head = isNotModified ? shown.notModified() : shown.whole()
        ownHeads.insert(key, head, cost: 1)
        return head
    }

    @inline(__always)
    private mutating func whole(
        _ request: borrowing RequestHead, _ shown: borrowing Representation
    ) -> Response {
        let head = templates.whole(shown) ?? ownHead(shown, isNotModified: false)
        if case .head = request.method { return Response(head: head) }
        let (address, size) = (shown.resource.address, shown.resource.byteCount)
        if size == 0 { return Response(head: head, body: .piece(.bytes([]))) }
        return Response(head: head, body: .piece(.object(address, range: 0..<size, size: size)))
    }

    /// The coding to send; `nil` if the client refuses all of them.
    ///
    /// Prefers the highest weight, then the smallest size. A request for ranges gets identity unless it refuses that,
    /// because downloaders and media players count the bytes of the file.
    private func choose(
        _ request: borrowing RequestHead, _ fields: ConditionalFields, _ base: Int32
    ) -> ContentCoding? {
        let resource = site.resources[Int(base)]
        // It has no other form than its own.
        if resource.coding != .identity { return .identity }
        if resource.variants < 0, fields.acceptEncoding < 0 { return .identity }
        let value = fields.list(request, fields.acceptEncoding)
        // Without a weight of 0 nothing is refused, so there is nothing to choose.
        if resource.variants < 0, let value, !value.contains(48) { return .identity }
        let accept = AcceptEncoding(value)
        if fields.range >= 0, request.method == .get, accept[.identity] > 0 { return .identity }
        var best: ContentCoding? = accept[.identity] > 0 ? .identity : nil
        var bestWeight = accept[.identity]
        var bestSize = resource.byteCount
        guard resource.variants >= 0 else { return best }
        let variants = site.variants[Int(resource.variants)]
        for coding in [ContentCoding.brotli, .zstandard, .gzip] where variants[coding] >= 0 {
            let weight = accept[coding]
            let size = site.resources[Int(variants[coding])].byteCount
            guard weight > 0, weight > bestWeight || weight == bestWeight && size < bestSize else {
                continue
            }
            // A variant that saves no bytes makes the client decompress in vain.
            if best == .identity, accept.identity == nil, size >= resource.byteCount { continue }
            (best, bestWeight, bestSize) = (coding, weight, size)
        }
        return best
    }

    /// The address of what a request shows, without content coding; `nil` for nothing.
    func shown(_ request: borrowing RequestHead) -> ObjectID? {
        if let address = site.address(of: request.bytes[request.path]) { return address }
        guard let key = site.index, getsIndex(request) else { return nil }
        return site.resources[Int(site.destinations[key].resource)].address
    }

    func getsIndex(_ request: borrowing RequestHead) -> Bool {
        let path = request.bytes[request.path]
        switch site.options.fallback {
        case .none: return false
        case .navigations:
            // Routes of an app may end like a file: /package/chart.js, /search/192.168.1.0.
            return request.load != .subresource
                && (request.isForDocument || !Self.isAsset(path))
        case .meteor:
            if path.elementsEqual("/favicon.ico".utf8) { return false }
            if path.starts(with: "/local-filesystem".utf8) { return false }
            return !Self.declinesIndex(request)
        }
    }

    /// Whether a missing file of this name is missing to a page, not a person: a script, a style, an image, a hashed
    /// name.
    static func isAsset(_ path: ArraySlice<UInt8>) -> Bool {
        if let type = MediaType.known(path) { return type.use == .asset }
        return HashedName.matches(path)
    }

    /// Whether the query has one of the parameters with which Meteor's clients ask for 404 instead.
    static func declinesIndex(_ request: borrowing RequestHead) -> Bool {
        guard let query = request.query else { return false }
        for parameter in request.bytes[query].split(separator: 38) {
            let name = parameter.prefix { $0 != 61 }
            if name.isWord("meteor_dont_serve_index") || name.isWord("meteor_js_resource")
                || name.isWord("meteor_css_resource")
            {
                return true
            }
        }
        return false
    }
}
