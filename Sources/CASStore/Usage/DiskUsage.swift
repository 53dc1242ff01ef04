/// The disk usage of a store, part by part; counts each inode once, as du(1) does.
///
/// The sum of the parts is what `du -s` reports for the directory: with `-B1` ``Figures/diskBytes``, with
/// `--apparent-size -B1` ``Figures/apparentBytes``. As in du, directories have blocks but no size of their own (GNU
/// coreutils 9.2 and later).
package struct DiskUsage: Sendable, Hashable {
    /// A part of a store; the raw value is its name in JSON output, and must not change.
    package enum Part: String, Sendable, CaseIterable {
        case objects
        /// The same content again with the executable bit, because one inode has one mode.
        case executableCopies = "twins"
        /// Partial objects, and unpublished files of running writers.
        case staging
        case quarantine
        case manifests
        /// Directories, and files that are copies because they could not be links.
        case trees
        case index
        /// Cached parts of packs for buckets; derived.
        case packing
        /// Space set aside so that collecting works on a full disk.
        case reserve
        case other
    }

    package struct Tree: Sendable, Hashable {
        /// The usage of a plain copy: directories, and files as often as they have names there.
        package internal(set) var copyBytes: Int64 = 0
        /// The usage of directories, and of files that are not links to objects.
        package internal(set) var ownBytes: Int64 = 0
        package internal(set) var directoryBytes: Int64 = 0
    }

    package struct Figures: Sendable, Hashable {
        /// Counts each inode once.
        package var files = 0
        package var apparentBytes: Int64 = 0
        package var diskBytes: Int64 = 0

        static func += (sum: inout Figures, part: Figures) {
            sum.files += part.files
            sum.apparentBytes += part.apparentBytes
            sum.diskBytes += part.diskBytes
        }
    }

    private var figures = [Figures](repeating: Figures(), count: Part.allCases.count)
    package internal(set) var trees: [String: Tree] = [:]
    /// The disk usage of each manifest in bytes, by file name.
    package internal(set) var manifests: [String: Int64] = [:]
    /// The disk usage of the smallest directory in bytes; 0 on some file systems.
    package internal(set) var leastDirectory: Int64 = 0

    package init() {}

    package internal(set) subscript(part: Part) -> Figures {
        get { figures[Self.place(of: part)] }
        set { figures[Self.place(of: part)] = newValue }
    }

    package var total: Figures {
        figures.reduce(into: Figures()) { $0 += $1 }
    }

    private static func place(of part: Part) -> Int {
        Part.allCases.firstIndex(of: part) ?? 0
    }
}

extension Store {
    /// Examines every file of the store once; a link in a tree costs only its directory entry.
    package func diskUsage() throws(StoreError) -> DiskUsage {
        try diskUsage(noting: []).0
    }

    /// Also returns the disk usage of each object.
    /// - Parameter words: the first eight bytes of the objects' addresses.
    func diskUsage(
        noting words: [UInt64]
    ) throws(StoreError) -> (DiskUsage, ObjectBlocks) {
        var walk = DiskWalk(self, noting: ObjectBlocks(words))
        return (try walk.usage(of: directories.root.raw), walk.blocks)
    }
}

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
