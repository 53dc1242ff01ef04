public import CASStore
public import StrictJSON

/// The content of a version: paths with the address, size and routes of each.
///
/// Immutable and sorted bytewise by path. Kept compact (about 50 bytes per entry plus its path), because a manifest
/// may have a million entries.
public struct Manifest: Sendable {
    /// One file of a version.
    public struct Entry: Sendable, Hashable {
        /// The file's place in the tree.
        public var path: TreePath
        /// The address of its bytes.
        public var address: ObjectID
        /// The size in bytes.
        public var byteCount: Int64
        /// Whether the file is materialized with mode 0555 instead of 0444.
        public var isExecutable: Bool
        /// URL paths besides "/" and the path.
        public var routes: [String]
        /// Digests by which the publisher names or checks the bytes.
        public var labels: [Label]
        /// Fields that castree does not know, kept as they came.
        public var foreign: [JSONValue.Member]

        /// Makes an entry.
        public init(
            path: TreePath, address: ObjectID, byteCount: Int64, isExecutable: Bool = false,
            routes: [String] = [], labels: [Label] = [], foreign: [JSONValue.Member] = []
        ) {
            self.path = path
            self.address = address
            self.byteCount = byteCount
            self.isExecutable = isExecutable
            self.routes = routes
            self.labels = labels
            self.foreign = foreign
        }
    }

    /// The publisher's manifest: an object, kept as long as the version, because signatures cover its exact bytes.
    package struct Received: Sendable, Hashable {
        /// The value of ``format`` in a manifest that was rebuilt from a tree.
        static let unknownFormat = "unknown"
        /// The format with its version: `meteor/1`.
        package var format: String
        package var address: ObjectID
        package var byteCount: Int64

        package init(format: String, address: ObjectID, byteCount: Int64) {
            self.format = format
            self.address = address
            self.byteCount = byteCount
        }

        init(format: String, _ object: Reference) {
            self.init(format: format, address: object.address, byteCount: object.byteCount)
        }

        var reference: Reference { Reference(address: address, byteCount: byteCount) }
    }

    package static let countMax = 4_000_000
    /// The size limit of a manifest's text, enough for ``countMax`` entries with paths of 150 bytes each.
    package static let byteCountMax = 1 << 30
    /// How deep the text of a manifest may nest.
    static let depthMax = 64

    /// Size limits, the same for writers and readers; only tests set lower ones.
    package struct Limits: Sendable {
        package var count = Manifest.countMax
        package var byteCount = Manifest.byteCountMax

        /// Whether the text is untrusted, so that the memory for reading it is metered.
        package var isMetered = false

        package init(count: Int = Manifest.countMax, byteCount: Int = Manifest.byteCountMax) {
            self.count = count
            self.byteCount = byteCount
        }

        /// Limits for a manifest from the network.
        package static func foreign(entryCountMax: Int) -> Limits {
            var limits = Limits(count: min(entryCountMax, Manifest.countMax))
            limits.isMetered = true
            return limits
        }
    }

    /// The version's name.
    public internal(set) var version: VersionName
    /// Orders versions, independent of clocks: a larger one is newer.
    public internal(set) var ordinal: Int64
    /// When the version was registered, in seconds since 1970; for people.
    public internal(set) var createdAt: Int64
    /// The publisher's manifest, if the version came in another format or over a network.
    package var received: Received?
    /// Objects that a lost manifest named and the tree does not show, kept because it is unknown what needs them.
    ///
    /// Set in a manifest rebuilt from a tree unless known to be equal; a version with them is never complete.
    package var recovered: [Reference]?
    /// Fields that castree does not know, kept as they came.
    public internal(set) var foreign: [JSONValue.Member] = []

    // Parallel to each other, sorted by path.
    private(set) var records: [Record] = []
    private(set) var paths: [UInt8] = []
    /// By position; few entries have extras.
    package private(set) var extras: [Int: Extras] = [:]

    struct Record: Sendable {
        var pathStart: UInt32
        var pathLength: UInt16
        var isExecutable: Bool
        var byteCount: Int64
        var address: ObjectID

        func path(in paths: [UInt8]) -> String {
            paths.withUnsafeBufferPointer {
                String(decoding: $0.path(at: pathStart, length: pathLength), as: UTF8.self)
            }
        }
    }

    /// Parts of an entry that few entries have.
    package struct Extras: Sendable {
        package var routes: [String] = []
        package var labels: [Label] = []
        package var foreign: [JSONValue.Member] = []
        var isEmpty: Bool { routes.isEmpty && labels.isEmpty && foreign.isEmpty }

        package init(
            routes: [String] = [], labels: [Label] = [], foreign: [JSONValue.Member] = []
        ) {
            self.routes = routes
            self.labels = labels
            self.foreign = foreign
        }
    }

