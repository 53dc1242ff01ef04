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
        /// The lifecycle, the event log, leases, the reserve.
        case other
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

    /// Nothing.
    package init() {}

    /// The figures of a part.
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
        var walk = DiskWalk(self)
        return try walk.usage(of: directories.root.raw)
    }
}

/// The walk through a store.
private struct DiskWalk {
    private let store: Store
    private var usage = DiskUsage()
    /// The part that is being walked through.
    private var figures = DiskUsage.Figures()
    private var known: [UInt64: InodeSet] = [:]
    /// Whether directory entries have the inodes of their files: in some layered file systems they do
    /// not.
    private var entriesTellInodes = true
    /// Whether a directory that may not be read counts alone, without what is in it: it is only kept to be quicker, and
    /// another user's work may have left it.
    private var skipsUnreadable = false

    private var fileSystem: any FileSystem { store.fileSystem }

    init(_ store: Store) { self.store = store }

    mutating func usage(of root: Int32) throws(StoreError) -> DiskUsage {
        // First, so that links to objects elsewhere are recognized.
        try walkObjects(root)
        for (name, part) in [
            (StoreLayout.manifests, DiskUsage.Part.manifests), (StoreLayout.versions, .trees),
            (StoreLayout.staging, .staging), (StoreLayout.quarantine, .quarantine),
        ] {
            try walk(root, name)
            close(part)
        }
        var rest: [(name: String, isDirectory: Bool)] = []
        try fileSystem.list(root) { (name, kind) throws(StoreError) in
            rest.append((String(cString: name), kind == .directory))
            return true
        }
        figures.diskBytes += try fileSystem.status(root).blocks * 512
        for (name, isDirectory) in rest where !Self.walked.contains(name) {
            if isDirectory {
                skipsUnreadable = name == StoreLayout.packing
                try walk(root, name)
                skipsUnreadable = false
            } else if let status = try fileSystem.status(root, name) {
                let file = counted(status)
                figures += file
            }
            close(name.hasPrefix(StoreLayout.index) ? .index : .other)
        }
        return usage
    }

    private static let walked: Set<String> = [
        StoreLayout.objects, StoreLayout.manifests, StoreLayout.versions, StoreLayout.staging,
        StoreLayout.quarantine,
    ]

    /// Adds what was counted since the last call to a part.
    private mutating func close(_ part: DiskUsage.Part) {
        usage[part] += figures
        figures = DiskUsage.Figures()
    }

    private mutating func walkObjects(_ root: Int32) throws(StoreError) {
        guard let objects = try fileSystem.openIfPresent(root, StoreLayout.objects, .directory)
        else { return }
        let shards = try fileSystem.names(in: objects.raw)
        figures.diskBytes += try fileSystem.status(objects.raw).blocks * 512
        var executableCopies = DiskUsage.Figures()
        for shard in shards {
            try walk(objects.raw, shard, executableCopies: &executableCopies)
        }
        close(.objects)
        figures = executableCopies
        close(.executableCopies)
    }

    private mutating func walk(_ parent: Int32, _ name: String) throws(StoreError) {
        var none = DiskUsage.Figures()
        try walk(parent, name, executableCopies: &none, separatesExecutableCopies: false)
    }

    private mutating func walk(
        _ parent: Int32, _ name: String, executableCopies: inout DiskUsage.Figures,
        separatesExecutableCopies: Bool = true
    ) throws(StoreError) {
        try store.checkInterruption()
        guard let directory = try open(parent, name) else { return }
        let own = try fileSystem.status(directory.raw)
        figures.diskBytes += own.blocks * 512
        let seen = inodes(of: own.device)
        let raw = directory.raw
        var inner: [String] = []
        try fileSystem.listOnce(raw) { (entry, kind, inode) throws(StoreError) in
            if kind == .directory {
                inner.append(String(cString: entry))
                return true
            }
            if self.entriesTellInodes, kind == .regular, seen.contains(inode) { return true }
            guard let status = try self.fileSystem.status(raw, entry) else { return true }
            if status.kind == .directory {
                inner.append(String(cString: entry))
                return true
            }
            if status.inode != inode { self.entriesTellInodes = false }
            let file = self.counted(status)
            if separatesExecutableCopies, StoreLayout.isExecutableCopyName(entry) {
                executableCopies += file
            } else {
                self.figures += file
            }
            return true
        }
        for entry in inner {
            try walk(
                raw, entry, executableCopies: &executableCopies,
                separatesExecutableCopies: separatesExecutableCopies)
        }
    }

    /// Opens a directory.
    /// - Returns: `nil` if there is none, or if it is counted without what is in it.
    private mutating func open(
        _ parent: Int32, _ name: String
    ) throws(StoreError) -> Descriptor? {
        do throws(StoreError) {
            return try fileSystem.openIfPresent(parent, name, .directory)
        } catch {
            guard skipsUnreadable, error.code == .permission else { throw error }
            let status = try fileSystem.status(parent, name)
            figures.diskBytes += (status?.blocks ?? 0) * 512
            return nil
        }
    }

    /// The figures of a file; none if it was counted under another name.
    private mutating func counted(_ status: FileStatus) -> DiskUsage.Figures {
        if status.linkCount > 1, !inodes(of: status.device).insert(status.inode) {
            return DiskUsage.Figures()
        }
        // A socket or a device has no size that means bytes.
        let hasBytes = status.kind == .regular || status.kind == .symbolicLink
        return DiskUsage.Figures(
            files: 1, apparentBytes: hasBytes ? status.byteCount : 0,
            diskBytes: status.blocks * 512)
    }

    private mutating func inodes(of device: UInt64) -> InodeSet {
        if let there = known[device] { return there }
        let made = InodeSet()
        known[device] = made
        return made
    }
}
