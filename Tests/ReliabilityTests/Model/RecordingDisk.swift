import StorageTestSupport

/// Notes everything that changes a directory of the real disk, in one order over all threads, so that
/// the disk after a power cut at any moment can be made again.
///
/// Syncs are noted and not made. SQLite changes its files past the seam: before each change they are
/// looked at, and kept when they have changed. What makes them durable passes through it.
final class RecordingDisk: FileSystemWrapper, @unchecked Sendable {
    /// One change, and the index as it was just before it.
    struct Step: Sendable {
        var change: Device.Change
        var index: Int
        /// Whether it makes the index durable as it was then.
        var savesIndex: Bool
        /// What was asked of the disk, for messages.
        var text: String
    }

    /// SQLite's files at one moment.
    struct IndexFiles: Sendable, Hashable {
        var database: [UInt8]?
        var journal: [UInt8]?
        var changedAt: Int64 = 0
        static let absent = IndexFiles(database: nil, journal: nil)

        // By memory: these are compared at every step, megabytes at a time.
        static func == (one: Self, other: Self) -> Bool {
            one.changedAt == other.changedAt && isSame(one.database, other.database)
                && isSame(one.journal, other.journal)
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(changedAt)
            for file in [database, journal] {
                hasher.combine(file?.count)
                file?.withUnsafeBytes { hasher.combine(bytes: $0) }
            }
        }

        private static func isSame(_ one: [UInt8]?, _ other: [UInt8]?) -> Bool {
            guard let one, let other else { return (one == nil) == (other == nil) }
            return one.count == other.count && memcmp(one, other, one.count) == 0
        }
    }

    let base: any FileSystem
    let root: String
    private let gate = NSRecursiveLock()
    var byInode: [UInt64: Int] = [:]
    var nextNode = 1
    private var indexTimes: [Int64] = []

    /// What was there when the recording began.
    private(set) var beginning: Device
    private(set) var now: Device
    private(set) var steps: [Step] = []
    private(set) var indexes: [IndexFiles] = []

    /// Which syncs fail, by number from 1; the kernel then drops what was to be synced.
    var failingSync: Int?
    var syncCount = 0
    /// The index that a sync could not save: the kernel calls its pages clean, and no later sync writes them.
    var droppedIndex: Int?

    /// Changes that are noted later than they are made: an engine that does things in another order.
    var postpones: (@Sendable (String) -> Bool)?
    private var postponed: [Step] = []

    /// Begins to record below `root`: what is there is durable.
    init(_ root: String) throws {
        self.root = root
        base = POSIXFileSystem()
        beginning = Device()
        now = Device()
        try adopt("", as: 0)
        now.saveEverything()
        begin()
    }

    /// Continues where a process was killed: `device` says what of all that is there is durable.
    init(_ root: String, resuming device: Device, on disk: RestoredDisk, nodes: [UInt64: Int]) {
        self.root = root
        base = disk
        beginning = device
        now = device
        byInode = nodes
        nextNode = (device.nodes.keys.max() ?? 0) + 1
        begin()
    }

    private func begin() {
        beginning = now
        steps = []
        indexes = []
        indexTimes = []
        _ = lookAtIndex()
    }

    private func adopt(_ path: String, as number: Int) throws {
        let full = root + (path.isEmpty ? "" : "/" + path)
        guard let status = try base.status(POSIXFileSystem.workingDirectory, full) else { return }
        byInode[status.inode] = number
        for name in try FileManager.default.contentsOfDirectory(atPath: full).sorted() {
            if Self.isIndex(name) { continue }
            let inner = path.isEmpty ? name : path + "/" + name
            let below = root + "/" + inner
            guard let status = try base.status(POSIXFileSystem.workingDirectory, below) else {
                continue
            }
            let entry = { Device.Renaming.Entry(directory: number, name: name, node: $0) }
            if status.kind != .directory, let known = byInode[status.inode] {
                now.apply(.names(.init(entries: [entry(known)], changedAt: [:])))
                continue
            }
            let made = nextNode
            nextNode += 1
            byInode[status.inode] = made
            let kind: Device.Node.Kind =
                switch status.kind {
                case .directory: .directory
                case .symbolicLink:
                    .link(try FileManager.default.destinationOfSymbolicLink(atPath: below))
                default: .file
                }
            now.apply(
                .make(
                    kind, mode: status.mode, node: made,
                    .init(entries: [entry(made)], changedAt: [:])))
            if kind == .file {
                // The reserve is long and empty.
                let bytes = name == StoreLayout.reserve ? [] : try Damage.contents(below)
                now.apply(.write(node: made, offset: 0, bytes))
                now.apply(.resize(node: made, Int(status.byteCount)))
            }
            if kind == .directory { try adopt(inner, as: made) }
        }
        now.apply(.names(.init(entries: [], changedAt: [number: directoryTime(full)])))
    }

