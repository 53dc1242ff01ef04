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

/// The heads of a site's ordinary representations, by content type: made once for each type, so that ten thousand
/// files need a dozen.
///
/// The address and the length, which differ between files, are written when the head is sent. Representations with a
/// label or a source map have their own heads (``Responder``). For one thread, without a lock.
struct HeadTemplates: Sendable {
    /// For each resource: 0 for unknown, `own`, or the number of its content type plus one.
    private var kinds: [UInt8] = []
    private var contentTypes: [String] = []
    /// For each content type, whether its heads state the version.
    private var saysVersion: [Bool] = []
    private var whole: [ResponseHead?] = []
    private var notModified: [ResponseHead?] = Array(repeating: nil, count: 8)

    private static let own = UInt8.max
    /// By coding, immutability, and whether there are variants.
    private static let perKind = 16

    /// The head of a 200; `nil` if the representation has its own.
    @inline(__always)
    mutating func whole(_ shown: borrowing Representation) -> ResponseHead? {
        guard let kind = kind(of: shown) else { return nil }
        let place =
            kind * Self.perKind + Int(shown.coding.rawValue) * 4 + (shown.isImmutable ? 2 : 0)
            + (shown.hasVariants ? 1 : 0)
        var head = whole[place] ?? shown.wholeTemplate()
        if whole[place] == nil { whole[place] = head }
        head.object = ObjectFields(
            address: shown.resource.address, length: shown.resource.byteCount)
        return head
    }

    @inline(__always)
    mutating func notModified(_ shown: borrowing Representation) -> ResponseHead? {
        guard let kind = kind(of: shown) else { return nil }
        let place =
            (saysVersion[kind] ? 4 : 0) + (shown.isImmutable ? 2 : 0) + (shown.hasVariants ? 1 : 0)
        var head = notModified[place] ?? shown.notModified(hasTag: false)
        if notModified[place] == nil { notModified[place] = head }
        head.object = ObjectFields(address: shown.resource.address, length: -1)
        return head
    }

    @inline(__always)
    private mutating func kind(of shown: borrowing Representation) -> Int? {
        if kinds.isEmpty { kinds = Array(repeating: 0, count: shown.site.resources.count) }
        var kind = kinds[Int(shown.base)]
        if kind == 0 {
            kind = classify(shown)
            kinds[Int(shown.base)] = kind
        }
        return kind == Self.own ? nil : Int(kind) - 1
    }

    private mutating func classify(_ shown: borrowing Representation) -> UInt8 {
        guard !shown.hasOwnHead else { return Self.own }
        let type = shown.contentType
        if let known = contentTypes.firstIndex(of: type) { return UInt8(known + 1) }
        guard contentTypes.count < Int(Self.own) - 1 else { return Self.own }
        contentTypes.append(type)
        saysVersion.append(Representation.saysVersion(type))
        whole += Array(repeating: nil, count: Self.perKind)
        return UInt8(contentTypes.count)
    }
}

/// Answers to requests for parts of a representation (RFC 9110, sections 14 and 15.3.7).
enum RangeAnswer {
    /// 206 or 416; `nil` if the whole representation is to be sent.
    static func response(
        _ value: FieldText, _ shown: Representation
    ) -> Response? {
        let size = shown.resource.byteCount
        switch ByteRanges(value, size: size) {
        case .ignored: return nil
        case .unsatisfiable:
            return PlainAnswer.response(
                416, "The file has \(size) bytes, but the range has none of them.", method: .get,
                fields: [("Content-Range", "bytes */\(size)"), ("Accept-Ranges", "bytes")])
        case .ranges(let ranges):
            // A single range is never sent as multipart, even if the request also named unsatisfiable ones.
            guard ranges.count > 1 else { return single(ranges[0], shown) }
            return multiple(ranges, shown)
        }
    }

    private static func single(
        _ range: Range<Int64>, _ shown: Representation
    ) -> Response {
        let resource = shown.resource
        var head = shown.part(
            length: range.upperBound - range.lowerBound, contentType: shown.contentType)
        head.add("Content-Range", contentRange(range, resource.byteCount))
        return Response(
            head: head,
            body: .piece(.object(resource.address, range: range, size: resource.byteCount)))
    }

    /// Parts as `multipart/byteranges` (section 14.6), in the order requested.
    private static func multiple(
        _ ranges: [Range<Int64>], _ shown: Representation
    ) -> Response {
        let (resource, contentType) = (shown.resource, shown.contentType)
        let boundary = boundary(resource.address)
        var pieces: [Response.Piece] = []
        var length: Int64 = 0
        var isFirst = true
        for range in ranges {
            let text =
                (isFirst ? "" : "\r\n") + "--\(boundary)\r\nContent-Type: \(contentType)\r\n"
                + "Content-Range: \(contentRange(range, resource.byteCount))\r\n\r\n"
            isFirst = false
            let bytes = Array(text.utf8)
            pieces.append(.bytes(bytes))
            pieces.append(.object(resource.address, range: range, size: resource.byteCount))
            length += Int64(bytes.count) + range.upperBound - range.lowerBound
        }
        let end = Array("\r\n--\(boundary)--\r\n".utf8)
        pieces.append(.bytes(end))
        length += Int64(end.count)
        let head = shown.part(
            length: length, contentType: "multipart/byteranges; boundary=\(boundary)")
        return Response(head: head, body: .pieces(pieces))
    }

    private static func contentRange(_ range: Range<Int64>, _ size: Int64) -> String {
        "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
    }

    /// A line that does not occur in the content: nobody can write a file that contains its own SHA-256.
    private static func boundary(_ address: ObjectID) -> String {
        "castree-" + address.description.prefix(48)
    }
}
