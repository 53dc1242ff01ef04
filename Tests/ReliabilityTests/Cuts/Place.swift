import HotPush
import StorageTestSupport

/// Where a scenario takes place: a directory whose disk loses power, and what stands beside it.
struct Place: Sendable {
    /// What is on the disk: `store/`, and what verbs write outside of the store.
    let root: String
    /// Sources and origins, on another disk that keeps its power.
    let beside: String

    var store: String { root + "/store" }

    /// Opens the store as another process would.
    func open(
        on disk: any FileSystem = POSIXFileSystem(), isDurable: Bool = false
    ) throws -> VersionStore {
        try VersionStore.open(store, options: Self.options(isDurable), fileSystem: disk)
    }

    static func options(_ isDurable: Bool) -> StoreOptions {
        StoreOptions(isDurable: isDurable, reservedByteCount: 1 << 20)
    }

    /// The same scenario on another copy of the disk.
    func moved(to root: String) -> Place { Place(root: root, beside: beside) }

    /// What each version contains, whatever becomes of it.
    static let contents: [String: [String: String]] = [
        "0": ["index.html": "zero", "lib/a.js": "shared", "run": "#!zero"],
        "1": [
            "index.html": "hello", "lib/a.js": "shared", "run.sh": "#!one", "empty": "",
            "lib/large": String(repeating: "0123456789abcdef", count: 128),
        ],
        "2": ["index.html": "two", "lib/a.js": "shared", "run": "#!zero"],
    ]

    func add(_ name: String, to versions: VersionStore) throws {
        let source = beside + "/source-" + name
        try writeTree(source, Self.contents[name] ?? [:])
        _ = try versions.add(directory: source, version: name)
    }
}

/// What a store says of itself, as far as calls promise it.
struct Facts: Equatable, Sendable {
    struct Version: Equatable, Sendable {
        var isComplete: Bool
        var hasTree: Bool
    }
    var versions: [String: Version] = [:]
    var lifecycle = Lifecycle()
    /// Where the link `current` leads.
    var shown: String?

    init() {}

    /// The same, whatever trees there are besides the one that is shown.
    var withoutTrees: Facts {
        var facts = self
        for name in versions.keys where shown != "versions/" + name {
            facts.versions[name]?.hasTree = false
        }
        return facts
    }

    init(_ place: Place, _ store: VersionStore) throws {
        for version in try store.versions() {
            versions[version.version] = .init(
                isComplete: version.state != .incomplete,
                hasTree: try store.isMaterialized(version.version))
        }
        lifecycle = try store.lifecycle()
        // Tokens and times differ from run to run.
        lifecycle.boot?.token = ""
        lifecycle.boot?.startedAt = 0
        // Without /proc, or where it cannot be read, nobody knows it.
        lifecycle.boot?.system = nil
        for index in lifecycle.unheard.indices {
            lifecycle.unheard[index].token = ""
            lifecycle.unheard[index].startedAt = 0
            lifecycle.unheard[index].system = nil
        }
        lifecycle.confirmed?.token = ""
        for index in lifecycle.bad.indices { lifecycle.bad[index].at = 0 }
        shown = try store.fileSystem.symbolicLink(
            POSIXFileSystem.workingDirectory, place.store + "/current")
    }
}

/// The addresses of all that can be read below a directory, whatever it is called.
func contentsBelow(_ root: String) throws -> Set<ObjectID> {
    var found: Set<ObjectID> = []
    var hasher = try ObjectHasher()
    // Names that are no UTF-8 cannot be had from Foundation.
    var waiting: [[CChar]] = [Array(root.utf8CString.dropLast())]
    while let directory = waiting.popLast() {
        guard let listing = opendir(directory + [0]) else { continue }
        defer { closedir(listing) }
        while let entry = readdir(listing) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) {
                    Array(UnsafeBufferPointer(start: $0, count: strlen($0)))
                }
            }
            if name == [46] || name == [46, 46] { continue }
            let path = directory + [47] + name
            var status = stat()
            guard lstat(path + [0], &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFDIR { waiting.append(path) }
            guard status.st_mode & S_IFMT == S_IFREG, status.st_size < 1 << 20,
                let file = fopen(path + [0], "r")
            else { continue }
            defer { fclose(file) }
            var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
            let count = fread(&bytes, 1, bytes.count, file)
            found.insert(bytes[..<count].withUnsafeBytes { hasher.hash($0).address })
        }
    }
    return found
}
