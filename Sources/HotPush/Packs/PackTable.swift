import CASStore

/// How the bytes of a frame give its content.
enum PackCodec: UInt8, Sendable, Hashable, CaseIterable {
    /// They are the content.
    case stored = 0
    /// They are a zstd frame.
    case compressed = 1
    /// They are a zstd frame whose prefix is the frame's bases, one after the other.
    case prefixed = 2
}

/// What a pack contains: its frames, and which objects come out of each.
///
/// The first frame is the manifest that the numbers of objects are those of. The numbers of bases are those of
/// another content, which the delivery names (`from`). A table gives no size: they are the manifest's, so that no
/// pack can promise others.
struct PackTable: Sendable, Hashable {
    /// A part of the pack that is decoded as one.
    struct Frame: Sendable, Hashable {
        var codec: PackCodec
        /// Its bytes in the pack.
        var byteCount: Int64
        /// The numbers of the objects used as its prefix.
        var bases: [UInt32] = []
        /// The numbers of the objects that come out, in order.
        var objects: [UInt32] = []
        /// Where it begins in the pack.
        var offset: Int64 = 0
        /// The bytes that come out, once the table is measured.
        var contentByteCount: Int64 = 0

        /// Where it ends in the pack.
        var end: Int64 { offset + byteCount }
    }

    /// The frames, in the order of the pack; the first is the manifest's.
    var frames: [Frame] = []

    /// The bytes that come out, without the manifest.
    var contentByteCount: Int64 {
        frames.dropFirst().reduce(0) { $0.addingClamped($1.contentByteCount) }
    }

    /// How many objects come out.
    var objectCount: Int { frames.reduce(0) { $0 + $1.objects.count } }

    /// Gives each frame its size, and judges what depends on sizes.
    ///
    /// - Parameters:
    ///   - manifest: the size of the manifest.
    ///   - objects: those of the manifest.
    ///   - bases: those of the content from which the pack leads, if it leads from one.
    /// - Throws: `.badPack` for a number that no object has, or a frame beyond its bounds.
    mutating func measure(
        manifest byteCount: Int64, _ objects: NumberedObjects, from bases: NumberedObjects?
    ) throws(StoreError) {
        for position in frames.indices {
            var content = position == 0 ? byteCount : 0
            for number in frames[position].objects {
                guard Int(number) < objects.count else {
                    throw .badPack("it names object \(number) of \(objects.count)")
                }
                content = content.addingClamped(objects.references[Int(number)].byteCount)
            }
            frames[position].contentByteCount = content
            try judge(position, from: bases)
        }
    }

    private func judge(
        _ position: Int, from objects: NumberedObjects?
    ) throws(StoreError) {
        let frame = frames[position]
        let content = frame.contentByteCount
        guard frame.byteCount <= PackLimits.frameByteCountMax(ofContent: content) else {
            throw .badPack("frame \(position) is larger than its content")
        }
        guard frame.codec != .stored || frame.byteCount == content else {
            throw .badPack("frame \(position) does not consist of its objects")
        }
        guard frame.codec == .prefixed else { return }
        let contentMax =
            position == 0 ? PackLimits.prefixedManifestByteCountMax : PackLimits.baseByteCountMax
        guard content <= contentMax else {
            throw .badPack("frame \(position) is too large for a prefix")
        }
        guard let objects else { throw .badPack("it has bases and leads from nothing") }
        var sum: Int64 = 0
        for base in frame.bases {
            guard Int(base) < objects.count else {
                throw .badPack("it names base \(base) of \(objects.count)")
            }
            sum = sum.addingClamped(objects.references[Int(base)].byteCount)
        }
        let limit =
            frame.bases.count == 1
            ? PackLimits.baseByteCountMax : PackLimits.jointBaseByteCountMax
        guard sum <= limit else { throw .badPack("the bases of a frame have \(sum) bytes") }
    }
}
