import HotPush

/// Bounds the size of all pointers' files, if there may be too many.
///
/// Somebody who signs has space for as much beside what others write. As anybody may say so, a publisher whose keys
/// tell who has signed continues beside any number of others' pointers with as much of its own, and readers have space
/// for all.
struct PointerCapacity {
    static let byteCountMax = 32 << 20

    static func limit(_ byteCountMax: Int, isSigned: Bool) -> Int {
        isSigned ? 2 * byteCountMax : byteCountMax
    }

    static func readable(_ byteCountMax: Int) -> Int { 3 * byteCountMax }

    private var left: Int
    private let counts: Bool

    init(_ byteCountMax: Int, channelCount: Int) {
        left = byteCountMax
        // A few channels always fit: nothing is counted.
        counts = channelCount * ChannelPointer.byteCountMax > byteCountMax
    }

    var isThere: Bool { left >= 0 }

    mutating func take(_ pointer: ChannelPointer) {
        if counts { left -= pointer.serialized().count }
    }
}
