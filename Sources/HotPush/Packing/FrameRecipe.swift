import CASStore
import StrictJSON
import Zstandard

/// What a frame is made from: with the level and the version of libzstd, this decides its bytes.
struct FrameRecipe: Sendable, Hashable {
    /// What comes out, in order.
    var objects: [Reference]
    /// The prefix, in order; empty for a frame that needs none.
    var bases: [Reference] = []
    var level: Int

    /// The bytes that come out.
    var contentByteCount: Int64 { objects.reduce(0) { $0 + $1.byteCount } }
    var prefixByteCount: Int64 { bases.reduce(0) { $0 + $1.byteCount } }

    var plain: FrameRecipe {
        var plain = self
        plain.bases = []
        return plain
    }

    /// The codec that its bytes have, if they are worth it.
    var codec: PackCodec { bases.isEmpty ? .compressed : .prefixed }

    /// From here on, repetitions are looked for all over a prefix and its content.
    private static let longDistanceByteCount: Int64 = 4 << 20

    /// How it is compressed.
    var settings: ZstdEncoder.Settings {
        let byteCount = contentByteCount + prefixByteCount
        // The least power of two that holds them: what decoders must be able to refer back to.
        let exact = Int64.bitWidth - max(byteCount - 1, 0).leadingZeroBitCount
        let limit = bases.isEmpty ? Self.plainWindowLogMax : Self.prefixedWindowLogMax
        return ZstdEncoder.Settings(
            level: level, windowLog: min(max(exact, 10), limit),
            isLongDistance: !bases.isEmpty && byteCount >= Self.longDistanceByteCount)
    }

    private static let plainWindowLogMax = PackLimits.windowByteCountMax.trailingZeroBitCount
    private static let prefixedWindowLogMax =
        (2 * PackLimits.baseByteCountMax).trailingZeroBitCount

    /// Its name among the frames that are kept.
    func name() throws(StoreError) -> ObjectID {
        let document = JSONWriter.document { writer in
            writer.member("bases", bases) { writer, base in
                writer.member("address", base.address.description)
            }
            writer.member("level", level)
            writer.member("objects", objects) { writer, object in
                writer.member("address", object.address.description)
            }
            writer.member("zstd", ZstdEncoder.version)
        }
        return try ObjectID(of: document)
    }
}
