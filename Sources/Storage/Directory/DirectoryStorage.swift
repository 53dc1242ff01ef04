package import Platform
import Synchronization

/// A storage for an origin in a directory of a disk, below which a key is a path.
///
/// A file is written aside and named atomically, so readers see the old bytes or the new ones. Nothing is opened
/// through a symbolic link below the directory. Anything other than a regular file under a key does not count as a
/// file. A write replaces it, but a directory only if a ``Rescue`` lets it be set aside. Several processes may write
/// at once, on one machine or on several that share the disk, as far as its file system locks files (flock(2)) and
/// links or renames them atomically.
///
/// A name never refers to bytes that a power cut may take; the name itself is durable after a barrier.
///
/// Keys are paths of up to 1,024 bytes: a name between two slashes has 1 to 255 bytes and is neither `.` nor `..`.
/// There is nothing under any other key, and nothing can be written (`.unsupported`). A key cannot lead through
/// another one's file. A tag consists of the file's identity, size and time: two files with equal bytes have two
/// tags. Errors are those of the disk: `.permission`, `.outOfSpace`, `.io`.
package final class DirectoryStorage: ObjectStorage {
    /// The directory, as it was named.
    package let place: String
    let fileSystem: any FileSystem
    let root: Descriptor
    /// A directory for unfinished files, which no listing shows and no key leads into.
    let scratch: String
    let rights: UInt32
    let isDurable: Bool
    let rescue: Rescue
    /// What the next barrier makes durable.
    let uncommitted = Mutex(Uncommitted())
    let passedOver = Mutex<Set<String>>([])
    /// Whether the file system shares blocks with the files that are read.
    let canClone = Atomic<Bool>(true)
    private let counts = Mutex(StorageFigures())

    /// Opens an existing directory.
    /// - Parameters:
    ///   - path: the directory; links on the way to it are followed.
    ///   - root: the same, open; `nil` to open it now.
    ///   - scratch: the name of a directory in it for files that are being written.
    ///   - rights: rights that all files get, whatever the umask takes.
    ///   - isDurable: whether writes survive a power cut, with their names after a ``barrier()``.
    ///   - rescue: what to do if files cannot be written as they should.
    /// - Throws: `.notFound`; what opening throws.
    package init(
        _ path: String, open root: consuming Descriptor? = nil, scratch: String,
        rights: UInt32 = 0, isDurable: Bool = true, rescue: Rescue = Rescue(),
        fileSystem: any FileSystem = POSIXFileSystem()
    ) throws(StoreError) {
        place = path
        self.fileSystem = fileSystem
        self.scratch = scratch
        self.rights = rights
        self.isDurable = isDurable
        self.rescue = rescue
        if let root {
            self.root = root
        } else {
            self.root = try fileSystem.open(
                POSIXFileSystem.workingDirectory, path, .typedDirectory, mode: 0)
        }
    }

    /// The names that may be lost in a power cut.
    struct Uncommitted {
        /// Directories whose names have changed.
        var directories: Set<String> = []
        /// Whether a listing may have shown names that somebody else has not made durable, and never will.
        var isAll = true
    }

    package struct Rescue: Sendable {
        /// Called with the open directory when the disk is full; frees space, and returns whether it could.
        package var makeSpace: @Sendable (_ root: Int32) throws(StoreError) -> Bool
        /// Called with the new name of a directory that was in place of a file; `nil` if such a directory stays.
        package var setAside: (@Sendable (_ key: String, _ name: String) -> Void)?
        /// Whether obstacles to directories are set aside as well, as in a repair.
        package var mendsDirectories = false
        /// Called with an unreadable directory and the reason; returns whether listings leave it out.
        package var passesOver: @Sendable (_ path: String, StoreError) -> Bool = { _, _ in false }

        package init(
            makeSpace: @escaping @Sendable (_ root: Int32) throws(StoreError) -> Bool = {
                (_) throws(StoreError) in false
            },
            setAside: (@Sendable (_ key: String, _ name: String) -> Void)? = nil
        ) {
            self.makeSpace = makeSpace
            self.setAside = setAside
        }
    }

    package var directory: Int32 { root.raw }

    package var parallelCount: Int { Parallel.workerCount }
    package var identity: String {
        let known = POSIXFileSystem().path(of: root.raw)
        // Not cut: long paths may begin alike.
        return printable(known.hasPrefix("/") ? known : place, .max)
    }
    package var isOnDisk: Bool { true }
    package var work: WorkDirectory? {
        WorkDirectory(
            scratch, in: root.raw, place, of: self,
            rights.ofWriters == 0 ? fileSystem : GroupFileSystem(base: fileSystem), rights: rights)
    }
    package var figures: StorageFigures { counts.withLock { $0 } }

    func count(_ change: (inout StorageFigures) -> Void = { _ in }) {
        counts.withLock {
            $0.requestCount += 1
            change(&$0)
        }
    }

    static let keyByteCountMax = 1_024

    func isPath(_ key: String) -> Bool {
        let bytes = key.utf8
        guard bytes.count <= Self.keyByteCountMax, !bytes.contains(0) else { return false }
        let parts = bytes.split(separator: 47, omittingEmptySubsequences: false)
        return !parts[0].elementsEqual(scratch.utf8)
            && parts.allSatisfy {
                1...255 ~= $0.count && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8)
            }
    }

    // MARK: Reading

    private struct OpenFile: ~Copyable {
        let file: Descriptor
        let status: FileStatus
    }

    private func open(_ key: String) throws(StoreError) -> OpenFile? {
        guard isPath(key) else { return nil }
        do throws(StoreError) {
            let file = try fileSystem.openBeneath(root.raw, key, .reading)
            let status = try fileSystem.status(file.raw)
            guard status.kind == .regular else { return nil }
            return OpenFile(file: file, status: status)
        } catch {
            // A link, or a file in place of a directory.
            guard error.code == .notFound || error.isNotDirectory else { throw error }
            return nil
        }
    }

    package func get(
        _ key: String, _ request: ReadRequest,
        _ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) -> ReadOutcome {
        count()
        guard let file = try open(key) else { return .missing }
        let there = StoredFile(file.status)
        if request.unlessTag == there.tag { return .notModified }
        var range = 0..<there.byteCount
        if let wanted = request.range {
            guard wanted.lowerBound < there.byteCount else { return .beyondEnd }
            range = wanted.clamped(to: range)
        }
        guard Int64(range.count) <= request.byteCountMax else {
            throw StoreError(
                .tooLarge,
                "\(printable(key)) in \(printable(place)) has \(range.count) bytes; at most "
                    + "\(request.byteCountMax) are read")
        }
        try read(file.file.raw, range, of: key, take)
        counts.withLock { $0.receivedByteCount += Int64(range.count) }
        return .found(there)
    }

    private func read(
        _ file: Int32, _ range: Range<Int64>, of key: String,
        _ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(min(max(Int64(range.count), 1), 256 << 10)), alignment: 16)
        defer { buffer.deallocate() }
        var offset = range.lowerBound
        while offset < range.upperBound {
            let wanted = Int(min(Int64(buffer.count), range.upperBound - offset))
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
            let got = try fileSystem.read(file, into: part, at: offset)
            guard got > 0 else {
                throw StoreError(
                    .io,
                    "\(printable(key)) in \(printable(place)) was cut while it was read; repeat the command"
                )
            }
            try take(UnsafeRawBufferPointer(rebasing: part[..<got]))
            offset += Int64(got)
        }
    }

    package func head(_ key: String) throws(StoreError) -> StoredFile? {
        count()
        return try status(of: key).map(StoredFile.init)
    }

    func status(of key: String) throws(StoreError) -> FileStatus? {
        guard let file = try open(key) else { return nil }
        return file.status
    }

    // MARK: Uploads in parts, which a disk does not have

    package func openUploads() -> OpenUploads? { nil }
    package func abort(_ upload: OpenUpload) {}

    // MARK: Listings: a walk in the order of the keys' bytes

    package func list(_ request: ListRequest) throws(StoreError) -> ListPage {
        count()
        uncommitted.withLock { $0.isAll = true }
        let after = [request.startAfter, request.token].compactMap(\.self)
            .max { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        var walk = Walk(prefix: request.prefix, after: after ?? "", countMax: request.countMax)
        try visit(root.raw, "", &walk)
        let hasMore = walk.files.count > request.countMax
        if hasMore { walk.files.removeLast() }
        return ListPage(
            files: walk.files, next: hasMore ? walk.files.last?.key : nil, answeredAt: secondsNow())
    }

    /// Everything below the directory for unfinished files.
    package func unlistedFiles() throws(StoreError) -> [ListedFile] {
        guard let directory = try openIfThere(root.raw, scratch) else { return [] }
        var walk = Walk(prefix: "", after: "", countMax: .max)
        try visit(directory.raw, scratch + "/", &walk)
        return walk.files
    }

    private struct Walk {
        let prefix: String
        let after: String
        let countMax: Int
        var files: [ListedFile] = []

        var isFull: Bool { files.count > countMax }

        func wants(below path: String) -> Bool {
            let mayMatch =
                path.utf8.starts(with: prefix.utf8) || prefix.utf8.starts(with: path.utf8)
            return mayMatch && (path.utf8 >= after.utf8 || after.utf8.starts(with: path.utf8))
        }

        func wants(_ key: String) -> Bool {
            key.utf8.starts(with: prefix.utf8) && after.utf8.lexicographicallyPrecedes(key.utf8)
        }
    }

    /// - Parameter path: that of the directory, with a trailing slash; empty for the root.
    private func visit(_ directory: Int32, _ path: String, _ walk: inout Walk) throws(StoreError) {
        // With its slash, a directory is sorted like its keys: "a.b" before "a/b" before "a0".
        var names: [String] = []
        try fileSystem.list(directory) { (entry, kind) throws(StoreError) in
            guard RawName.isText(entry) else { return true }
            let name = String(cString: entry)
            // Some file systems do not tell what an entry is.
            let isUnknown = kind == .unknown
            let kind = try isUnknown ? fileSystem.status(directory, name)?.kind : kind
            if kind == .directory {
                guard !(path.isEmpty && name == scratch), Self.mayHaveKeys(path, name) else {
                    return true
                }
                if walk.wants(below: "\(path)\(name)/") { names.append(name + "/") }
            } else if kind == .regular, walk.wants(path + name) {
                names.append(name)
            }
            return true
        }
        names.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        for name in names {
            if walk.isFull { return }
            if name.hasSuffix("/") {
                do throws(StoreError) {
                    let inner = try openIfThere(directory, String(name.dropLast()))
                    if let inner { try visit(inner.raw, path + name, &walk) }
                } catch {
                    guard error.isOfOneName, passesOver(path + name, error) else { throw error }
                }
            } else if let status = try fileSystem.status(directory, name), status.kind == .regular {
                // A file that is renamed or deleted meanwhile is listed elsewhere, or not at all.
                walk.files.append(
                    ListedFile(
                        key: path + name, byteCount: status.byteCount, tag: EntityTag(status),
                        modifiedAt: status.modifiedAt / 1_000_000_000))
            }
        }
    }

    /// Whether a listing leaves out an unreadable directory, decided once for each.
    private func passesOver(_ path: String, _ error: StoreError) -> Bool {
        passedOver.withLock { paths in
            guard !paths.contains(path) else { return true }
            guard rescue.passesOver(path, error) else { return false }
            paths.insert(path)
            return true
        }
    }

    /// Whether a key can lead through a directory; deeper ones are a stranger's.
    private static func mayHaveKeys(_ path: String, _ name: String) -> Bool {
        path.utf8.count + name.utf8.count + 2 <= keyByteCountMax
    }

    private func openIfThere(_ directory: Int32, _ name: String) throws(StoreError) -> Descriptor? {
        do throws(StoreError) {
            return try fileSystem.openIfPresent(directory, name, .directory)
        } catch {
            guard error.isNotDirectory else { throw error }
            return nil
        }
    }
}

extension StoredFile {
    init(_ status: FileStatus) {
        self.init(
            byteCount: status.byteCount, tag: EntityTag(status),
            modifiedAt: status.modifiedAt / 1_000_000_000, answeredAt: secondsNow())
    }
}

extension EntityTag {
    /// The tag of a file on a disk: equal for as long as nobody has written to it or replaced it by other bytes.
    init(_ status: FileStatus) {
        self.init(
            [Int64(bitPattern: status.inode), status.byteCount, status.modifiedAt]
                .map { String($0, radix: 16) }.joined(separator: "-"))
    }
}

extension String.UTF8View {
    fileprivate static func >= (left: String.UTF8View, right: String.UTF8View) -> Bool {
        !left.lexicographicallyPrecedes(right)
    }
}
