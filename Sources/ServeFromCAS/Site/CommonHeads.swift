import CASStore

/// The parts that the heads of all representations of a site share, made once.
struct CommonHeads: Sendable {
    /// 200, 206 and 304, each for immutable URLs and for others.
    private let whole: (ResponseHead, ResponseHead)
    private let part: (ResponseHead, ResponseHead)
    private let notModified: (ResponseHead, ResponseHead)

    init(_ options: SiteOptions) {
        self.init(fields: options.fields, options.referrerPolicy)
    }

    /// The heads of the files at a path; `nil` if they have no fields of their own.
    init?(_ options: SiteOptions, for path: ArraySlice<UInt8>) {
        guard options.hasFields(for: path) else { return nil }
        let fields = options.fields(for: path)
        let isOwn = fields.contains { $0.name.lowercased() == "referrer-policy" }
        self.init(fields: fields, isOwn ? nil : options.referrerPolicy)
    }

    private init(fields: [(name: String, value: String)], _ referrerPolicy: String?) {
        func pair(_ status: Int) -> (ResponseHead, ResponseHead) {
            (
                Self.head(status, fields, referrerPolicy, isImmutable: false),
                Self.head(status, fields, referrerPolicy, isImmutable: true)
            )
        }
        (whole, part, notModified) = (pair(200), pair(206), pair(304))
    }

    func whole(isImmutable: Bool) -> ResponseHead { isImmutable ? whole.1 : whole.0 }
    func part(isImmutable: Bool) -> ResponseHead { isImmutable ? part.1 : part.0 }
    /// A 304: what a cache needs to update its copy, and no more (RFC 9110, section 15.4.5).
    func notModified(isImmutable: Bool) -> ResponseHead {
        isImmutable ? notModified.1 : notModified.0
    }

    private static func head(
        _ status: Int, _ fields: [(name: String, value: String)], _ referrerPolicy: String?,
        isImmutable: Bool
    ) -> ResponseHead {
        var head = ResponseHead(status)
        if !fields.contains(where: { $0.name.lowercased() == "cache-control" }) {
            head.add(
                "Cache-Control", isImmutable ? "public, max-age=31536000, immutable" : "no-cache")
        }
        if let referrerPolicy { head.add("Referrer-Policy", referrerPolicy) }
        for field in fields { head.add(field.name, field.value) }
        if status == 304 { return head }
        head.add("Accept-Ranges", "bytes")
        head.add("X-Content-Type-Options", "nosniff")
        return head
    }
}
