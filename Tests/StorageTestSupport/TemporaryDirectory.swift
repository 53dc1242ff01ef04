// What stores are made and looked at with: a suite of stores imports this alone.
@_exported public import CASStore
@_exported public import Expectations
@_exported public import VersionTree

/// A fresh directory that goes with its owner.
///
/// On a real file system by default: links, modes and syncs mean something there.
public final class TemporaryDirectory: Sendable {
    /// The directory's path.
    public let path: String

    /// Makes a directory under `$CASTREE_TEST_TMP`, or the system's temporary directory.
    public init() { path = Self.make(in: Self.disk) }

    private static let environment = ProcessInfo.processInfo.environment
    private static let disk = environment["CASTREE_TEST_TMP"] ?? environment["TMPDIR"] ?? "/tmp"
    /// `scripts/test` names a directory of its own, which it removes when the tests have ended.
    private static let memory = environment["CASTREE_TEST_MEMORY"] ?? "/dev/shm"
    /// Containers often have 64 MiB of it.
    private static let hasSpaceInMemory: Bool = {
        // Where it is not there, there is no space.
        let about = try? FileManager.default.attributesOfFileSystem(forPath: memory)
        let free = (about?[.systemFreeSize] as? NSNumber)?.int64Value ?? 0
        return free >= 1 << 30 && FileManager.default.isWritableFile(atPath: memory)
    }()

    /// Makes a directory in memory where the system has a place for that: for tests that make thousands of
    /// small stores and whose syncs are modelled, not made.
    package init(inMemory: Bool) {
        path = Self.make(in: inMemory && Self.hasSpaceInMemory ? Self.memory : Self.disk)
    }

    private static func make(in base: String) -> String {
        let path = base + "/castree-test-" + UUID().uuidString.prefix(13)
        // A test that cannot use it says so.
        try? Damage.makeDirectory(path)
        return path
    }

    deinit { Self.remove(path) }

    /// Removes a file, or a directory with all that is in it.
    ///
    /// Trees are read-only; whoever owns them makes them writable to remove them. Not by a child process: between fork
    /// and exec it would hold the locks of this one.
    private static func remove(_ path: String) {
        guard unlink(path) != 0, chmod(path, 0o755) == 0 else { return }
        // What cannot be read is left to the system.
        let names = try? FileManager.default.contentsOfDirectory(atPath: path)
        for name in names ?? [] { remove(path + "/" + name) }
        rmdir(path)
    }

    /// A path inside.
    public func appending(_ name: String) -> String { path + "/" + name }
}

/// Writes a tree of files: path to content.
///
/// A content that begins with `#!` is executable.
public func writeTree(_ root: String, _ files: [String: String]) throws {
    for (path, content) in files {
        let full = root + "/" + path
        try Damage.makeDirectory((full as NSString).deletingLastPathComponent)
        try? FileManager.default.removeItem(atPath: full)
        try Data(content.utf8).write(to: URL(filePath: full))
        if content.hasPrefix("#!") {
            try Damage.setMode(full, 0o755)
        }
    }
}

/// Reads a tree of files back: path to content.
public func readTree(_ root: String) throws -> [String: String] {
    // A tree that is not there has no files, and is no tree.
    _ = try FileManager.default.contentsOfDirectory(atPath: root)
    return try Damage.files(below: root).mapValues { String(decoding: $0, as: UTF8.self) }
}

/// A store in a fresh directory.
public struct TemporaryStore: Sendable {
    /// The directory that holds the store and whatever a test puts beside it.
    public let directory: TemporaryDirectory
    /// The store.
    public let versions: VersionStore

    /// Makes a store; durable unless a test is about something else and makes many.
    ///
    /// - Parameter onDisk: whether a test is about what only a real file system has. `make test` makes the others in
    ///   memory, `make test-all` on the disk.
    public init(
        isDurable: Bool = false, onDisk: Bool = false,
        notice: @escaping @Sendable (String) -> Void = { _ in }
    ) throws {
        directory =
            isDurable || onDisk || TestShare.isWhole
            ? TemporaryDirectory() : TemporaryDirectory(inMemory: true)
        versions = try VersionStore.create(
            at: directory.appending("store"),
            options: StoreOptions(isDurable: isDurable, reservedByteCount: 1 << 20, notice: notice)
        ).versions
    }

    /// Makes a store with a version.
    public init(adding version: String, _ files: [String: String]) throws {
        try self.init()
        try add(version, files)
    }

    /// The store's path.
    public var path: String { directory.appending("store") }

    /// Opens the store again, as another process would.
    public func reopened(
        notice: @escaping @Sendable (String) -> Void = { _ in }
    ) throws -> VersionStore {
        try VersionStore.open(
            path,
            options: StoreOptions(isDurable: false, reservedByteCount: 1 << 20, notice: notice))
    }

    /// Adds a tree of files as a version.
    @discardableResult
    public func add(_ name: String, _ files: [String: String]) throws -> AddReport {
        let source = directory.appending("source-\(name)")
        try writeTree(source, files)
        return try versions.add(directory: source, version: name)
    }

    /// Returns when the lease of a writer that was killed is seen as dead.
    ///
    /// A child that another test has just forked holds the writer's lock, too, until it execs
    /// (flock(2)).
    package func waitForDeadLease() throws {
        for _ in 0..<1_000_000 {
            if try !versions.store.leases().dead.isEmpty { return }
            sched_yield()
        }
    }
}
