// Bounds on foreign texts.

/// Bounds on the input of a reader (RFC 8259 §9 allows such limits).
public struct JSONLimits: Sendable, Hashable {
    /// The largest value for `depth`.
    ///
    /// A tree is compared, hashed, written and freed by recursion; a stack of 256 KiB survives this depth even in a
    /// debug build.
    public static let depthMax = 256
    /// The largest value for `byteCount`: offsets are kept in 31 bits.
    public static let byteCountMax = Int(Int32.max)

    /// How deep arrays and objects may nest; a text of depth 1 is one flat array or object.
    public var depth: Int
    /// How long the whole input may be, in bytes.
    ///
    /// Reading takes some 20 bytes more for each key of the open objects, to find duplicates.
    public var byteCount: Int

    /// Creates limits: 64 levels and 256 MiB by default.
    public init(depth: Int = 64, byteCount: Int = 256 << 20) {
        self.depth = depth
        self.byteCount = byteCount
    }
}
