import Synchronization

/// The walk through a store that computes ``DiskUsage``.
struct DiskWalk {
    private let store: Store
    private(set) var blocks: ObjectBlocks
    private var usage = DiskUsage()
    /// The totals of the current part, and of the current tree.
    private var figures = DiskUsage.Figures()
    private var tree = DiskUsage.Tree()
    private var leastDirectory = Int64.max
    private var known: [UInt64: InodeTable] = [:]
    /// Whether directory entries have the inodes of their files; in some layered file systems they do not.
    private var entriesTellInodes = true
    /// Whether unreadable directories are skipped silently, as in caches that another user's work may have left.
    private var skipsUnreadable = false

    private var fileSystem: any FileSystem { store.fileSystem }

    init(_ store: Store, noting blocks: ObjectBlocks) {
        self.store = store
        self.blocks = blocks
    }

    mutating func usage(of root: Int32) throws(StoreError) -> DiskUsage {
        // First, so that links to objects elsewhere are recognized.
        try walkObjects(root)
        try walkEntries(of: root, StoreLayout.manifests) { $0.manifests[$1] = $2.copyBytes }
        close(.manifests)
        try walkEntries(of: root, StoreLayout.versions) { $0.trees[$1] = $2 }
        close(.trees)
        for (name, part) in [
            (StoreLayout.staging, DiskUsage.Part.staging), (StoreLayout.quarantine, .quarantine),
        ] {
            try walk(root, name)
            close(part)
        }
        try walkRest(root)
        usage.leastDirectory = leastDirectory == .max ? 0 : leastDirectory
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

    // MARK: Parts

    private mutating func walkObjects(_ root: Int32) throws(StoreError) {
        guard let objects = try fileSystem.openIfPresent(root, StoreLayout.objects, .directory)
        else { return }
        let entries = try entries(of: objects.raw).sorted { $0.name < $1.name }
        try countDirectory(objects.raw)
        var executableCopies = DiskUsage.Figures()
        for (shard, isDirectory) in entries {
            // Anything that is not a shard is walked as well.
            guard
                try isDirectory
                    ? true : fileSystem.status(objects.raw, shard)?.kind == .directory
            else {
                try walkEntry(objects.raw, shard, isDirectory: false)
                continue
            }
            try walk(
                objects.raw, shard,
                shard: StoreLayout.isShardName(shard) ? UInt8(shard, radix: 16) : nil,
                executableCopies: &executableCopies)
        }
        close(.objects)
        figures = executableCopies
        close(.executableCopies)
    }

    /// Walks through a directory, and notes the usage of each entry.
    private mutating func walkEntries(
        of root: Int32, _ name: String,
        _ note: (inout DiskUsage, String, DiskUsage.Tree) -> Void
    ) throws(StoreError) {
        guard let directory = try fileSystem.openIfPresent(root, name, .directory) else { return }
        try countDirectory(directory.raw)
        for (entry, isDirectory) in try entries(of: directory.raw) {
            tree = DiskUsage.Tree()
            try walkEntry(directory.raw, entry, isDirectory: isDirectory)
            note(&usage, entry, tree)
        }
    }

    private mutating func walkRest(_ root: Int32) throws(StoreError) {
        try countDirectory(root)
        for (name, isDirectory) in try entries(of: root) where !Self.walked.contains(name) {
            skipsUnreadable = name == StoreLayout.packing
            try walkEntry(root, name, isDirectory: isDirectory)
            skipsUnreadable = false
            switch name {
            case StoreLayout.packing: close(.packing)
            case StoreLayout.reserve: close(.reserve)
            default: close(name.hasPrefix(StoreLayout.index) ? .index : .other)
            }
        }
        // Of the root itself.
        close(.other)
    }

    private mutating func entries(
        of directory: Int32
    ) throws(StoreError) -> [(name: String, isDirectory: Bool)] {
        var entries: [(name: String, isDirectory: Bool)] = []
        try fileSystem.list(directory) { (name, kind) throws(StoreError) in
            entries.append((String(cString: name), kind == .directory))
            return true
        }
        return entries
    }

    private mutating func walkEntry(
        _ parent: Int32, _ name: String, isDirectory: Bool
    ) throws(StoreError) {
        if isDirectory { return try walk(parent, name) }
        guard let status = try fileSystem.status(parent, name) else { return }
        // Some file systems do not tell in a listing what is a directory.
        if status.kind == .directory { try walk(parent, name) } else { figures += count(status) }
    }

    // MARK: Directories and files

    private mutating func walk(_ parent: Int32, _ name: String) throws(StoreError) {
        var none = DiskUsage.Figures()
        try walk(parent, name, executableCopies: &none)
    }

    /// - Parameters:
    ///   - shard: the first byte of the addresses there; `nil` outside objects/.
    ///   - executableCopies: counts those of a shard.
    private mutating func walk(
        _ parent: Int32, _ name: String, shard: UInt8? = nil, depth: Int = 0,
        executableCopies: inout DiskUsage.Figures
    ) throws(StoreError) {
        // castree makes nothing deeper, and each level holds a file open.
        guard depth < Self.depthMax else { return }
        try store.checkInterruption()
        guard let directory = try open(parent, name) else { return }
        let raw = directory.raw
        let seen = inodes(of: try countDirectory(raw).device)
        var inner: [String] = []
        try fileSystem.list(raw, once: true) { (entry, kind, inode) throws(StoreError) in
            if kind == .directory {
                inner.append(String(cString: entry))
                return true
            }
            if self.entriesTellInodes, kind == .regular, let bytes = seen.diskBytes(of: inode) {
                self.tree.copyBytes += bytes
                return true
            }
            guard let status = try self.fileSystem.status(raw, entry) else { return true }
            if status.kind == .directory {
                inner.append(String(cString: entry))
                return true
            }
            if status.inode != inode { self.entriesTellInodes = false }
            let file = self.count(status)
            if let shard {
                let isCopy = StoreLayout.isExecutableCopyName(entry)
                self.blocks.add(file.diskBytes, of: entry, in: shard, isCopy: isCopy)
                if isCopy {
                    executableCopies += file
                    return true
                }
            }
            self.figures += file
            return true
        }
        for entry in inner {
            try walk(raw, entry, depth: depth + 1, executableCopies: &executableCopies)
        }
    }

    /// More than the directories of any path that a version may have.
    static let depthMax = 300

    /// - Returns: `nil` if there is none, or if it is counted without its content.
    private mutating func open(
        _ parent: Int32, _ name: String
    ) throws(StoreError) -> Descriptor? {
        do throws(StoreError) {
            return try fileSystem.openIfPresent(parent, name, .directory)
        } catch {
            guard error.code == .permission else { throw error }
            let isNews = store.uncounted.withLock { $0.insert(error.message).inserted }
            if isNews, !skipsUnreadable {
                store.options.notice("a directory counts without what is in it: \(error.message)")
            }
            let status = try fileSystem.status(parent, name)
            figures.diskBytes += (status?.blocks ?? 0) * 512
            return nil
        }
    }

    @discardableResult
    private mutating func countDirectory(_ directory: Int32) throws(StoreError) -> FileStatus {
        let status = try fileSystem.status(directory)
        let bytes = status.blocks * 512
        figures.diskBytes += bytes
        tree.copyBytes += bytes
        tree.ownBytes += bytes
        tree.directoryBytes += bytes
        leastDirectory = min(leastDirectory, bytes)
        return status
    }

    private mutating func count(_ status: FileStatus) -> DiskUsage.Figures {
        let bytes = status.blocks * 512
        tree.copyBytes += bytes
        if status.linkCount > 1,
            !inodes(of: status.device).insert(status.inode, diskBytes: bytes)
        {
            return DiskUsage.Figures()
        }
        tree.ownBytes += bytes
        // A socket or a device has no size that means bytes.
        let hasBytes = status.kind == .regular || status.kind == .symbolicLink
        return DiskUsage.Figures(
            files: 1, apparentBytes: hasBytes ? status.byteCount : 0, diskBytes: bytes)
    }

    private mutating func inodes(of device: UInt64) -> InodeTable {
        if let there = known[device] { return there }
        let made = InodeTable()
        known[device] = made
        return made
    }
}

/// The seen inodes of one device with their disk usage: a million in 32 megabytes.
///
/// Open addressing with linear probing. No attacker chooses inodes, so one multiplication spreads them well enough.
final class InodeTable {
    private struct Place {
        /// 0 is an empty place; no file has it as its inode.
        var inode: UInt64 = 0
        var diskBytes: Int64 = 0
    }

    private var places = [Place](repeating: Place(), count: 1024)
    private(set) var count = 0

    private func place(of inode: UInt64, in places: [Place]) -> Int {
        let mask = places.count - 1
        var place = Int(truncatingIfNeeded: (inode &* 0x9E37_79B9_7F4A_7C15) >> 32) & mask
        while places[place].inode != 0, places[place].inode != inode { place = (place + 1) & mask }
        return place
    }

    func diskBytes(of inode: UInt64) -> Int64? {
        guard inode != 0 else { return nil }
        let found = places[place(of: inode, in: places)]
        return found.inode == inode ? found.diskBytes : nil
    }

    /// Returns `false` if the inode was there.
    func insert(_ inode: UInt64, diskBytes: Int64) -> Bool {
        guard inode != 0 else { return true }
        let found = place(of: inode, in: places)
        guard places[found].inode == 0 else { return false }
        places[found] = Place(inode: inode, diskBytes: diskBytes)
        count += 1
        if count * 2 > places.count { grow() }
        return true
    }

    private func grow() {
        var larger = [Place](repeating: Place(), count: places.count * 2)
        for each in places where each.inode != 0 {
            larger[place(of: each.inode, in: larger)] = each
        }
        places = larger
    }
}
