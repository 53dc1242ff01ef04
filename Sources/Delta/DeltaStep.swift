/// A step by which content is made from a base, from a place in it that is 0 at first.
package struct DeltaStep: Sendable, Hashable {
    /// How many bytes are like the base's from the place on, most of them equal.
    ///
    /// The place moves past them.
    package var copyByteCount: Int
    /// How many bytes follow that are like none of the base's.
    package var literalByteCount: Int
    /// By how much the place moves then: to between 0 and the base's size.
    package var seek: Int

    package init(copyByteCount: Int, literalByteCount: Int, seek: Int) {
        self.copyByteCount = copyByteCount
        self.literalByteCount = literalByteCount
        self.seek = seek
    }
}

/// What no frame may exceed.
package enum DeltaLimits {
    package static let contentByteCountMax = 64 << 20
    package static let baseByteCountMax = 64 << 20
    /// The bytes that are decoded bit by bit, some hundred times slower than those that are copied.
    package static let modelledByteCountMax = 8 << 20
    /// More steps are no delta, and cost a decoder time without giving content.
    package static let stepCountMax = 1 << 18
    /// What a decoder takes besides base and content.
    package static let memoryByteCountMax = 8 << 20
    package static let tableCountMax = 16
    package static let strideMax = 64
    package static let fieldCountMax = 4
}
