/// The disk usage of each object and its executable copy, by its rank in a ``UsageTable``.
///
/// Objects are identified by eight bytes of their addresses: a forged collision merely has one's blocks counted for
/// the other. The table is ordered like the shards, so a walk shard by shard stays in a small part of it.
struct ObjectBlocks: Sendable {
    /// 0 is an empty place.
    private var keys: [UInt64]
    private var ranks: [UInt32]
    private let shift: Int
    /// The blocks of each object, in bytes.
    private(set) var own: [Int64]
    private(set) var copies: [UInt32: Int64] = [:]

    /// - Parameter words: the first eight bytes of each address, by rank.
    init(_ words: [UInt64]) {
        let bits = max(4, 64 - UInt64(words.count * 2).leadingZeroBitCount)
        shift = 64 - bits
        keys = [UInt64](repeating: 0, count: 1 << bits)
        ranks = [UInt32](repeating: 0, count: 1 << bits)
        own = [Int64](repeating: 0, count: words.count)
        for (rank, word) in words.enumerated() {
            let place = Self.place(of: Self.key(word), in: keys, shift)
            (keys[place], ranks[place]) = (Self.key(word), UInt32(rank))
        }
    }

    private static func key(_ word: UInt64) -> UInt64 { max(word, 1) }

    private static func place(of key: UInt64, in keys: [UInt64], _ shift: Int) -> Int {
        var place = Int(key >> UInt64(shift))
        while keys[place] != 0, keys[place] != key { place = (place + 1) & (keys.count - 1) }
        return place
    }

    /// Adds a file of a shard, unless it is not named like a known object.
    /// - Parameter shard: the first byte of the addresses there.
    mutating func add(
        _ diskBytes: Int64, of name: UnsafePointer<CChar>, in shard: UInt8, isCopy: Bool
    ) {
        var word = UInt64(shard)
        for digit in 0..<14 {
            guard let value = Hex.value(of: UInt8(bitPattern: name[digit])) else { return }
            word = word << 4 | UInt64(value)
        }
        let place = Self.place(of: Self.key(word), in: keys, shift)
        guard keys[place] != 0 else { return }
        if isCopy {
            copies[ranks[place], default: 0] += diskBytes
        } else {
            own[Int(ranks[place])] += diskBytes
        }
    }

    var all: [Int64] {
        var all = own
        for (rank, bytes) in copies { all[Int(rank)] += bytes }
        return all
    }

    func diskBytes(of address: ObjectID) -> (own: Int64, copy: Int64)? {
        let place = Self.place(of: Self.key(address.w0), in: keys, shift)
        guard keys[place] != 0 else { return nil }
        return (own[Int(ranks[place])], copies[ranks[place]] ?? 0)
    }
}
