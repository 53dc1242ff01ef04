import CASStore
import Storage

/// What the releases need that an entry keeps: each file, its size, and a version that needs it.
///
/// Of a file that the listing shows with the size that it should have, 4 bytes are held beside the table.
struct NeededFiles {
    /// What a listing has shown.
    let table: KeyTable
    /// By position in the table: 0 for what nobody needs, else the number of a version that needs it.
    private var owners: [UInt32]
    private var versions: [String] = []
    /// Files that the table does not have, or with another size.
    private(set) var strange: [OriginKey: (byteCount: Int64, owner: UInt32)] = [:]
    /// Files whose size nothing says, but whose bytes were read.
    private var unsized: Set<OriginKey> = []

    init(_ table: KeyTable) {
        self.table = table
        owners = Array(repeating: 0, count: table.count)
    }

    /// - Returns: a size that contradicts another release's: the files of one of them are damaged.
    mutating func add(_ file: PlacedFile, of version: String) -> Int64? {
        guard let byteCount = file.byteCount else {
            unsized.insert(file.key)
            return nil
        }
        if let other = self.byteCount(of: file.key) { return other == byteCount ? nil : other }
        add(SizedKey(key: file.key, byteCount: byteCount), of: version)
        return nil
    }

    /// Adds a file that no version names.
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

    /// The size that a file should have; `nil` for one that nobody needs, or whose size nothing says.
    func byteCount(of key: OriginKey) -> Int64? {
        if !strange.isEmpty, let known = strange[key] { return known.byteCount }
        guard let position = table.position(of: key), owners[Int(position)] > 0 else { return nil }
        return table[position].byteCount
    }

    /// A version that needs a file; `nil` also for one that no version names.
    func version(of key: OriginKey) -> String? {
        let owner = strange[key]?.owner ?? table.position(of: key).map { owners[Int($0)] } ?? 0
        guard owner > 0, !versions[Int(owner) - 1].isEmpty else { return nil }
        return versions[Int(owner) - 1]
    }

    /// Those with a size that the listing shows, right or wrong, by their positions.
    var listed: some Sequence<KeyTable.Position> {
        table.positions.lazy.filter { owners[Int($0)] > 0 }
    }

    /// Those with a size that the listing does not show.
    var unlisted: some Sequence<OriginKey> {
        strange.keys.lazy.filter { table.position(of: $0) == nil }
    }

    /// All of them.
    var all: KeySet {
        var all = KeySet(of: table) { owners[Int($0)] > 0 }
        all.insert(ListedFiles(strange.keys, in: table))
        all.insert(ListedFiles(unsized, in: table))
        return all
    }
}
