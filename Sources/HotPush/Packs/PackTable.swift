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
/// The first frame is the manifest that the numbers of objects are those of. Its own bases have the
/// numbers of another content, which the delivery names (`from`).
struct PackTable: Sendable, Hashable {
    /// A part of the pack that is decoded as one.
    struct Frame: Sendable, Hashable {
        var codec: PackCodec
        /// Its bytes in the pack.
        var byteCount: Int64
        /// The bytes that come out.
        var contentByteCount: Int64
        /// Positions in ``PackTable/bases``.
        var bases: [Int] = []
        /// Positions in ``PackTable/entries``: what comes out, in order.
        var entries: Range<Int> = 0..<0
        /// Where it begins in the pack.
        var offset: Int64 = 0

        /// Where it ends in the pack.
        var end: Int64 { offset + byteCount }
    }

    /// An object that comes out of a frame.
    struct Entry: Sendable, Hashable {
        /// Its number in the manifest.
        var number: UInt32
        /// Its size.
        var byteCount: Int64
    }

    /// The numbers of the objects used as prefixes, in the content from which the pack leads.
    var bases: [UInt32] = []
    /// The frames, in the order of the pack; the first is the manifest's.
    var frames: [Frame] = []
    /// The objects, in the order in which they come out.
    var entries: [Entry] = []

    /// The bytes that come out, without the manifest.
    var contentByteCount: Int64 { frames.dropFirst().reduce(0) { $0 + $1.contentByteCount } }

    /// Holds the table against the manifest in its first frame.
    /// - Throws: `.badPack` for a number that no object has, or a size that is not the object's.
    func check(against objects: NumberedObjects) throws(StoreError) {
        for entry in entries {
            guard Int(entry.number) < objects.count else {
                throw .badPack("it names object \(entry.number) of \(objects.count)")
            }
            guard objects.references[Int(entry.number)].byteCount == entry.byteCount else {
                throw .badPack("it gives object \(entry.number) another size than the manifest")
            }
        }
    }

    /// Holds the bases against the content from which the pack leads.
    /// - Throws: `.badPack` for a number that no object has, or bases that are too large.
    func checkBases(against objects: NumberedObjects) throws(StoreError) {
        for base in bases where Int(base) >= objects.count {
            throw .badPack("it names base \(base) of \(objects.count)")
        }
        for frame in frames.dropFirst() where !frame.bases.isEmpty {
            var sum: Int64 = 0
            for base in frame.bases { sum += objects.references[Int(bases[base])].byteCount }
            let limit =
                frame.bases.count == 1
                ? PackLimits.baseByteCountMax : PackLimits.jointBaseByteCountMax
            guard sum <= limit else { throw .badPack("the bases of a frame have \(sum) bytes") }
        }
    }
}
