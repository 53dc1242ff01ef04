import CASStore
import HotPush
import Storage

/// The immutable files of an origin and their sizes, in little more than 40 bytes each, as there may be millions.
///
/// Accepts a listing in any order; ``sort()`` makes it ready for queries. Belongs to one thread.
struct KeyTable {
    typealias Position = UInt32

    /// An origin with more epochs than these is none of castree's.
    static let epochCountMax = 1 << 17
    private static let byteCountMax = Int64(1) << 44 - 1

    /// A file: its address, and in one word its kind (3 bits), epoch index (17) and size (44; S3's maximum is 5 TiB).
    private struct Row: Comparable {
        let address: ObjectID
        var word: UInt64

        var name: UInt64 { word >> 44 }
        var byteCount: Int64 { Int64(word & UInt64(byteCountMax)) }

        static func < (left: Row, right: Row) -> Bool {
            left.address == right.address ? left.word < right.word : left.address < right.address
        }
    }

    /// Rows in pieces of equal size: a single growing array would be copied, and leave unusable holes in memory.
    private struct RowList {
        private static let pieceCount = 64
        private var pieces: [[Row]] = []

        var count: Int {
            (pieces.count - 1) * Self.pieceCount + (pieces.last?.count ?? Self.pieceCount)
        }
        var heldByteCount: Int {
            pieces.reduce(0) { $0 + 32 + $1.capacity * MemoryLayout<Row>.stride }
        }

        subscript(index: Int) -> Row { pieces[index / Self.pieceCount][index % Self.pieceCount] }

        mutating func append(_ row: Row) {
            if (pieces.last?.count ?? Self.pieceCount) == Self.pieceCount {
                pieces.append([])
                // The first piece grows freely: most origins are small.
                if pieces.count > 1 { pieces[pieces.count - 1].reserveCapacity(Self.pieceCount) }
            }
            pieces[pieces.count - 1].append(row)
        }

        /// Sorts the rows; of rows with one name the last stays.
        mutating func sort() {
            // One list of many is small enough to copy.
            let rows = pieces.joined().sorted()
            var (kept, last) = (0, Row?.none)
            for row in rows {
                if let last, last.address == row.address, last.name == row.name { kept -= 1 }
                pieces[kept / Self.pieceCount][kept % Self.pieceCount] = row
                (kept, last) = (kept + 1, row)
            }
            while let piece = pieces.last, count > kept {
                pieces[pieces.count - 1].removeLast(min(count - kept, piece.count))
                if pieces.last?.isEmpty ?? false { pieces.removeLast() }
            }
        }
    }

    private static let kinds: [OriginKey.Kind] = [
        .object, .manifest, .places, .pack, .delivery, .deflatedCopy, .facts,
    ]

    /// By the first byte of the address.
    private var parts = [RowList](repeating: RowList(), count: 256)
    private var starts = [Position](repeating: 0, count: 257)
    private var epochs: [Int64] = []
    private var epochIndices: [Int64: Int] = [:]
    /// Files of rare kinds: documents, and deltas, which castree still reads but does not make.
    private(set) var others: [OriginKey: Int64] = [:]

    /// Excludes ``others``.
    var count: Int { Int(starts[256]) }

    /// - Throws: `.damagedOrigin` beyond ``epochCountMax``.
    mutating func add(_ key: OriginKey, _ byteCount: Int64) throws(StoreError) {
        guard let kind = Self.kinds.firstIndex(of: key.kind) else {
            others[key] = byteCount
            return
        }
        let epoch = try index(of: key.epoch)
        let size = UInt64(min(max(0, byteCount), Self.byteCountMax))
        parts[Int(key.address.w0 >> 56)].append(
            Row(address: key.address, word: UInt64(kind) << 61 | UInt64(epoch) << 44 | size))
    }

    /// Includes spare capacity.
    var heldByteCount: Int { parts.reduce(0) { $0 + $1.heldByteCount } }

    private mutating func index(of epoch: Int64) throws(StoreError) -> Int {
        if let known = epochIndices[epoch] { return known }
        guard epochs.count < Self.epochCountMax else {
            throw .damagedOrigin(
                "the listing shows files of more than \(Self.epochCountMax) epochs, which no origin has; look what else "
                    + "writes there")
        }
        epochs.append(epoch)
        epochIndices[epoch] = epochs.count - 1
        return epochs.count - 1
    }

    /// Makes the table ready for queries, and removes duplicates.
    mutating func sort() {
        for part in parts.indices {
            parts[part].sort()
            starts[part + 1] = starts[part] + Position(parts[part].count)
        }
    }

    func position(of key: OriginKey) -> Position? {
        guard let kind = Self.kinds.firstIndex(of: key.kind), let epoch = epochIndices[key.epoch]
        else { return nil }
        let name = UInt64(kind) << 17 | UInt64(epoch)
        let part = Int(key.address.w0 >> 56)
        let low = (0..<parts[part].count).firstPosition { place in
            let row = parts[part][place]
            return row.address == key.address ? row.name < name : row.address < key.address
        }
        guard low < parts[part].count else { return nil }
        let row = parts[part][low]
        guard row.address == key.address, row.name == name else { return nil }
        return starts[part] + Position(low)
    }

