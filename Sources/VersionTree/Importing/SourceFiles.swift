import CASStore

/// The regular files of a directory as an import found them, sorted by path.
///
/// Kept compact, 92 bytes per file plus its path, because there may be a million files. The records have the
/// manifest's form so that the manifest can share them.
struct SourceFiles: Sendable {
    struct State: Sendable {
        var inode: UInt64
        var modifiedAt: Int64
        var changedAt: Int64
        var fingerprint = Fingerprint(high: 0, low: 0)
    }

    /// How far a file is, and the position of its device in `devices`.
    struct Mark: Sendable {
        private var bits: UInt32

        init(device: Int) { bits = UInt32(device) << 4 }

        /// Staged by this import and new to the store; set for one file of each content.
        var isStaged: Bool {
            get { self[0] }
            set { self[0] = newValue }
        }
        /// Read now, and its state can be trusted next time.
        var isCacheable: Bool {
            get { self[1] }
            set { self[1] = newValue }
        }
        var isHashed: Bool {
            get { self[2] }
            set { self[2] = newValue }
        }

        /// A file with the same content is staged, or its object was read and is intact.
        var isEnsured: Bool {
            get { self[3] }
            set { self[3] = newValue }
        }

        var device: Int {
            get { Int(bits >> 4) }
            set { bits = bits & 15 | UInt32(newValue) << 4 }
        }

        private subscript(bit: UInt32) -> Bool {
            get { bits & (1 << bit) != 0 }
            set { bits = newValue ? bits | (1 << bit) : bits & ~(1 << bit) }
        }
    }

    // Parallel to each other.
    var records: [Manifest.Record] = []
    var states: [State] = []
    var marks: [Mark] = []
    var paths: [UInt8] = []
    /// The file systems of the files: nearly always one.
    private(set) var devices: [UInt64] = []
    /// Parallel to `devices`; `nil` where file times prove nothing.
    var mounts: [SourceMount?] = []
    var directories: [SourceDirectory] = []
    /// What was left out, and what was taken but probably should not be; a directory ends with a slash.
    var leftOut: [String] = []
    var unwanted: [String] = []

    var count: Int { records.count }
    var byteCount: Int64 { records.reduce(0) { $0 + $1.byteCount } }

    mutating func append(_ path: [UInt8], _ status: FileStatus) {
        records.append(
            Manifest.Record(
                pathStart: UInt32(paths.count), pathLength: UInt16(path.count),
                isExecutable: status.mode & 0o100 != 0, byteCount: status.byteCount,
                address: .zero))
        states.append(
            State(
                inode: status.inode, modifiedAt: status.modifiedAt, changedAt: status.changedAt))
        marks.append(Mark(device: position(ofDevice: status.device)))
        paths.append(contentsOf: path)
    }

    /// The position of a device in `devices`, to which it is appended if new.
    mutating func position(ofDevice device: UInt64) -> Int {
        // Neighbours are on one device.
        if let known = devices.lastIndex(of: device) { return known }
        devices.append(device)
        return devices.count - 1
    }

    func path(_ position: Int) -> String { records[position].path(in: paths) }

    /// Identifies the state of a file; `nil` if its times prove nothing.
    func key(_ position: Int) -> StatKey? {
        let device = marks[position].device
        guard device < mounts.count, let mount = mounts[device] else { return nil }
        let state = states[position]
        return StatKey(
            device: devices[device], inode: state.inode,
            byteCount: records[position].byteCount, modifiedAt: state.modifiedAt,
            changedAt: state.changedAt, mount: mount)
    }

    func knowledge(of position: Int) -> WriterKnowledge? {
        // An older manifest that is kept may name one more: what its publisher sent.
        guard position < count, marks[position].isHashed else { return nil }
        return WriterKnowledge(
            fingerprint: states[position].fingerprint,
            hasMadeSure: marks[position].isStaged || marks[position].isEnsured)
    }

    var stagedPositions: [UInt32] {
        positions { marks[$0].isStaged }
    }

    /// The positions that satisfy a condition, in an array without spare capacity.
    func positions(where isWanted: (Int) -> Bool) -> [UInt32] {
        var wanted = 0
        for position in 0..<count where isWanted(position) { wanted += 1 }
        var result: [UInt32] = []
        result.reserveCapacity(wanted)
        for position in 0..<count where isWanted(position) { result.append(UInt32(position)) }
        return result
    }

    /// Like ``positions(where:)``, sorted by address and with one position for each address.
    func distinctPositions(where isWanted: (Int) -> Bool) -> [UInt32] {
        Manifest.distinct(positions(where: isWanted), records)
    }

    /// Shares the records and paths of these files.
    func manifest(
        version: VersionName, ordinal: Int64, createdAt: Int64,
        extras: [TreePath: Manifest.Extras]
    ) throws(StoreError) -> Manifest {
        var found: [Int: Manifest.Extras] = [:]
        if !extras.isEmpty {
            for position in 0..<count {
                guard let own = extras[TreePath(validated: path(position))], !own.isEmpty else {
                    continue
                }
                found[position] = own
            }
        }
        return try Manifest(
            version: version, ordinal: ordinal, createdAt: createdAt, records: records,
            paths: paths, extras: found, foreign: [])
    }
}

