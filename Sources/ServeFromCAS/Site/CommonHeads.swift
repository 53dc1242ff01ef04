import CASStore

/// What the heads of all representations of a site share, made once.
struct CommonHeads: Sendable {
    /// 200, 206 and 304, each for immutable URLs and for others.
    private let whole: (ResponseHead, ResponseHead)
    private let part: (ResponseHead, ResponseHead)
    private let notModified: (ResponseHead, ResponseHead)

    init(_ options: SiteOptions, modifiedAt: Int64) {
        func pair(_ status: Int) -> (ResponseHead, ResponseHead) {
            (
                Self.head(status, options, modifiedAt, isImmutable: false),
                Self.head(status, options, modifiedAt, isImmutable: true)
            )
        }
        (whole, part, notModified) = (pair(200), pair(206), pair(304))
    }

    /// A 200 with the whole representation.
    func whole(isImmutable: Bool) -> ResponseHead { isImmutable ? whole.1 : whole.0 }
    /// 206.
    func part(isImmutable: Bool) -> ResponseHead { isImmutable ? part.1 : part.0 }
    /// A 304: what a cache needs to update its copy, and no more (RFC 9110, section 15.4.5).
    func notModified(isImmutable: Bool) -> ResponseHead {
        isImmutable ? notModified.1 : notModified.0
    }

    private static func head(
        _ status: Int, _ options: SiteOptions, _ modifiedAt: Int64, isImmutable: Bool
    ) -> ResponseHead {
        var head = ResponseHead(status)
        if !options.fields.contains(where: { $0.name.lowercased() == "cache-control" }) {
            head.add(
                "Cache-Control", isImmutable ? "public, max-age=31536000, immutable" : "no-cache")
        }
        if let policy = options.referrerPolicy { head.add("Referrer-Policy", policy) }
        for field in options.fields { head.add(field.name, field.value) }
        if status == 304 { return head }
        head.add("Accept-Ranges", "bytes")
        head.add("X-Content-Type-Options", "nosniff")
        if modifiedAt > 0 { head.add("Last-Modified", HTTPDate(seconds: modifiedAt).text) }
        return head
    }
}