    func byteCount(of key: OriginKey) -> Int64? {
        position(of: key).map { self[$0].byteCount } ?? others[key]
    }

    subscript(position: Position) -> SizedKey {
        var part = 0
        var step = 128
        while step > 0 {
            if starts[part + step] <= position { part += step }
            step /= 2
        }
        let row = parts[part][Int(position - starts[part])]
        let kind = Self.kinds[Int(row.word >> 61)]
        let epoch = epochs[Int(row.name & (1 << 17 - 1))]
        return SizedKey(key: OriginKey(kind, row.address, in: epoch), byteCount: row.byteCount)
    }

    /// In the order of addresses.
    var positions: Range<Position> { 0..<starts[256] }
}

/// A set of an origin's files: one bit for each file of a table, and those outside it.
struct KeySet {
    private var bits: [UInt64]
    private(set) var others: Set<OriginKey> = []

    init(of table: KeyTable) { bits = Array(repeating: 0, count: (table.count + 63) / 64) }

    mutating func insert(_ positions: [KeyTable.Position]) {
        for position in positions { insert(position) }
    }

    mutating func insert(_ others: [OriginKey]) { self.others.formUnion(others) }

    mutating func insert(_ files: ListedFiles) {
        insert(files.positions)
        insert(files.others)
    }

    init(of table: KeyTable, where isIn: (KeyTable.Position) -> Bool) {
        self.init(of: table)
        for position in table.positions where isIn(position) { insert(position) }
    }

    private mutating func insert(_ position: KeyTable.Position) {
        bits[Int(position / 64)] |= 1 << UInt64(position % 64)
    }

    func contains(_ position: KeyTable.Position) -> Bool {
        bits[Int(position / 64)] & (1 << UInt64(position % 64)) != 0
    }

    func contains(_ key: OriginKey, in table: KeyTable) -> Bool {
        table.position(of: key).map(contains) ?? others.contains(key)
    }
}

/// The files of a release, as positions in a table and files outside it.
struct ListedFiles {
    private(set) var positions: [KeyTable.Position] = []
    private(set) var others: [OriginKey] = []

    init(_ keys: some Sequence<OriginKey>, in table: KeyTable) {
        for key in keys {
            if let position = table.position(of: key) {
                positions.append(position)
            } else {
                others.append(key)
            }
        }
        positions.sort()
    }
}

/// The files of the releases that an entry keeps, each with its size and one version that needs it.
///
/// A file that is listed with the right size takes 4 bytes beside the table.
struct NeededFiles {
    let table: KeyTable
    /// By position in the table: 0 for unneeded files, else the number of a version that needs it.
    private var owners: [UInt32]
    private var versions: [String] = []
    /// Files that the table has not at all, or with another size.
    private(set) var strange: [OriginKey: (byteCount: Int64, owner: UInt32)] = [:]
    /// Files of unknown size whose bytes were read.
    private var unsized: Set<OriginKey> = []

    init(_ table: KeyTable) {
        self.table = table
        owners = Array(repeating: 0, count: table.count)
    }

    /// - Returns: a size that contradicts another release's, which means that one of the two is damaged.
    mutating func add(_ file: PlacedFile, of version: String) -> Int64? {
        guard let byteCount = file.byteCount else {
            unsized.insert(file.key)
            return nil
        }
        if let other = self.byteCount(of: file.key) { return other == byteCount ? nil : other }
        add(SizedKey(key: file.key, byteCount: byteCount), of: version)
        return nil
    }

    mutating func add(_ file: SizedKey) { add(file, of: "") }

    private mutating func add(_ file: SizedKey, of version: String) {
        if versions.last != version { versions.append(version) }
        let owner = UInt32(versions.count)
        let position = table.position(of: file.key)
        if let position { owners[Int(position)] = owner }
        if position.map({ table[$0].byteCount }) != file.byteCount {
            strange[file.key] = (file.byteCount, owner)
        }
    }

    func byteCount(of key: OriginKey) -> Int64? {
        if !strange.isEmpty, let known = strange[key] { return known.byteCount }
        guard let position = table.position(of: key), owners[Int(position)] > 0 else { return nil }
        return table[position].byteCount
    }

    /// A version that needs a file; `nil` also if no version names it.
    func version(of key: OriginKey) -> String? {
        let owner = strange[key]?.owner ?? table.position(of: key).map { owners[Int($0)] } ?? 0
        guard owner > 0, !versions[Int(owner) - 1].isEmpty else { return nil }
        return versions[Int(owner) - 1]
    }

    /// The files of known size that are listed, whatever the listing's size, by position.
    var listed: some Sequence<KeyTable.Position> {
        table.positions.lazy.filter { owners[Int($0)] > 0 }
    }

    /// The files of known size that are not listed.
    var unlisted: some Sequence<OriginKey> {
        strange.keys.lazy.filter { table.position(of: $0) == nil }
    }

    var all: KeySet {
        var all = KeySet(of: table) { owners[Int($0)] > 0 }
        all.insert(ListedFiles(strange.keys, in: table))
        all.insert(ListedFiles(unsized, in: table))
        return all
    }
}
