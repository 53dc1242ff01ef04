import StorageTestSupport

/// A state of the disk that a power cut may leave.
struct Remains: Sendable {
    /// The names and bytes, as saved ones.
    private(set) var device: Device
    private(set) var contents: [Int: FileBytes] = [:]
    private(set) var modes: [Int: UInt32] = [:]
    private(set) var index: RecordingDisk.IndexFiles

    /// - Parameters:
    ///   - seed: how bytes are torn.
    ///   - saved: the index as it is durable, or `nil` if nobody knows that it is.
    ///   - now: the index as programs see it.
    init(
        _ device: Device, _ choice: Choice, seed: UInt64, saved: RecordingDisk.IndexFiles?,
        now: RecordingDisk.IndexFiles
    ) {
        var random = SeededRandom(seed: seed)
        self.device = device.entries(keeping: choice.names)
        for number in device.unsaved {
            let node = device[number]
            let bytes = choice.exceptions[number] ?? choice.bytes
            contents[number] =
                switch bytes {
                case .old: node.savedContent
                case .new: node.content
                case .torn: node.content.torn(over: node.savedContent, &random)
                }
            modes[number] =
                bytes == .old && !choice.keepsModes ? node.savedMode : node.mode
        }
        let old = saved ?? .absent
        index =
            switch choice.index {
            case .absent: .absent
            case .old: old
            case .new: now
            case .torn where old == now: now
            case .torn:
                .init(
                    database: now.mixed(over: old) { _ in Bool.random(using: &random) },
                    journal: Bool.random(using: &random) ? now.journal : old.journal,
                    changedAt: now.changedAt)
            case .pages(let pages):
                .init(
                    database: now.mixed(over: old, pages.contains), journal: now.journal,
                    changedAt: now.changedAt)
            }
    }

    /// Two states of one number are one state.
    var signature: Int {
        var hasher = Hasher()
        sign(0, &hasher)
        hasher.combine(index)
        return hasher.finalize()
    }

    private func sign(_ number: Int, _ hasher: inout Hasher) {
        let node = device[number]
        hasher.combine(node.kind)
        hasher.combine(modes[number] ?? node.savedMode)
        hasher.combine(contents[number] ?? node.savedContent)
        for (name, inner) in node.savedEntries.sorted(by: { $0.key < $1.key }) {
            hasher.combine(name)
            hasher.combine(inner)
            sign(inner, &hasher)
        }
    }

    /// Makes the state on the real disk.
    /// - Returns: a file system that shows its times as they were, and the nodes by inode.
    func build(at root: String) throws -> (disk: RestoredDisk, nodes: [UInt64: Int]) {
        var built = Built()
        mkdir(root, 0o755)
        try build(0, root, &built)
        let path = root + "/store/" + StoreLayout.index
        // Where the directory is lost, so is what stood in it.
        if let database = index.database, access(root + "/store", F_OK) == 0 {
            try write(database, to: path)
            built.shows(path, index.changedAt)
            if let journal = index.journal { try write(journal, to: path + "-journal") }
        }
        // What is made in a directory changes its time: these come last.
        for (path, mode) in built.directories.reversed() { chmod(path, mode_t(mode)) }
        for (path, time) in built.times where time != 0 { built.shows(path, time) }
        return (RestoredDisk(built.shown), built.nodes)
    }

    private struct Built {
        var nodes: [UInt64: Int] = [:]
        var paths: [Int: String] = [:]
        var directories: [(String, UInt32)] = []
        var times: [(String, Int64)] = []
        var shown: [UInt64: RestoredDisk.Times] = [:]

        mutating func shows(_ path: String, _ time: Int64) {
            let found = try? POSIXFileSystem().status(POSIXFileSystem.workingDirectory, path)
            guard let status = found ?? nil else { return }
            shown[status.inode] = .init(real: status.changedAt, shown: time)
        }

        mutating func note(_ path: String, _ node: Int) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return }
            nodes[UInt64(status.st_ino)] = node
            paths[node] = path
        }
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o644)
        guard file >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        defer { close(file) }
        let count = bytes.withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) }
        guard count == bytes.count else { throw POSIXError(.EIO) }
    }

    private func build(_ number: Int, _ path: String, _ built: inout Built) throws {
        let node = device[number]
        built.note(path, number)
        let mode = modes[number] ?? node.savedMode
        built.directories.append((path, mode))
        for (name, inner) in node.savedEntries.sorted(by: { $0.key < $1.key }) {
            let full = path + "/" + name
            if let first = built.paths[inner] {
                link(first, full)
                continue
            }
            let below = device[inner]
            switch below.kind {
            case .directory:
                mkdir(full, 0o755)
                try build(inner, full, &built)
            case .link(let target):
                symlink(target, full)
                built.note(full, inner)
            case .file:
                let bytes = contents[inner] ?? below.savedContent
                try write(bytes.bytes, to: full)
                if bytes.count > bytes.bytes.count { truncate(full, off_t(bytes.count)) }
                chmod(full, mode_t(modes[inner] ?? below.savedMode))
                built.note(full, inner)
            }
        }
        built.times.append((path, node.savedChangedAt))
    }
}

/// A disk whose files were made again, and which shows the times that they had before the cut.
struct RestoredDisk: StatusShowingDisk {
    struct Times: Sendable { var real, shown: Int64 }

    let base: any FileSystem = POSIXFileSystem()
    private let times: [UInt64: Times]

    init(_ times: [UInt64: Times]) { self.times = times }

    func shown(_ status: FileStatus) -> FileStatus {
        guard let known = times[status.inode], known.real == status.changedAt else { return status }
        var status = status
        status.changedAt = known.shown
        return status
    }
}
