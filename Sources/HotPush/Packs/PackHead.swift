import CASStore

/// The first 24 bytes of a pack: `castpack`, then in little endian the format, the bytes of the table (32 bits each), and
/// those of the whole pack (64 bits).
struct PackHead: Sendable, Hashable {
    /// The size of a head.
    static let byteCount = 24
    /// The version of the format.
    static let formatVersion: UInt32 = 1
    private static let magic = Array("castpack".utf8)

    /// The bytes of the table, which follows.
    var tableByteCount: Int
    /// The bytes of the whole pack.
    var packByteCount: Int64

    /// Where the first frame begins.
    var framesStart: Int64 { Int64(Self.byteCount + tableByteCount) }

    init(tableByteCount: Int, packByteCount: Int64) {
        self.tableByteCount = tableByteCount
        self.packByteCount = packByteCount
    }

    /// Reads a head.
    /// - Parameter packByteCount: the size that the delivery promises.
    /// - Throws: `.badPack`.
    init(parsing bytes: [UInt8], packByteCount: Int64) throws(StoreError) {
        guard bytes.count == Self.byteCount, bytes.starts(with: Self.magic) else {
            throw .badPack("it does not begin as one")
        }
        let version = UInt32(Self.number(bytes[8..<12]))
        guard version == Self.formatVersion else {
            throw .badPack("it has format \(version); this castree knows \(Self.formatVersion)")
        }
        let table = Self.number(bytes[12..<16])
        guard 1...UInt64(PackLimits.tableByteCountMax) ~= table else {
            throw .badPack("its table has \(table) bytes")
        }
        guard Self.number(bytes[16..<24]) == UInt64(packByteCount) else {
            throw .badPack("it says another size than its delivery")
        }
        tableByteCount = Int(table)
        self.packByteCount = packByteCount
        guard framesStart < packByteCount else { throw .badPack("it ends before its frames") }
    }

    /// Its bytes.
    var serialized: [UInt8] {
        Self.magic + Self.bytes(UInt64(Self.formatVersion), 4)
            + Self.bytes(UInt64(tableByteCount), 4) + Self.bytes(UInt64(packByteCount), 8)
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func bytes(_ value: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
    }
}
