import CASStore
import Synchronization

/// Builds a tree from addresses, in a hidden directory of its own.
///
/// It never links "the same path in the previous version", so two files that swap contents come out right. Every call
/// is relative to an open directory: if a directory is swapped for a link, the link leads nowhere.
struct TreeBuilder: Sendable {
    let store: Store
    let fileSystem: any FileSystem
    let manifest: Manifest
    let mode: LinkMode
    /// Directories of version trees are read-only, like the files; a checkout's are the user's.
    let directoryMode: UInt32
    /// Whether the caller has just examined or written each object.
    var trustsObjects = false

    /// Fills the empty directory `root` with the manifest's files, on all processors.
    func build(_ root: Int32) throws(StoreError) -> TreeReport {
        let plan = TreePlan(manifest)
        try makeDirectories(plan, root)
        let jobs = Self.jobs(plan)
        let total = Mutex(TreeReport())
        let spares = SpareCopies()
        let builder = self
        try Parallel.run(workers: Parallel.workerCount, count: jobs.count, chunk: 1) {
            (work) throws(StoreError) in
            var report = TreeReport()
            while let chunk = work.nextChunk() {
                for position in chunk {
                    try builder.store.checkInterruption()
                    try builder.fill(jobs[position], plan, root, spares, &report)
                }
            }
            total.withLock { $0.add(report) }
        }
        // Last, because a read-only directory takes no entries. A directory filled by one job has its mode.
        if directoryMode != 0o755 {
            for index in plan.directories.indices.reversed()
            where !Self.isOneJob(plan.directories[index]) {
                // Held by a name: a temporary would be closed before the call.
                let opened = try fileSystem.openDirectory(plan.path(of: index), below: root)
                try fileSystem.setMode(opened.raw, directoryMode)
            }
        }
        return total.withLock { $0 }
    }

    /// Creates the directories from the top down; opens a parent once for all neighbours in it.
    private func makeDirectories(_ plan: TreePlan, _ root: Int32) throws(StoreError) {
        var parent = try fileSystem.openDirectory("", below: root)
        var parentIndex = 0
        for index in plan.directories.indices.dropFirst() {
            let wanted = plan.directories[index].parent
            if wanted != parentIndex {
                parent = try fileSystem.openDirectory(plan.path(of: wanted), below: root)
                parentIndex = wanted
            }
            try fileSystem.makeDirectory(parent.raw, plan.name(of: index), mode: 0o755)
        }
    }

    /// A part of a directory's files, small enough that a flat tree keeps all workers busy.
    private struct Job: Sendable {
        static let fileCountMax = 512
        var directory: Int
        var files: Range<Int>
    }

    private static func jobs(_ plan: TreePlan) -> [Job] {
        var jobs: [Job] = []
        for (index, directory) in plan.directories.enumerated() {
            let end = directory.files.upperBound
            for start in stride(from: directory.files.lowerBound, to: end, by: Job.fileCountMax) {
                let files = start..<min(start + Job.fileCountMax, end)
                jobs.append(Job(directory: index, files: files))
            }
        }
        return jobs
    }

    private static func isOneJob(_ directory: TreePlan.Directory) -> Bool {
        1...Job.fileCountMax ~= directory.files.count
    }

    private func fill(
        _ job: Job, _ plan: TreePlan, _ root: Int32, _ spares: SpareCopies,
        _ report: inout TreeReport
    ) throws(StoreError) {
        let directory = try fileSystem.openDirectory(plan.path(of: job.directory), below: root)
        let skipped = plan.skipped(in: job.directory)
        for index in job.files {
            let position = Int(plan.order[index])
            try withName(position, skipping: skipped) { (name) throws(StoreError) in
                try place(position, directory.raw, name, root, spares, &report)
            }
        }
        if directoryMode != 0o755, Self.isOneJob(plan.directories[job.directory]) {
            try fileSystem.setMode(directory.raw, directoryMode)
        }
    }

