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
