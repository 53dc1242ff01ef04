import CASStore

/// How large the parts of packs may be: more is refused (`docs/origin-format.md`, *Bounds*).
///
/// Publishers obey the same limits, so that nobody publishes what nobody reads.
enum PackLimits {
    /// The largest pack.
    static let packByteCountMax: Int64 = 4 << 30
    /// The largest table, as it is in the pack.
    static let tableByteCountMax = 4 << 20
    /// The largest table, decoded.
    static let tableContentByteCountMax = 64 << 20
    /// The most frames of a pack.
    static let frameCountMax = 1_000_000
    /// The most memory that a frame without a prefix may demand for its window.
    static let windowByteCountMax = 8 << 20
    /// The largest single base, and the largest content of a frame with bases.
    static let baseByteCountMax: Int64 = 64 << 20
    /// How much of bases a pack may have its frames read, besides 512 times its content.
    static let allBasesByteCountMax: Int64 = 256 << 20
    /// The most bases of a frame.
    static let baseCountMax = 64
    /// The most bytes of several bases together.
    static let jointBaseByteCountMax: Int64 = 8 << 20
    /// The largest manifest that comes with a prefix.
    static let prefixedManifestByteCountMax: Int64 = 64 << 20

    /// The most bytes that a pack of so much content, the manifest among it, may have.
    static func packByteCountMax(ofContent byteCount: Int64) -> Int64 {
        min(byteCount.addingClamped(byteCount / 100).addingClamped(1 << 20), packByteCountMax)
    }

    /// The most bytes that a table of so many objects may have, decoded.
    static func tableContentByteCountMax(ofObjects count: Int) -> Int {
        min(
            count.multipliedReportingOverflow(by: 24).partialValue + 1 << 20,
            tableContentByteCountMax)
    }

    /// The most bytes of the opening of a pack that leads to a manifest of so many bytes.
    static func openingByteCountMax(ofManifest byteCount: Int64) -> Int64 {
        Int64(PackHead.byteCount + tableByteCountMax)
            .addingClamped(frameByteCountMax(ofContent: byteCount))
    }

    /// The most bytes that a frame of so much content may have.
    static func frameByteCountMax(ofContent byteCount: Int64) -> Int64 {
        byteCount.addingClamped(byteCount / 128).addingClamped(64)
    }
}
