package import CASStore

/// What packing a release makes, or has made.
package struct PackReport: Sendable, Hashable {
    /// One pack.
    package struct Pack: Sendable, Hashable {
        /// The version from which it leads, by name; `nil` for a pack of everything.
        package var version: String?
        /// The content from which it leads.
        package var base: ObjectID?
        /// How many objects come out, and their bytes.
        package var objectCount: Int
        package var contentByteCount: Int64
        /// Its size; `nil` if it is only planned.
        package var byteCount: Int64?
    }

    /// The packs: that of everything first.
    package var packs: [Pack]
    /// How many frames of the packs were kept from earlier releases.
    package var reusedFrameCount = 0
    /// How many were compressed.
    package var madeFrameCount = 0

    /// The bytes of the packs that are made.
    package var byteCount: Int64 { packs.reduce(0) { $0 + ($1.byteCount ?? 0) } }

    /// What is planned: contents that have little in common turn out not to be worth a pack.
    init(planned target: PackedContent, from bases: [PackedContent]) {
        packs = [Pack(objects: target.objects.references)]
        for base in bases {
            let lacking = target.objects.references.filter {
                base.objects.number(of: $0.address) == nil
            }
            var pack = Pack(objects: lacking)
            (pack.version, pack.base) = (base.version, base.content)
            packs.append(pack)
        }
    }

    /// What was made.
    init(
        _ made: [StagedPack], from bases: PackBases, _ frameCounts: (reused: Int, made: Int)
    ) {
        let names = Dictionary(bases.all.map { ($0.content, $0.version) }) { first, _ in first }
        packs = made.map(\.pack).map { pack in
            Pack(
                version: pack.base.flatMap { names[$0] }, base: pack.base,
                objectCount: Int(pack.objectCount), contentByteCount: pack.contentByteCount,
                byteCount: pack.byteCount)
        }
        (reusedFrameCount, madeFrameCount) = frameCounts
    }
}

extension PackReport.Pack {
    fileprivate init(objects: [Reference]) {
        self.init(
            objectCount: objects.count,
            contentByteCount: objects.reduce(0) { $0.addingClamped($1.byteCount) })
    }
}
