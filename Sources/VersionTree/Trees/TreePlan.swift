import CASStore

/// The directories of a tree from the top down, with the files of each, computed without disk access.
struct TreePlan: Sendable {
    /// A directory and its files, as a range of `order`.
    struct Directory: Sendable {
        /// An entry below the directory, whose path begins with the directory's.
        fileprivate var entry: UInt32
        fileprivate var length: UInt16
        /// The position of its parent directory; the tree itself is its own parent.
        var parent: Int
        var files: Range<Int>
    }

    let manifest: Manifest

    /// Every directory after its parent, beginning with the tree itself.
    private(set) var directories: [Directory]
    /// Positions in the manifest, grouped by directory and sorted by name within each.
    private(set) var order: [UInt32]

    init(_ manifest: Manifest) {
        self.manifest = manifest
        // In the order of whole paths the files of "a/" and "a/b/" mix. Each file is assigned to its directory, and
        // the directories' shares of `order` are filled one after another.
        var found = Directories()
        // The index of each file's directory.
        let owners = (0..<manifest.count).map { UInt32(found.index(ofEntryAt: $0, manifest)) }
        directories = found.directories
        for owner in owners {
            let files = directories[Int(owner)].files
            directories[Int(owner)].files = files.lowerBound..<files.upperBound + 1
        }
        var start = 0
        for index in directories.indices {
            let end = start + directories[index].files.count
            directories[index].files = start..<start
            start = end
        }
        order = [UInt32](repeating: 0, count: manifest.count)
        for (position, owner) in owners.enumerated() {
            let files = directories[Int(owner)].files
            order[files.upperBound] = UInt32(position)
            directories[Int(owner)].files = files.lowerBound..<files.upperBound + 1
        }
    }

    /// The path of a directory; empty for the tree itself.
    func path(of index: Int) -> String {
        let directory = directories[index]
        // An empty manifest has no entry that could lend its path.
        if directory.length == 0 { return "" }
        return manifest.path(Int(directory.entry), prefix: Int(directory.length))
    }

    func name(of index: Int) -> String {
        withName(of: index) { String(decoding: $0, as: UTF8.self) }
    }

    func withName<R>(of index: Int, _ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        let directory = directories[index]
        let skipped = skipped(in: directory.parent)
        return manifest.withPath(Int(directory.entry)) { path in
            body(UnsafeBufferPointer(rebasing: path[skipped..<Int(directory.length)]))
        }
    }

    /// How many bytes of a path precede the names in a directory.
    func skipped(in index: Int) -> Int {
        let length = Int(directories[index].length)
        return length == 0 ? 0 : length + 1
    }

    fileprivate static func directory(_ entry: Int, _ length: Int, in parent: Int) -> Directory {
        Directory(
            entry: UInt32(entry), length: UInt16(length), parent: parent, files: 0..<0)
    }
}

/// The directories of a manifest in order of appearance, every one after its parent.
///
/// In sorted paths a directory's content is contiguous, so any directory not above the last entry is new.
private struct Directories {
    private(set) var directories = [TreePlan.directory(0, 0, in: 0)]
    /// The directories above the last entry, and the lengths of their paths.
    private var above: [(index: Int, length: Int)] = [(0, 0)]

    mutating func index(ofEntryAt position: Int, _ manifest: Manifest) -> Int {
        let shared = position == 0 ? 0 : manifest.sharedDirectory(position - 1, position)
        while let last = above.last, last.length > shared { above.removeLast() }
        manifest.withPath(position) { path in
            for end in path.indices.dropFirst(shared + 1) where path[end] == 47 {
                let parent = above.last?.index ?? 0
                directories.append(TreePlan.directory(position, end, in: parent))
                above.append((directories.count - 1, end))
            }
        }
        return above.last?.index ?? 0
    }
}

extension FileSystem {
    /// Opens a directory of a tree by its path, which is empty for the tree itself.
    func openDirectory(_ path: String, below root: Int32) throws(StoreError) -> Descriptor {
        path.isEmpty
            ? try open(root, ".", .directory, mode: 0)
            : try openBeneath(root, path, .directory)
    }
}
