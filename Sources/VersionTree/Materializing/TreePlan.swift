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
        func split(_ position: UInt32) -> Int {
            manifest.withPath(Int(position)) { path in
                path.lastIndex(of: 47) ?? -1
            }
        }
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
        var known: Set<String> = [""]
        var position = 0
        while position < order.count {
            let length = split(order[position])
            let path = length < 0 ? "" : manifest.path(Int(order[position]), prefix: length)
            let start = position
            repeat {
                position += 1
            } while position < order.count
                && split(order[position]) == length
                && (length < 0 || manifest.path(Int(order[position]), prefix: length) == path)
            add(path, start..<position, &known)
        }
    }

    private mutating func add(_ path: String, _ files: Range<Int>, _ known: inout Set<String>) {
        if path.isEmpty {
            directories[0].files = files
            return
        }
        // Parents that hold no file of their own.
        for end in path.utf8.indices where path.utf8[end] == 47 {
            let parent = String(path[..<end])
            if known.insert(parent).inserted {
                directories.append(Directory(path: parent, files: 0..<0))
            }
        }
        known.insert(path)
        directories.append(Directory(path: path, files: files))
    }
}
