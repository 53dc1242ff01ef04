import Platform

/// What a URL shows in one coding, and the heads it is sent with.
struct Representation {
    let site: Site
    /// The resource to send: the base or a variant of it.
    let resource: Resource
    let base: Int32
    let coding: ContentCoding
    let isImmutable: Bool

    var number: Int { Int(base) * 8 + Int(coding.rawValue) * 2 + (isImmutable ? 1 : 0) }

    /// The strong entity tag with its quotes.
    var tag: [UInt8] {
        var tag: [UInt8] = []
        tag.reserveCapacity(66)
        tag.append(34)
        if resource.label >= 0 {
            tag.append(contentsOf: site.labels[Int(resource.label)].utf8)
        } else {
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { digits in
                if let start = digits.baseAddress { resource.address.writeDigits(to: start) }
                tag.append(contentsOf: digits)
            }
        }
        tag.append(34)
        return tag
    }

    var contentType: String {
        let inner = path.dropLast(resource.coding == .identity ? 0 : codedEnding)
        return site.options.contentType(of: inner) ?? MediaType.unknown.name
    }

    var isDocument: Bool { Self.isDocument(contentType) }

    /// Whether it is a document, a script or a style, whose copies must state their version.
    var saysVersion: Bool { Self.saysVersion(contentType) }

    static func saysVersion(_ contentType: String) -> Bool {
        isDocument(contentType) || contentType.hasPrefix("text/javascript")
            || contentType.hasPrefix("text/css")
    }

    static func isDocument(_ contentType: String) -> Bool {
        contentType.hasPrefix("text/html") || contentType.hasPrefix("application/xhtml+xml")
    }

    /// Whether a navigation to it begins a page: a document that may request more files, not a download, which leaves
    /// the page where it is.
    var beginsPage: Bool {
        let type = contentType.prefix { $0 != ";" }
        guard isDocument || type.hasSuffix("/xml") || type.hasSuffix("+xml") else { return false }
        return !site.options.fields(for: path).contains {
            $0.name.lowercased() == "content-disposition"
                && $0.value.lowercased().hasPrefix("attachment")
        }
    }

    var hasVariants: Bool { site.resources[Int(base)].variants >= 0 }

    var hasOwnHead: Bool {
        if site.resources[Int(base)].label >= 0 || resource.label >= 0 { return true }
        if resource.coding != .identity || site.options.hasFields(for: path) { return true }
        return sourceMap != nil
    }

    private var heads: CommonHeads { CommonHeads(site.options, for: path) ?? site.heads }

    /// How much of its name only says that it is compressed: `.gz`, the `z` of `.svgz`.
    private var codedEnding: Int {
        SiteBuilder.coded(path).map(\.ending) ?? 0
    }

    /// Whether the field is exactly its own strong entity tag, made from an address.
    func isTag(_ value: FieldText) -> Bool {
        guard resource.label < 0, value.count == 66, value.first == 34, value.last == 34 else {
            return false
        }
        return value.withUnsafeBufferPointer { value in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { digits in
                guard let start = digits.baseAddress else { return false }
                resource.address.writeDigits(to: start)
                return areEqual(
                    UnsafeBufferPointer(digits), UnsafeBufferPointer(rebasing: value[1..<65]))
            }
        }
    }

    /// The head of a 200 without ETag and Content-Length.
    func wholeTemplate() -> ResponseHead {
        var head = heads.whole(isImmutable: isImmutable)
        describe(&head, contentType, hasTag: false)
        return head
    }

    func whole() -> ResponseHead {
        var head = heads.whole(isImmutable: isImmutable)
        head.reserve(160)
        describe(&head, contentType)
        head.add("Content-Length", String(resource.byteCount))
        return head
    }

    func part(length: Int64, contentType: String) -> ResponseHead {
        var head = heads.part(isImmutable: isImmutable)
        describe(&head, contentType)
        head.add("Content-Length", String(length))
        return head
    }

    func notModified(hasTag: Bool = true) -> ResponseHead {
        var head = heads.notModified(isImmutable: isImmutable)
        identify(&head, hasTag: hasTag)
        return head
    }

    /// The fields that carry pages' marks.
    private static let marks = "Sec-CH-UA, Sec-CH-UA-Mobile, Sec-CH-UA-Platform"

    private func identify(_ head: inout ResponseHead, hasTag: Bool) {
        if hasTag { head.add("ETag", tag) }
        // The back button takes kept pages without asking, but not for requests with another cookie, which names the
        // version of the newest page. A picture or font is shared by all windows of a renderer in Chromium: what another
        // window gets for the address replaces it in every page, except in those whose marks differ.
        let isShared = contentType.hasPrefix("image/") || contentType.hasPrefix("font/")
        let varies = [
            hasVariants ? "Accept-Encoding" : nil, isImmutable ? nil : "Cookie",
            isImmutable || !isShared ? nil : Self.marks,
        ]
        let names = varies.compactMap { $0 }
        if !names.isEmpty { head.add("Vary", names.joined(separator: ", ")) }
        // Also in a 304: the stored copy may be another version's, with the same bytes.
        if saysVersion { head.add(PageWord.field, PageWord.value(for: site.version)) }
    }

    private func describe(
        _ head: inout ResponseHead, _ contentType: String, hasTag: Bool = true
    ) {
        identify(&head, hasTag: hasTag)
        head.add("Content-Type", contentType)
        // A file that is compressed itself has no variants.
        let coding = coding == .identity ? resource.coding : coding
        if coding != .identity { head.add("Content-Encoding", "\(coding.name)") }
        if let map = sourceMap {
            head.add("SourceMap", map)
            head.add("X-SourceMap", map)
        }
    }

    /// The path in the tree, which tells the type: the URL of a route or an index need not.
    private var path: ArraySlice<UInt8> {
        let key = site.resources[Int(base)].path
        return key < 0 ? [] : site.table.key(Int(key))
    }

    /// The URL of the source map: the manifest's, else a `.map` beside a script or a style.
    private var sourceMap: String? {
        if let map = site.sourceMaps[base] { return map }
        let path = Array(path)
        guard [".js", ".mjs", ".css"].contains(where: { path.hasEnding($0.utf8) }) else {
            return nil
        }
        let map = path + Array(".map".utf8)
        return site.table.find(map[...]) == nil ? nil : PercentEncoding.path(of: map)
    }
}