    /// Makes a manifest of entries in any order.
    /// - Throws: `.badManifest` for a duplicate path or route, a file in place of a directory, a negative size, one
    ///   object with two sizes, an address of zeros, or a foreign field that could not be read back.
    public init(
        version: VersionName, ordinal: Int64, createdAt: Int64, entries: [Entry],
        foreign: [JSONValue.Member] = []
    ) throws(StoreError) {
        var paths: [UInt8] = []
        var records: [Record] = []
        var extras: [Int: Extras] = [:]
        for (position, entry) in entries.sorted(by: { $0.path < $1.path }).enumerated() {
            let utf8 = entry.path.description.utf8
            // Of more than 4 GiB there are too many, which is refused below.
            records.append(
                Record(
                    pathStart: UInt32(clamping: paths.count), pathLength: UInt16(utf8.count),
                    isExecutable: entry.isExecutable, byteCount: entry.byteCount,
                    address: entry.address))
            paths.append(contentsOf: utf8)
            let more = Extras(
                routes: entry.routes, labels: entry.labels, foreign: entry.foreign)
            if !more.isEmpty { extras[position] = more }
        }
        try self.init(
            version: version, ordinal: ordinal, createdAt: createdAt, records: records,
            paths: paths, extras: extras, foreign: foreign)
    }

    /// - Parameter records: sorted by path.
    init(
        version: VersionName, ordinal: Int64, createdAt: Int64, records: [Record], paths: [UInt8],
        extras: [Int: Extras], foreign: [JSONValue.Member]
    ) throws(StoreError) {
        self.version = version
        self.ordinal = ordinal
        self.createdAt = createdAt
        self.records = records
        self.paths = paths
        self.extras = extras
        self.foreign = foreign
        try validate()
    }

    /// The number of files.
    public var count: Int { records.count }

    package var byteCount: Int64 { records.reduce(0) { $0 + $1.byteCount } }

    /// The addresses that some path shows as executable, without empty files, which are created instead of linked.
    var executables: some Sequence<ObjectID> {
        records.lazy.filter { $0.isExecutable && $0.byteCount > 0 }.map(\.address)
    }

    package subscript(position: Int) -> Entry {
        let record = records[position]
        let more = extras[position]
        return Entry(
            path: TreePath(validated: path(position)), address: record.address,
            byteCount: record.byteCount, isExecutable: record.isExecutable,
            routes: more?.routes ?? [], labels: more?.labels ?? [],
            foreign: more?.foreign ?? [])
    }

    /// The entries, sorted by path.
    public var entries: some RandomAccessCollection<Entry> {
        (0..<count).lazy.map { self[$0] }
    }

    /// The entry of a path; `nil` if the version has no such file.
    package subscript(path: TreePath) -> Entry? {
        position(of: path.description).map { self[$0] }
    }

    func position(of path: String) -> Int? {
        Array(path.utf8).withUnsafeBufferPointer { position(of: $0) }
    }

    package func position(of wanted: UnsafeBufferPointer<UInt8>) -> Int? {
        (0..<count).bisected { position in withPath(position) { wanted.compare($0) } }
    }

    /// The path at a position, or its first `prefix` bytes.
    func path(_ position: Int, prefix: Int? = nil) -> String {
        withPath(position) { path in
            String(decoding: path.prefix(prefix ?? path.count), as: UTF8.self)
        }
    }

    /// Calls `body` with the path at a position; its bytes are valid only during the call.
    @inline(__always)
    package func withPath<R>(_ position: Int, _ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        let record = records[position]
        return paths.withUnsafeBufferPointer {
            body($0.path(at: record.pathStart, length: record.pathLength))
        }
    }

    /// The length of the path of the deepest directory that holds both entries; 0 for the top.
    func sharedDirectory(_ left: Int, _ right: Int) -> Int {
        withPath(left) { first in
            withPath(right) { second in
                var shared = 0
                for index in 0..<min(first.count, second.count) {
                    if first[index] != second[index] { break }
                    if first[index] == 47 { shared = index }
                }
                return shared
            }
        }
    }

    /// Positions sorted by address, only the first one of each address.
    static func distinct(_ positions: [UInt32], _ records: [Record]) -> [UInt32] {
        var order = positions
        sortByAddress(&order, records)
        var last: ObjectID?
        order.removeAll { position in
            defer { last = records[Int(position)].address }
            return records[Int(position)].address == last
        }
        return order
    }

    /// Sorts by address, then by position.
    static func sortByAddress(_ positions: inout [UInt32], _ records: [Record]) {
        records.withUnsafeBufferPointer { records in
            positions.sort { left, right in
                let (first, second) = (records[Int(left)].address, records[Int(right)].address)
                return first == second ? left < right : first < second
            }
        }
    }
}
