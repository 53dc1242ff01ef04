/// What a store takes on disk, part by part: each inode once, as du(1) counts.
///
/// The sum of the parts is what `du -s` reports for the directory: with `-B1` ``Figures/diskBytes``,
/// with `--apparent-size -B1` ``Figures/apparentBytes``. As in du, directories have blocks but no
/// size of their own (GNU coreutils 9.2 and later).
package struct DiskUsage: Sendable, Hashable {
    /// A part of a store.
    ///
    /// The raw value is its name in JSON output, and stays as it is.
    package enum Part: String, Sendable, CaseIterable {
        /// Content, once.
        case objects
        /// The same content again with the executable bit: one inode has one mode.
        case executableCopies = "twins"
        /// Partial objects, and what running writers have not published.
        case staging
        /// Damaged objects that a repair took away.
        case quarantine
        /// What the versions consist of.
        case manifests
        /// Directories, and files that are copies because they could not be links.
        case trees
        /// The derived index.
        case index
        /// What packs for buckets were made of; derived.
        case packing
        /// What is set aside so that collecting works on a full disk.
        case reserve
        /// The lifecycle, the event log, leases, and whatever else is there.
        case other
    }

    /// What the tree of one version takes, in bytes: blocks.
    package struct Tree: Sendable, Hashable {
        /// What a plain copy would take: directories, and files as often as they have names there.
        package internal(set) var copyBytes: Int64 = 0
        /// What nothing else takes: directories, and files that are no links to objects.
        package internal(set) var ownBytes: Int64 = 0
        /// The directories alone.
        package internal(set) var directoryBytes: Int64 = 0
    }

    /// The figures of one part.
    package struct Figures: Sendable, Hashable {
        /// How many files, each inode once.
        package var files = 0
        /// The sum of their sizes, in bytes.
        package var apparentBytes: Int64 = 0
        /// What they and the directories take, in bytes: blocks.
        package var diskBytes: Int64 = 0

        static func += (sum: inout Figures, part: Figures) {
            sum.files += part.files
            sum.apparentBytes += part.apparentBytes
            sum.diskBytes += part.diskBytes
        }
    }

    private var figures = [Figures](repeating: Figures(), count: Part.allCases.count)
    /// The trees, by their names in `versions/`.
    package internal(set) var trees: [String: Tree] = [:]
    /// What each manifest takes, in bytes, by its file's name.
    package internal(set) var manifests: [String: Int64] = [:]
    /// What the smallest directory takes, in bytes: nothing on some file systems.
    package internal(set) var leastDirectory: Int64 = 0

    package init() {}

    package internal(set) subscript(part: Part) -> Figures {
        get { figures[Self.place(of: part)] }
        set { figures[Self.place(of: part)] = newValue }
    }

    /// All parts together.
    package var total: Figures {
        figures.reduce(into: Figures()) { $0 += $1 }
    }

    private static func place(of part: Part) -> Int {
        Part.allCases.firstIndex(of: part) ?? 0
    }
}

extension Store {
    /// Looks at every file of the store once.
    ///
    /// A link in a tree costs its directory entry and no look of its own, because its inode is known.
    package func diskUsage() throws(StoreError) -> DiskUsage {
        try diskUsage(noting: []).0
    }

    /// The same, and what each object takes.
    /// - Parameter words: the first eight bytes of the objects' addresses.
    func diskUsage(
        noting words: [UInt64]
    ) throws(StoreError) -> (DiskUsage, ObjectBlocks) {
        var walk = DiskWalk(self, noting: ObjectBlocks(words))
        return (try walk.usage(of: directories.root.raw), walk.blocks)
    }
}
