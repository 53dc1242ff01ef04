import CASStore

/// What a tree consists of, decided without touching a disk: its directories from the top down, and
/// the files of each.
struct TreePlan: Sendable {
    /// A directory and its files, as a range of `order`.
    struct Directory: Sendable {
        var path: String
        var files: Range<Int>
    }

    /// Every directory after its parent.
    ///
    /// The first is the tree itself.
    private(set) var directories: [Directory] = []
    /// Positions in the manifest, grouped by directory.
    private(set) var order: [UInt32]

    init(_ manifest: Manifest) {
        // Entries are sorted by whole path, where the files of "a/" and those of "a/b/" mix: each is
        // put to its directory, and the directories' shares of `order` are filled one after another.
        var found = Directories()
        var owners: [UInt32] = []
        owners.reserveCapacity(manifest.count)
        for position in 0..<manifest.count {
            owners.append(UInt32(found.index(ofEntryAt: position, manifest)))
        }
        var starts = [Int](repeating: 0, count: found.paths.count + 1)
        for owner in owners { starts[Int(owner) + 1] += 1 }
        for index in 1..<starts.count { starts[index] += starts[index - 1] }
        directories = found.paths.indices.map {
            Directory(path: found.paths[$0], files: starts[$0]..<starts[$0 + 1])
        }
        order = [UInt32](repeating: 0, count: manifest.count)
        for (position, owner) in owners.enumerated() {
            order[starts[Int(owner)]] = UInt32(position)
            starts[Int(owner)] += 1
        }
    }
}

/// The directories of a manifest as they are met, every one after its parent.
private struct Directories {
    private(set) var paths = [""]
    // Keyed by bytes: names that Unicode holds equal are two directories here.
    private var indices: [TreePath: Int] = [:]
    private var last = 0

    mutating func index(ofEntryAt position: Int, _ manifest: Manifest) -> Int {
        let length = manifest.withPath(position) { $0.lastIndex(of: 47) ?? 0 }
        if length == 0 {
            last = 0
        } else if position == 0 || !manifest.sharesDirectory(position - 1, position) {
            last = index(of: TreePath(validated: manifest.path(position, prefix: length)))
        }
        return last
    }

    private mutating func index(of path: TreePath) -> Int {
        if let known = indices[path] { return known }
        if let parent = path.parent { _ = index(of: parent) }
        paths.append(path.description)
        indices[path] = paths.count - 1
        return paths.count - 1
    }
}
