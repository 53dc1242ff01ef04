package import CASStore
package import VersionTree

/// The first 24 bytes of a pack: `castpack`, then in little endian the format and the table's size (32 bits each),
/// and the whole pack's size (64 bits).
package struct PackHead: Sendable, Hashable {
    package static let byteCount = 24
    package static let formatVersion: UInt32 = 1
    private static let magic = Array("castpack".utf8)

    package var tableByteCount: Int
    package var packByteCount: Int64

    package var framesStart: Int64 { Int64(Self.byteCount + tableByteCount) }

    package init(tableByteCount: Int, packByteCount: Int64) {
        self.tableByteCount = tableByteCount
        self.packByteCount = packByteCount
    }

    /// - Parameter packByteCount: the size that the delivery promises.
    /// - Throws: `.badPack`.
    package init(parsing bytes: [UInt8], packByteCount: Int64) throws(StoreError) {
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

    package var serialized: [UInt8] {
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

extension StoreError.Code {
    /// A pack or a delivery is invalid; its objects can be fetched without it.
    package static let badPack = Self("badPack")
}

extension StoreError {
    package static func badPack(_ problem: String, _ code: Code = .badPack) -> StoreError {
        StoreError(code, "the pack is refused: \(problem)")
    }

    /// The pack may be right, but its bases are not.
    static func damagedBases(_ bases: [ObjectID]) -> StoreError {
        let others = bases.count == 1 ? "" : " and \(bases.count - 1) more"
        return StoreError(
            .badPack,
            "the pack cannot be used: of what it leads from, object \(bases[0])\(others) is damaged in this store",
            object: bases[0])
    }
}

/// The bounds of packs (`docs/origin-format.md`, *Bounds*), which readers enforce and publishers obey.
package enum PackLimits {
    package static let packByteCountMax: Int64 = 4 << 30
    /// The largest table, as it is in the pack.
    package static let tableByteCountMax = 4 << 20
    /// The largest table, decoded.
    package static let tableContentByteCountMax = 64 << 20
    package static let frameCountMax = 1_000_000
    /// The largest window of a frame without a prefix.
    package static let windowByteCountMax = 8 << 20
    /// The largest single base, and the largest content of a frame with bases.
    package static let baseByteCountMax: Int64 = 64 << 20
    /// How many bytes of bases a pack's frames may read, besides 512 times its content.
    static let allBasesByteCountMax: Int64 = 256 << 20
    package static let baseCountMax = 64
    /// The most bytes of several bases together.
    package static let jointBaseByteCountMax: Int64 = 8 << 20
    /// The largest manifest that comes with a prefix.
    package static let prefixedManifestByteCountMax: Int64 = 64 << 20

    /// The largest pack of so much content, including the manifest.
    package static func packByteCountMax(ofContent byteCount: Int64) -> Int64 {
        min(byteCount.addingClamped(byteCount / 100).addingClamped(1 << 20), packByteCountMax)
    }

    /// The largest decoded table of so many objects.
    package static func tableContentByteCountMax(ofObjects count: Int) -> Int {
        min(
            count.multipliedReportingOverflow(by: 24).partialValue + 1 << 20,
            tableContentByteCountMax)
    }

    /// The largest opening of a pack that leads to a manifest of this size.
    static func openingByteCountMax(ofManifest byteCount: Int64) -> Int64 {
        Int64(PackHead.byteCount + tableByteCountMax)
            .addingClamped(frameByteCountMax(ofContent: byteCount))
    }

    static func frameByteCountMax(ofContent byteCount: Int64) -> Int64 {
        byteCount.addingClamped(byteCount / 128).addingClamped(64)
    }
}

/// The objects of a version by number, as packs name them: the rank among the distinct addresses of its entries.
///
/// A pack thus spends two or three bytes on an object instead of 32. Manifests of one content give the same numbers.
package struct NumberedObjects: Sendable {
    /// Sorted by address.
    package let references: [Reference]

    package init(of manifest: Manifest) {
        var all: [Reference] = []
        all.reserveCapacity(manifest.count)
        for position in 0..<manifest.count {
            all.append(
                Reference(
                    address: manifest.address(at: position),
                    byteCount: manifest.byteCount(at: position)))
        }
        self.init(all)
    }

    /// - Parameter all: what the entries name, in any order.
    package init(_ all: [Reference]) {
        let all = all.sorted { $0.address < $1.address }
        var distinct: [Reference] = []
        distinct.reserveCapacity(all.count)
        for one in all where distinct.last?.address != one.address { distinct.append(one) }
        references = distinct
    }

    package var count: Int { references.count }

    package func number(of address: ObjectID) -> UInt32? {
        let place = references.firstPosition { $0.address < address }
        guard place < references.count, references[place].address == address else { return nil }
        return UInt32(place)
    }
}
