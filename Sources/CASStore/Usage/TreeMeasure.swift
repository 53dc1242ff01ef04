/// The disk usage of a few directories, counting every file once; for a whole store, see ``DiskUsage``.
package struct TreeMeasure: Sendable {
    private struct Inode: Hashable {
        var device: UInt64
        var number: UInt64

        init(_ status: FileStatus) { (device, number) = (status.device, status.inode) }
    }

    private struct File {
        /// How many names it has in these directories; `linkCount` counts all.
        var names: UInt64 = 0
        var linkCount: UInt64
        var diskBytes: Int64
        var isExecutable: Bool
    }

    private var files: [Inode: File] = [:]
    package private(set) var directoryBytes: Int64 = 0
    /// The disk usage of plain copies: the directories, and each file as often as it has a name.
    package private(set) var copyBytes: Int64 = 0
    /// The sizes of the files, each as often as it has a name.
    package private(set) var apparentBytes: Int64 = 0

    package init() {}

    package mutating func add(
        _ parent: Int32, _ name: String, in store: Store, depth: Int = 0
    ) throws(StoreError) {
        guard depth < DiskWalk.depthMax else { return }
        try store.checkInterruption()
        let fileSystem = store.fileSystem
        guard let directory = try fileSystem.openIfPresent(parent, name, .directory) else { return }
        let own = try fileSystem.status(directory.raw).blocks * 512
        directoryBytes += own
        copyBytes += own
        var inner: [String] = []
        let raw = directory.raw
        try fileSystem.list(raw, once: true) { (entry, kind, _) throws(StoreError) in
            if kind == .directory {
                inner.append(String(cString: entry))
            } else if let status = try fileSystem.status(raw, entry) {
                if status.kind == .directory {
                    inner.append(String(cString: entry))
                } else {
                    self.add(status)
                }
            }
            return true
        }
        for entry in inner { try add(raw, entry, in: store, depth: depth + 1) }
    }

    private mutating func add(_ status: FileStatus) {
        let bytes = status.blocks * 512
        copyBytes += bytes
        apparentBytes += status.byteCount
        files[
            Inode(status),
            default: File(
                linkCount: status.linkCount, diskBytes: bytes,
                isExecutable: status.mode & 0o111 != 0)
        ].names += 1
    }

    /// The space freed when the directories and the given files of objects are deleted from a store.
    ///
    /// Includes executable copies that only the directories show, whose other name is the store's own.
    package func freedBytes(with objects: [FileStatus]) -> Int64 {
        var left = files
        var sum = directoryBytes
        for object in objects {
            sum += object.blocks * 512
            left[Inode(object)] = nil
        }
        for file in left.values
        where file.linkCount <= file.names + (file.isExecutable ? 1 : 0) {
            sum += file.diskBytes
        }
        return sum
    }
}