// Whether file times prove anything depends on the file system.

extension SourceFiles {
    /// Looks at each device once instead of at each file.
    mutating func learnMounts(_ store: Store, root: Int32, followingLinks: Bool) {
        // If one cannot be examined, reading it will report the error.
        let rootDevice = try? store.fileSystem.outside.status(root).device
        mounts = Array(repeating: nil, count: devices.count)
        for (number, device) in devices.enumerated() {
            if device == rootDevice {
                mounts[number] = store.sourceMount(of: root)
            } else if let position = marks.firstIndex(where: { $0.device == number }),
                // As above.
                let file = try? SourceReading.open(
                    path(position), root, followingLinks: followingLinks, store.fileSystem.outside),
                // As above.
                let status = try? store.fileSystem.status(file.raw), status.device == device
            {
                mounts[number] = store.sourceMount(of: file.raw)
            }
        }
    }

    var cacheable: some Sequence<(StatKey, ObjectID)> {
        (0..<count).lazy.compactMap { position in
            guard marks[position].isCacheable, let key = key(position) else { return nil }
            return (key, records[position].address)
        }
    }
}

/// A directory of the source as it was before its entries were listed.
struct SourceDirectory: Sendable {
    var path: [UInt8]
    var status: FileStatus
}

extension SourceFiles {
    /// Refuses a source in which directories changed after they were listed, which would mix two releases.
    ///
    /// Costs one call for each directory. Does not detect a write into a file that was already read.
    /// - Throws: `.changedWhileRead` with the path.
    func refuseChangedDirectories(
        _ root: Int32, followingLinks: Bool, _ fileSystem: any FileSystem
    ) throws(StoreError) {
        for directory in directories {
            let path =
                directory.path.isEmpty ? "." : String(decoding: directory.path, as: UTF8.self)
            let status: FileStatus?
            if followingLinks {
                let open = try fileSystem.openIfPresent(root, path, .directoryFollowingLinks)
                status = if let open { try fileSystem.status(open.raw) } else { nil }
            } else {
                status = try fileSystem.status(root, path)
            }
            guard let status, status.isUnchanged(since: directory.status) else {
                throw StoreError(
                    .changedWhileRead,
                    "unable to add \"\(printable(path))\": files came, went or were replaced in it while it was "
                        + "read; wait until the release is written, then repeat the command")
            }
        }
    }
}

// A walk does not know how many files it will find. A growing array exists twice for a moment, so files are collected
// in parts of a fixed size and joined once their number is known.

extension SourceFiles {
    /// Large enough for the system to reclaim each freed array, small enough for one more part not to matter.
    private static let partCount = 4096

    /// Makes an empty part; only its array of path bytes may grow.
    static func part() -> SourceFiles {
        var part = SourceFiles()
        part.records.reserveCapacity(partCount)
        part.states.reserveCapacity(partCount)
        part.marks.reserveCapacity(partCount)
        part.paths.reserveCapacity(partCount * 64)
        return part
    }

    var isFull: Bool { count == Self.partCount }

    /// Joins and consumes the parts, sorting the files bytewise by path.
    init(joining parts: inout [SourceFiles]) {
        let count = parts.reduce(0) { $0 + $1.count }
        self.init()
        records.reserveCapacity(count)
        states.reserveCapacity(count)
        marks.reserveCapacity(count)
        paths.reserveCapacity(parts.reduce(0) { $0 + $1.paths.count })
        for position in parts.indices {
            take(parts[position])
            parts[position] = SourceFiles()
        }
        parts = []
        sort()
    }

    private mutating func take(_ part: SourceFiles) {
        let start = UInt32(paths.count)
        let devices = part.devices.map { position(ofDevice: $0) }
        paths += part.paths
        states += part.states
        for var record in part.records {
            record.pathStart += start
            records.append(record)
        }
        for var mark in part.marks {
            mark.device = devices[mark.device]
            marks.append(mark)
        }
    }

    private mutating func sort() {
        var order = (0..<count).map { UInt32($0) }
        paths.withUnsafeBufferPointer { bytes in
            records.withUnsafeBufferPointer { records in
                func path(_ position: UInt32) -> UnsafeBufferPointer<UInt8> {
                    let record = records[Int(position)]
                    return bytes.path(at: record.pathStart, length: record.pathLength)
                }
                order.sort { path($0).precedes(path($1)) }
            }
        }
        arrange(&order)
    }

    /// Permutes the files in place so that each position gets the file that `order` names; consumes `order`.
    private mutating func arrange(_ order: inout [UInt32]) {
        for first in order.indices where order[first] != UInt32(first) {
            let (record, state, mark) = (records[first], states[first], marks[first])
            var hole = first
            while order[hole] != UInt32(first) {
                let source = Int(order[hole])
                records[hole] = records[source]
                states[hole] = states[source]
                marks[hole] = marks[source]
                order[hole] = UInt32(hole)
                hole = source
            }
            records[hole] = record
            states[hole] = state
            marks[hole] = mark
            order[hole] = UInt32(hole)
        }
    }
}
