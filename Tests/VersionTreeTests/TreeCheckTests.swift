import StorageTestSupport

// Every finding about trees, made on purpose, named, and repaired.

@Suite struct TreeCheckTests {
    private let files = ["a": "one", "d/b": "two", "d/run": "#!x", "empty": ""]

    /// What somebody does to the tree of version 1, below its path, or to the directory beside it, and what a check says of it.
    struct Operation: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var kind: Finding.Kind
        var path: String?
        var act: @Sendable (String) throws -> Void

        init(
            _ name: String, _ kind: Finding.Kind, _ path: String?,
            _ act: @escaping @Sendable (String) throws -> Void
        ) {
            (testDescription, self.kind, self.path, self.act) = (name, kind, path, act)
        }

        /// A shell command there.
        init(_ command: String, _ kind: Finding.Kind, _ path: String?) {
            self.init(command, kind, path) {
                expect(shell("cd '\($0)' && (\(command))"), equals: 0)
            }
        }
    }

    static let operations = [
        Operation("chmod 755 d; rm d/b; chmod 555 d", .missingInTree, "d/b"),
        Operation("chmod 755 . d; rm -rf d", .missingInTree, "d"),
        Operation("chmod 755 . d; rm -rf d; echo x > d", .missingInTree, "d"),
        Operation("chmod 755 . d; rm -rf d; ln -s /etc d", .missingInTree, "d"),
        Operation("other bytes", .wrongInTree, "a") {
            chmod($0, 0o755)
            try writeFile($0 + "/a", "One", mode: 0o444)
            chmod($0, 0o555)
        },
        Operation("more bytes", .wrongInTree, "a") {
            chmod($0, 0o755)
            try writeFile($0 + "/a", "longer", mode: 0o444)
        },
        Operation("bytes in an empty file", .wrongInTree, "empty") {
            let file = open($0 + "/empty", O_WRONLY)
            expect(write(file, "x", 1), equals: 1)
            close(file)
        },
        Operation("chmod 755 .; rm -f a; ln -s /etc/passwd a", .wrongInTree, "a"),
        Operation("chmod 755 .; rm -f a; mkfifo -m 444 a", .wrongInTree, "a"),
        Operation("chmod 755 .; rm -f a; mkdir a", .wrongInTree, "a"),
        Operation("chmod 755 .; rm -f a; mkdir -p a/inner; echo > a/inner/x", .wrongInTree, "a"),
        Operation("chmod 755 d; echo > d/extra", .strayInTree, "d/extra"),
        Operation("chmod 755 .; mkdir -p more/x; echo > more/x/y", .strayInTree, "more"),
        Operation("chmod 755 .; ln -s /etc sly", .strayInTree, "sly"),
        Operation("chmod 755 d", .wrongModeInTree, "d"),
        Operation("chmod 755 .", .wrongModeInTree, nil),
        Operation("chmod 644 empty", .wrongModeInTree, "empty"),
        Operation("another file with another mode", .wrongModeInTree, "a") {
            chmod($0, 0o755)
            try writeFile($0 + "/a", "one", mode: 0o644)
        },
        // What it shows is an object of a version: nothing is lost with it.
        Operation("mkdir ../ghost; printf one > ../ghost/x", .strayTree, "versions/ghost"),
        Operation(
            "mkdir -p ../.1.99-dead/d; echo > ../.1.99-dead/d/x; chmod 555 ../.1.99-dead/d",
            .leftover, "versions/.1.99-dead"),
        Operation("printf '' > ../.probe-0-case", .leftover, "versions/.probe-0-case"),
        Operation("printf '' > ../file", .strayTree, "versions/file"),
        Operation("chmod 755 . d; rm -rf ../1", .missingTree, "versions/1"),
        Operation("chmod 755 . d; rm -rf ../1; echo > ../1", .strayTree, "versions/1"),
    ]

    @Test(arguments: operations) func `names it and mends it after`(_ operation: Operation) throws {
        let temporary = try TemporaryStore(adding: "1", files)
        try temporary.versions.activate("1")
        try operation.act(temporary.tree("1"))
        let version = [.strayTree, .leftover].contains(operation.kind) ? nil : "1"
        let found = try temporary.reopened().check().findings
        expect(
            found.contains {
                $0.kind == operation.kind && $0.version == version && $0.path == operation.path
                    && !$0.isRepaired
            }, "\(found)")
        try expect(temporary.reopened().check().findings, equals: found, "looking changes nothing")
        let repaired = try temporary.reopened().check(repairing: true).findings
        expect(repaired.allSatisfy { $0.isRepaired }, "\(repaired)")
        try expect(readTree(temporary.tree("1")), equals: files)
        try expect(temporary.shown(), equals: files)
        try temporary.expectClean()
    }

    @Test func `names no tree that a version is missing and nobody needs`() throws {
        let temporary = try TemporaryStore(adding: "1", files)
        shell("rm -rf \(temporary.tree("1"))")
        try temporary.expectClean()
    }

    @Test func `names a tree of an incomplete version`() throws {
        let temporary = try TemporaryStore()
        try temporary.versions.register(makeManifest("1", files))
        try writeFile(temporary.tree("1") + "/a", "one")
        let found = try temporary.reopened().check().findings
        expect(found.map(\.kind), equals: [.strayTree])
        expect(found.map(\.version), equals: ["1"])
        _ = try temporary.reopened().check(repairing: true)
        try expect(status(temporary.tree("1")) == nil)
        try temporary.expectClean()
    }

    @Test func `makes a version of a tree that shows what no version names, and never more`() throws
    {
        let temporary = try TemporaryStore(adding: "1", files)
        try writeFile(temporary.tree("ghost") + "/x", "x")
        try expect(temporary.reopened().check().findings.map(\.kind), equals: [.missingManifest])
        // A collection does so as well, before it takes for garbage what the tree shows.
        try temporary.reopened().collect()
        let left = try temporary.reopened().check(repairing: true).findings
        expect(left.filter { !$0.isRepaired }.map(\.kind), equals: [.recoveredManifest])
        try expect(
            temporary.reopened().store.read(address(of: "x"), limit: 9), equals: Array("x".utf8))
        expectRefusal(.incompleteVersion) { try temporary.reopened().activate("ghost") }
        // Added again under its name it is a version like any.
        try temporary.add("ghost", ["x": "x", "y": "more"])
        try temporary.reopened().activate("ghost")
        try temporary.expectClean()
    }

    @Test func `makes a manifest again that cannot be read`() throws {
        let temporary = try TemporaryStore(adding: "1", files)
        let before = try temporary.versions.manifest(of: "1").serialized()
        try flipByte(temporary.path + "/manifests/1.json", at: 3)
        let repaired = try temporary.reopened().check(repairing: true).findings
        expect(repaired.map(\.kind) == [.damagedManifest] && repaired.map(\.isRepaired) == [true])
        try expect(temporary.reopened().manifest(of: "1").serialized(), equals: before)
        try temporary.expectClean()
    }

    @Test func `names a manifest that cannot be read, and is clean when it is retired`() throws {
        let temporary = try TemporaryStore(adding: "1", files)
        try temporary.add("2", ["a": "one"])
        try flipByte(temporary.path + "/manifests/1.json", at: 3)
        let found = try temporary.reopened().check().findings
        expect(found.map(\.kind), equals: [.damagedManifest])
        expect(found.map(\.version), equals: ["1"])
        expect(found.map(\.path), equals: ["manifests/1.json"])
        // Without its tree there is nothing to make it from.
        shell("rm -rf \(temporary.tree("1"))")
        let repaired = try temporary.reopened().check(repairing: true).findings
        expect(repaired.map(\.isRepaired), equals: [false])
        try temporary.versions.retire("1")
        try temporary.expectClean()
        try expect(readTree(temporary.tree("2")), equals: ["a": "one"])
    }

    @Test func `takes no damaged manifest of a needed version for a reason to stop`() throws {
        let temporary = try TemporaryStore(adding: "1", files)
        try temporary.versions.activate("1")
        try writeFile(temporary.path + "/manifests/1.json", "")
        shell("rm -rf \(temporary.tree("1"))")
        let found = try temporary.reopened().check(repairing: true).findings
        expect(found.contains { $0.kind == .damagedManifest && !$0.isRepaired })
        // No tree can be built from it, and none is promised.
        expect(!found.contains { $0.kind == .missingTree })
    }

    @Test func `ends beside a tree and a manifest of a name that no version can have`() throws {
        let temporary = try TemporaryStore(adding: "1", files)
        let copies =
            "cp -a versions/1 'versions/1 (old)' && cp manifests/1.json 'manifests/1 (old).json'"
        expect(shell("cd '\(temporary.path)' && \(copies)"), equals: 0)
        for repairing in [false, true] {
            let found = try temporary.reopened().check(repairing: repairing).findings
            expect(found.map(\.path), equals: ["manifests/1 (old).json"])
            expect(found.map(\.isRepaired), equals: [false])
            expect(found[0].message.contains("move it out of the store"), "\(found[0].message)")
            expectRefusal(.index, saying: "or says what to do") {
                try temporary.reopened().collect()
            }
        }
        Damage.remove(temporary.path + "/manifests/1 (old).json")
        _ = try temporary.reopened().check(repairing: true)
        try temporary.expectClean()
    }
}
