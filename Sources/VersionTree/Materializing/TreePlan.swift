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
        // Entries are sorted by whole path, where the files of "a/" and those of "a/b/" mix.
        func precedes(_ left: UInt32, _ right: UInt32) -> Bool {
            manifest.withPath(Int(left)) { first in
                manifest.withPath(Int(right)) { second in
                    let one = first.prefix((first.lastIndex(of: 47) ?? -1) + 1)
                    let two = second.prefix((second.lastIndex(of: 47) ?? -1) + 1)
                    if one.elementsEqual(two) { return left < right }
                    return one.lexicographicallyPrecedes(two)
                }
            }
        }
        order = (0..<UInt32(manifest.count)).sorted(by: precedes)
        directories = [Directory(path: "", files: 0..<0)]
        // Keyed by bytes: names that Unicode holds equal are two directories here.
        var known: Set<TreePath> = []
        var position = 0
        while position < order.count {
            let path = Self.directory(of: order[position], manifest)
            let start = position
            repeat {
                position += 1
            } while position < order.count
                && Self.directory(of: order[position], manifest) == path
            if let path {
                add(path, start..<position, &known)
            } else {
                directories[0].files = start..<position
            }
        }
    }

    private static func directory(of position: UInt32, _ manifest: Manifest) -> TreePath? {
        let length = manifest.withPath(Int(position)) { $0.lastIndex(of: 47) }
        guard let length else { return nil }
        return TreePath(validated: manifest.path(Int(position), prefix: length))
    }

    private mutating func add(
        _ path: TreePath, _ files: Range<Int>, _ known: inout Set<TreePath>
    ) {
        // Parents that hold no file of their own come first.
        var missing: [TreePath] = []
        var above = path.parent
        while let parent = above, known.insert(parent).inserted {
            missing.append(parent)
            above = parent.parent
        }
        for parent in missing.reversed() {
            directories.append(Directory(path: parent.description, files: 0..<0))
        }
        known.insert(path)
        directories.append(Directory(path: path.description, files: files))
    }
}
