import CASStore
import HotPush
import Storage

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