    private func directoryTime(_ path: String) -> Int64 {
        // Only asked of what is there; a directory that has gone needs no time.
        (try? base.status(POSIXFileSystem.workingDirectory, path))??.changedAt ?? 0
    }

    static func isIndex(_ name: String) -> Bool { name.hasPrefix(StoreLayout.index) }

    // MARK: Notes

    /// Looks at SQLite's files; returns the number under which they are kept.
    @discardableResult
    func lookAtIndex() -> Int {
        let path = root + "/store/" + StoreLayout.index
        var times: [Int64] = []
        for suffix in ["", "-journal"] {
            let status = (try? base.status(POSIXFileSystem.workingDirectory, path + suffix)) ?? nil
            times += [status?.changedAt ?? 0, status?.byteCount ?? -1, Int64(status?.inode ?? 0)]
        }
        if times == indexTimes { return indexes.count - 1 }
        indexTimes = times
        let files = IndexFiles(
            database: FileManager.default.contents(atPath: path).map { [UInt8]($0) },
            journal: FileManager.default.contents(atPath: path + "-journal").map { [UInt8]($0) },
            changedAt: times[0])
        indexes.append(files)
        return indexes.count - 1
    }

    func note(_ change: Device.Change, _ text: String, index: Int, saves: Bool = false) {
        let step = Step(change: change, index: index, savesIndex: saves, text: text)
        if let postpones, postpones(text) {
            // Programs see it at once; the disk only later.
            postponed.append(step)
            return
        }
        take(step)
    }

    private func take(_ step: Step) {
        now.apply(step.change)
        steps.append(step)
    }

    /// Notes what was postponed.
    func catchUp() {
        gate.withLock {
            for step in postponed { take(step) }
            postponed = []
        }
    }

    func node(_ file: Int32) -> Int? {
        var status = stat()
        guard fstat(file, &status) == 0 else { return nil }
        return byInode[UInt64(status.st_ino)]
    }

    /// The directory and the last name of a path, if it is inside.
    func place(_ directory: Int32, _ path: UnsafePointer<CChar>) -> (Int, String)? {
        var text = String(cString: path)
        var start: Int
        if text.hasPrefix("/") {
            guard text.hasPrefix(root + "/") else { return nil }
            text.removeFirst(root.utf8.count + 1)
            start = 0
        } else {
            guard directory != POSIXFileSystem.workingDirectory, let known = node(directory) else {
                return nil
            }
            start = known
        }
        var parts = text.split(separator: "/").map(String.init)
        guard let last = parts.popLast() else { return nil }
        guard let parent = view.find(parts, from: start) else { return nil }
        return isIndexName(last) ? nil : (parent, last)
    }

    func isIndexName(_ name: String) -> Bool { Self.isIndex(name) }

    /// What programs see: also what is noted later.
    var view: Device {
        guard !postponed.isEmpty else { return now }
        var seen = now
        for step in postponed { seen.apply(step.change) }
        return seen
    }

    func time(_ directory: Int32, _ path: UnsafePointer<CChar>) -> Int64 {
        var name = String(cString: path)
        if let slash = name.lastIndex(of: "/") {
            name = String(name[..<slash])
        } else {
            name = "."
        }
        return ((try? base.status(directory, name)) ?? nil)?.changedAt ?? 0
    }

    func names(
        _ entries: [(place: (Int, String), node: Int?)], _ times: [Int: Int64]
    ) -> Device.Renaming {
        Device.Renaming(
            entries: entries.map {
                .init(directory: $0.place.0, name: $0.place.1, node: $0.node)
            }, changedAt: times)
    }

    /// Performs an operation and notes it, alone.
    func alone<R: ~Copyable>(
        _ body: (_ index: Int) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        gate.lock()
        defer { gate.unlock() }
        return try body(lookAtIndex())
    }

    private func inode(_ directory: Int32, _ path: UnsafePointer<CChar>) -> UInt64 {
        ((try? base.status(directory, path)) ?? nil)?.inode ?? 0
    }

    func make(
        _ kind: Device.Node.Kind, _ mode: UInt32, _ directory: Int32,
        _ path: UnsafePointer<CChar>, at place: (Int, String), index: Int, _ verb: String
    ) {
        let made = nextNode
        nextNode += 1
        byInode[inode(directory, path)] = made
        let names = names([(place, made)], [place.0: time(directory, path)])
        note(
            .make(kind, mode: mode, node: made, names), "\(verb) \(String(cString: path))",
            index: index)
    }
}