    /// Calls `body` with the last component of a path as a C string, on the stack.
    private func withName(
        _ position: Int, skipping: Int,
        _ body: (UnsafePointer<CChar>) throws(StoreError) -> Void
    ) throws(StoreError) {
        var failure: StoreError?
        manifest.withPath(position) { path in
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
                let count = path.count - skipping
                for index in 0..<count {
                    buffer[index] = CChar(bitPattern: path[skipping + index])
                }
                buffer[count] = 0
                guard let start = buffer.baseAddress else { return }
                do throws(StoreError) { try body(start) } catch { failure = error }
            }
        }
        if let failure { throw failure }
    }

    private func place(
        _ position: Int, _ directory: Int32, _ name: UnsafePointer<CChar>, _ root: Int32,
        _ spares: SpareCopies, _ report: inout TreeReport
    ) throws(StoreError) {
        let record = manifest.records[position]
        report.files += 1
        if mode != .link {
            return try copy(record, directory, name, &report)
        }
        if record.byteCount == 0 {
            // If all empty files were one inode, a writer through any of its links would fill them all.
            let mode: UInt32 = record.isExecutable ? 0o555 : 0o444
            let file = try fileSystem.open(directory, name, .creating, mode: mode)
            try fileSystem.setMode(file.raw, mode)  // the umask has cut it
            report.copied += 1
            return
        }
        if !trustsObjects {
            let isRight = try store.objects.isRight(
                record.address, byteCount: record.byteCount, executable: record.isExecutable)
            // A missing one is reported below.
            if isRight == false { throw store.touchedObject(record.address) }
        }
        do throws(StoreError) {
            let objects = store.directories.objects.raw
            try StoreLayout.withObjectPath(record.address, executable: record.isExecutable) {
                (path) throws(StoreError) in
                try fileSystem.link(objects, path, to: directory, name)
            }
            report.linked += 1
        } catch {
            if error.isTooManyLinks {
                return try linkToSpare(record, position, directory, name, root, spares, &report)
            }
            if error.isLinkRefused { return try copy(record, directory, name, &report) }
            if error.code == .notFound { throw store.missingObject(record.address) }
            throw error
        }
    }

    // If the owner may write to the files of a tree, their mode allows it.
    private func copy(
        _ record: Manifest.Record, _ directory: Int32, _ name: UnsafePointer<CChar>,
        _ report: inout TreeReport
    ) throws(StoreError) {
        let isWritable = mode != .link
        let permissions: UInt32 =
            record.isExecutable ? (isWritable ? 0o755 : 0o555) : (isWritable ? 0o644 : 0o444)
        let isReflinked = try store.copyObject(
            record.address, to: directory, name, mode: permissions,
            allowingReflink: mode != .copy, on: fileSystem)
        if isReflinked { report.reflinked += 1 } else { report.copied += 1 }
    }

    /// Links to a second copy inside this tree when the object has too many links (65,000 on ext4).
    private func linkToSpare(
        _ record: Manifest.Record, _ position: Int, _ directory: Int32,
        _ name: UnsafePointer<CChar>, _ root: Int32, _ spares: SpareCopies,
        _ report: inout TreeReport
    ) throws(StoreError) {
        let key = SpareCopies.Key(address: record.address, isExecutable: record.isExecutable)
        if let spare = spares.path(for: key) {
            do throws(StoreError) {
                try fileSystem.link(root, spare, to: directory, name)
                report.linked += 1
                return
            } catch {
                guard error.isTooManyLinks else { throw error }
            }
        }
        try copy(record, directory, name, &report)
        spares.set(manifest.path(position), for: key)
    }
}

/// Where the second copies of objects with too many links are in the tree.
private final class SpareCopies: Sendable {
    struct Key: Hashable, Sendable {
        var address: ObjectID
        var isExecutable: Bool
    }

    private let paths = Mutex<[Key: String]>([:])

    func path(for key: Key) -> String? { paths.withLock { $0[key] } }
    func set(_ path: String, for key: Key) { paths.withLock { $0[key] = path } }
}

/// How the files of a tree are made.
public enum LinkMode: String, Sendable, CaseIterable {
    /// Read-only hard links to the objects, which take no space; where a link is impossible, a reflink or copy.
    case link
    /// Copy-on-write clones if the file system has them, otherwise copies. Writable.
    case reflink
    /// Writable copies.
    case copy
}

/// The result of a materialization, in numbers of files.
public struct TreeReport: Sendable, Hashable {
    package var files = 0
    package var linked = 0
    /// Includes empty files, which are created instead of linked.
    package var copied = 0
    package var reflinked = 0

    mutating func add(_ other: TreeReport) {
        files += other.files
        linked += other.linked
        copied += other.copied
        reflinked += other.reflinked
    }
}

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
