import CASStore

/// The heads of one representation as one URL shows it, made once.
struct PreparedHeads: Sendable {
    /// The strong entity tag with its quotes.
    let tag: [UInt8]
    /// 200 with the whole representation.
    let whole: ResponseHead
    /// 304.
    let notModified: ResponseHead
    /// The value of Content-Type.
    let contentType: String
    /// The fields of `whole` without Content-Length, as other statuses have them.
    let fields: [(name: String, value: String)]

    /// Prepares the heads of a representation.
    ///
    /// - Parameters:
    ///   - resource: what is sent: the base or a variant of it.
    ///   - base: what the URL stands for.
    init(
        _ site: Site, resource: Resource, base: Int32, coding: ContentCoding,
        isImmutable: Bool
    ) {
        let options = site.options
        let path = Self.treePath(site, base)
        let type = MediaType.known(path) ?? .unknown
        let contentType = type.contentType(withCharset: options.namesCharset)
        let tag = Self.tag(site, resource)
        var common: [(name: String, value: String)] = [
            ("ETag", String(decoding: tag, as: UTF8.self))
        ]
        if !options.fields.contains(where: { $0.name.lowercased() == "cache-control" }) {
            common.append(
                (
                    "Cache-Control",
                    isImmutable ? "public, max-age=31536000, immutable" : "no-cache"
                ))
        }
        if site.resources[Int(base)].variants >= 0 { common.append(("Vary", "Accept-Encoding")) }
        if let policy = options.referrerPolicy { common.append(("Referrer-Policy", policy)) }
        common.append(contentsOf: options.fields)
        // RFC 9110, section 15.4.5: what a cache needs to bring its copy up to date, and no more.
        var notModified = ResponseHead(304)
        for field in common { notModified.add(field.name, field.value) }

        var fields = common
        fields.append(("Content-Type", contentType))
        fields.append(("Accept-Ranges", "bytes"))
        fields.append(("X-Content-Type-Options", "nosniff"))
        if coding != .identity { fields.append(("Content-Encoding", "\(coding.name)")) }
        if site.modifiedAt > 0 {
            fields.append(("Last-Modified", HTTPDate(seconds: site.modifiedAt).text))
        }
        if let map = Self.sourceMap(site, path, base) {
            fields.append(("SourceMap", map))
            fields.append(("X-SourceMap", map))
        }
        var whole = ResponseHead(200)
        for field in fields { whole.add(field.name, field.value) }
        whole.add("Content-Length", String(resource.byteCount))
        self.tag = tag
        self.whole = whole
        self.notModified = notModified
        self.contentType = contentType
        self.fields = fields
    }

    /// A head of another status with the representation's fields.
    func head(_ status: Int, length: Int64, contentType: String? = nil) -> ResponseHead {
        var head = ResponseHead(status)
        for field in fields {
            let isType = field.name == "Content-Type"
            head.add(field.name, isType ? contentType ?? field.value : field.value)
        }
        head.add("Content-Length", String(length))
        return head
    }

    private static func tag(_ site: Site, _ resource: Resource) -> [UInt8] {
        var tag: [UInt8] = [34]
        if resource.label >= 0 {
            tag.append(contentsOf: site.labels[Int(resource.label)].utf8)
        } else {
            tag.append(contentsOf: resource.address.description.utf8)
        }
        tag.append(34)
        return tag
    }

    /// The path in the tree, which says the type: a route or an index's URL need not.
    private static func treePath(_ site: Site, _ resource: Int32) -> ArraySlice<UInt8> {
        let key = site.resources[Int(resource)].path
        return key < 0 ? [] : site.table.key(Int(key))
    }

    /// The URL of the source map: what the manifest says, else a `.map` beside a script or a style.
    private static func sourceMap(
        _ site: Site, _ path: ArraySlice<UInt8>, _ base: Int32
    ) -> String? {
        if let map = site.sourceMaps[base] { return map }
        let path = Array(path)
        guard path.hasEnding(".js") || path.hasEnding(".mjs") || path.hasEnding(".css") else {
            return nil
        }
        let map = path + Array(".map".utf8)
        return site.table.find(map[...]) == nil ? nil : percentEncodedPath(map)
    }
}
