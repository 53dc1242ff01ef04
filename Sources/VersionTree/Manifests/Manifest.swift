public import CASStore
public import StrictJSON

/// What a version consists of: paths, and for each the address, size and ways to reach it.
///
/// Immutable; sorted by path, byte by byte. Kept compact (about 50 bytes per entry plus its path),
/// because a manifest may have a million entries.
public struct Manifest: Sendable {
    /// One file of a version.
    public struct Entry: Sendable, Hashable {
        /// The file's place in the tree.
        public var path: TreePath
        /// The address of its bytes.
        public var address: ObjectID
        /// Their number.
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

    /// What the publisher sent: an object, kept as long as the version.
    ///
    /// Signatures cover exactly these bytes; the manifest is what was read from them.
    package struct Received: Sendable, Hashable {
        /// The value of ``format`` if nobody knows it: the manifest was made again from a tree.
        static let unknownFormat = "unknown"
        /// The format it is in, and its version: `meteor/1`.
        package var format: String
        /// The address of its bytes.
        package var address: ObjectID
        /// Their number.
        package var byteCount: Int64

        /// Makes a record of what was received.
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

    /// The most entries a manifest may have.
    package static let countMax = 4_000_000
    /// The most bytes that the text of a manifest may have: longer ones are neither written nor read.
    ///
    /// Enough for ``countMax`` entries with paths of 150 bytes each.
    package static let byteCountMax = 1 << 30
    /// How deep the text of a manifest may nest.
    static let depthMax = 64

    /// How large a manifest may be: the same for writers and readers; only tests set less.
    package struct Limits: Sendable {
        /// The most entries.
        package var count = Manifest.countMax
        /// The most bytes of text.
        package var byteCount = Manifest.byteCountMax

        /// Whether the text is a stranger's: then its memory is metered while it is read.
        package var isMetered = false

        package init(count: Int = Manifest.countMax, byteCount: Int = Manifest.byteCountMax) {
            self.count = count
            self.byteCount = byteCount
        }

        /// For what comes over a network.
        package static func foreign(entryCountMax: Int) -> Limits {
            var limits = Limits(count: min(entryCountMax, Manifest.countMax))
            limits.isMetered = true
            return limits
        }
    }

    /// The version's name.
    public internal(set) var version: VersionName
    /// Orders versions: a larger one is newer.
    ///
    /// Clocks decide nothing.
    public internal(set) var ordinal: Int64
    /// When the version was registered, in seconds since 1970; for people.
    public internal(set) var createdAt: Int64
    /// The publisher's manifest, if the version came in another format or over a network.
    package var received: Received?
    /// What the lost manifest named and the tree does not show, in a version whose manifest was made again from its tree;
    /// `nil` for a manifest as its publisher made it, or known to say the same.
    ///
    /// Kept because nobody knows what else needs it. A version with such a manifest is never complete.
    package var recovered: [Reference]?
    /// Fields that castree does not know, kept as they came.
    public internal(set) var foreign: [JSONValue.Member] = []

    // Parallel to each other, sorted by path.
    private(set) var records: [Record] = []
    private(set) var paths: [UInt8] = []
    /// What only few entries have, by position.
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

    /// What only few entries have.
    package struct Extras: Sendable {
        /// URL paths besides "/" and the path.
        package var routes: [String] = []
        /// Digests by which the publisher names or checks the bytes.
        package var labels: [Label] = []
        /// Fields that castree does not know.
        package var foreign: [JSONValue.Member] = []
        var isEmpty: Bool { routes.isEmpty && labels.isEmpty && foreign.isEmpty }

        /// Makes extras.
        package init(
            routes: [String] = [], labels: [Label] = [], foreign: [JSONValue.Member] = []
        ) {
            self.routes = routes
            self.labels = labels
            self.foreign = foreign
        }
    }

    /// Makes a manifest of entries in any order.
    /// - Throws: `.badManifest` for a path that occurs twice, a file in place of a directory, a
    ///   negative size, one object with two sizes, a route that occurs twice, an address of zeros, a
    ///   foreign field that nobody could read again.
    public init(
        version: VersionName, ordinal: Int64, createdAt: Int64, entries: [Entry],
        foreign: [JSONValue.Member] = []
    ) throws(StoreError) {
        var paths: [UInt8] = []
        var records: [Record] = []
        var extras: [Int: Extras] = [:]
        for (position, entry) in entries.sorted(by: { $0.path < $1.path }).enumerated() {
            let utf8 = entry.path.description.utf8
            records.append(
                Record(
                    pathStart: UInt32(paths.count), pathLength: UInt16(utf8.count),
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

    /// Makes a manifest of records that are already sorted.
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

    /// The sum of their sizes.
    package var byteCount: Int64 { records.reduce(0) { $0 + $1.byteCount } }

    /// The addresses that some path shows as executable; empty files are made, not linked.
    var executables: some Sequence<ObjectID> {
        records.lazy.filter { $0.isExecutable && $0.byteCount > 0 }.map(\.address)
    }

    /// The entry at a position.
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

    /// The position of a path, found by bisection.
    func position(of path: String) -> Int? {
        Array(path.utf8).withUnsafeBufferPointer { position(of: $0) }
    }

    /// The position of a path, found by bisection.
    package func position(of wanted: UnsafeBufferPointer<UInt8>) -> Int? {
        (0..<count).bisected { position in withPath(position) { wanted.compare($0) } }
    }

    /// The path at a position, or its first `prefix` bytes.
    func path(_ position: Int, prefix: Int? = nil) -> String {
        withPath(position) { path in
            String(decoding: path.prefix(prefix ?? path.count), as: UTF8.self)
        }
    }

    /// Calls `body` with the path of the entry at a position; its bytes are valid only in the call.
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

    /// Sorts positions by address, and those of one address among themselves.
    static func sortByAddress(_ positions: inout [UInt32], _ records: [Record]) {
        records.withUnsafeBufferPointer { records in
            positions.sort { left, right in
                let (first, second) = (records[Int(left)].address, records[Int(right)].address)
                return first == second ? left < right : first < second
            }
        }
    }
}
