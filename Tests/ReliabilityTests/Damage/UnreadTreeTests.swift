import StorageTestSupport

/// Nobody knows what a file contains that cannot be read, for lack of a right or because the disk fails.
///
/// Nothing is made of a tree without it, and no tree goes with it. Who can read it later finds it.
@Suite("What cannot be read in a tree") struct UnreadTreeTests {
    typealias Victim = TamperingTests.Victim

    /// A tree that may show content of which there is no other copy.
    struct Tree: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var version: String
        /// Its name in `versions/`.
        var entry: String
        /// Whether manifest, index and objects are lost; otherwise the version has lost an object for good.
        var isForgotten = true
    }

    static let trees = [
        Tree(testDescription: "of a version that is forgotten", version: "2", entry: "2"),
        Tree(testDescription: "under a name of no version", version: "2", entry: "2 (old)"),
        Tree(testDescription: "under a hidden name", version: "0", entry: ".0.old"),
        Tree(
            testDescription: "of a version that is missing an object", version: "2", entry: "2",
            isForgotten: false),
    ]

    enum Obstacle: String, CaseIterable, Sendable {
        case forbiddenFile, failingFile, forbiddenDirectory, failingDirectory

        var isDirectory: Bool { [.forbiddenDirectory, .failingDirectory].contains(self) }
        var isFailing: Bool { [.failingFile, .failingDirectory].contains(self) }
        /// The system call that cannot be made.
        var call: String {
            isFailing ? (isDirectory ? "getdents64" : "read") : "openat"
        }
    }

    enum Verb: String, CaseIterable, Sendable { case repair, collect, addAgain, addOther }

    /// A store that has content in that tree alone, and the tree.
    private static func lost(_ tree: Tree) throws -> (Victim, entry: String) {
        let victim = try Victim()
        let root = victim.path("versions/\(tree.version)")
        try leaveOnly("only here", in: root)
        try lose(tree, victim)
        let entry = victim.path("versions/\(tree.entry)")
        expect(rename(root, entry), equals: 0)
        return (victim, entry)
    }

    @Test(
        "stays, and is found by who can read it",
        arguments: trees.flatMap { tree in Obstacle.allCases.map { (tree, $0) } }, Verb.allCases)
    func stays(_ way: (tree: Tree, obstacle: Obstacle), _ verb: Verb) throws {
        let (tree, obstacle) = way
        let (victim, entry) = try Self.lost(tree)
        let unread = obstacle.isDirectory ? "/lib" : "/lib/only.js"
        let disk = UnreadDisk(obstacle, inode: try Self.inode(entry + unread))
        let only = try address(of: "only here")

        var refusal: String?
        do { try Self.run(verb, victim, disk) } catch let error as StoreError {
            refusal = error.message
        }
        try expect(contentsBelow(victim.place.store).contains(only), "\(refusal ?? "done")")
        guard tree.isForgotten else { return }
        // What is made of it is whole.
        _ = try victim.place.open().repair { _ in true }
        try expect(contentsBelow(victim.path("objects")).contains(only), "\(refusal ?? "done")")
        _ = try victim.place.open().collect()
        try expect(contentsBelow(victim.path("objects")).contains(only))
    }

    @Test(arguments: trees.prefix(3))
    func `is named by a check, whose repair says that a person is needed`(_ tree: Tree) throws {
        let (victim, entry) = try Self.lost(tree)
        let disk = UnreadDisk(.forbiddenFile, inode: try Self.inode(entry + "/lib/only.js"))
        var plan: RepairPlan?
        let report = try victim.place.open(on: disk).repair {
            plan = $0
            return true
        }
        let finding = try require(report.findings.first { $0.kind == .missingManifest })
        expect(finding.message.contains("cannot be read") && !finding.isRepaired)
        let step = try require(plan?.steps.first { $0.path == "versions/\(tree.entry)" })
        expect(step.operation, equals: .nothing)
    }

    private static func run(_ verb: Verb, _ victim: Victim, _ disk: any FileSystem) throws {
        let versions = try victim.place.open(on: disk)
        switch verb {
        case .repair: _ = try versions.repair { _ in true }
        case .collect: _ = try versions.collect()
        case .addAgain: try victim.place.add("2", to: versions)
        case .addOther:
            let source = victim.place.beside + "/source-4"
            try writeTree(source, ["index.html": "four"])
            _ = try versions.add(directory: source, version: "4")
        }
    }

    /// Puts a file into a tree that nothing else has.
    private static func leaveOnly(_ text: String, in root: String) throws {
        chmod(root, 0o755)
        chmod(root + "/lib", 0o755)
        try Damage.overwriteOrCreate(root + "/lib/only.js", with: Array(text.utf8))
        chmod(root + "/lib/only.js", 0o444)
    }

    private static func lose(_ tree: Tree, _ victim: Victim) throws {
        let own = tree.version == "2" ? "two" : "zero"
        Damage.remove(try victim.object(own))
        guard tree.isForgotten else {
            return Damage.remove(victim.path("versions/\(tree.version)/index.html"))
        }
        Damage.remove(victim.path("manifests/\(tree.version).json"))
        Damage.remove(victim.path("index.sqlite"))
    }

    private static func inode(_ path: String) throws -> UInt64 {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw CocoaError(.fileReadUnknown) }
        return UInt64(status.st_ino)
    }
}

/// A disk on which one file or directory cannot be read.
private struct UnreadDisk: FileSystemWrapper {
    let base: any FileSystem = POSIXFileSystem()
    let obstacle: UnreadTreeTests.Obstacle
    let inode: UInt64

    init(_ obstacle: UnreadTreeTests.Obstacle, inode: UInt64) {
        self.obstacle = obstacle
        self.inode = inode
    }

    func open(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
    ) throws(StoreError) -> Descriptor {
        let file = try base.open(directory, path, access, mode: mode)
        try refuse(file.raw, "openat", String(cString: path))
        return file
    }

    func openBeneath(
        _ directory: Int32, _ path: String, _ access: Access
    ) throws(StoreError) -> Descriptor {
        let file = try base.openBeneath(directory, path, access)
        try refuse(file.raw, "openat", path)
        return file
    }

    func read(
        _ file: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(StoreError) -> Int {
        try refuse(file, "read", "a file")
        return try base.read(file, into: buffer, at: offset)
    }

    func list(
        _ directory: Int32, once: Bool,
        _ body: (UnsafePointer<CChar>, FileStatus.Kind, UInt64) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try refuse(directory, "getdents64", "a directory")
        try base.list(directory, once: once, body)
    }

    private func refuse(_ file: Int32, _ call: String, _ path: String) throws(StoreError) {
        guard call == obstacle.call, try base.status(file).inode == inode else { return }
        throw StoreError(systemCall: call, errno: obstacle.isFailing ? EIO : EACCES, path: path)
    }
}
