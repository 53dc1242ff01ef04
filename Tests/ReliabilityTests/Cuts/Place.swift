import CASStore
import Foundation
import HotPush
import StorageTestSupport
import VersionTree

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

    /// Adds a version in passing.
    func add(_ name: String, to versions: VersionStore) throws {
        let source = beside + "/source-" + name
        try writeTree(source, Self.contents[name] ?? [:])
        _ = try versions.add(directory: source, version: name)
    }
}

/// SHA-256 of a text.
func address(of text: String) throws -> ObjectID {
    var hasher = try ObjectHasher()
    return Array(text.utf8).withUnsafeBytes { hasher.hash($0).address }
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
    guard let walk = FileManager.default.enumerator(atPath: root) else { return [] }
    for case let name as String in walk {
        let path = "\(root)/\(name)"
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size < 1 << 20, let bytes = try? Damage.contents(path)
        else { continue }
        found.insert(bytes.withUnsafeBytes { hasher.hash($0).address })
    }
    return found
}
