import StorageTestSupport

// Every finding about trees, made on purpose, named, and repaired.

@Suite struct TreeCheckTests {
    private let files = ["a": "one", "d/b": "two", "d/run": "#!x", "empty": ""]

    /// Damages a tree, expects what the check must find, and expects a repair to mend it.
    private func expectFinding(
        _ kind: Finding.Kind, at path: String?, version: String? = "1",
        sourceLocation: SourceLocation = #_sourceLocation, _ damage: (TemporaryStore) throws -> Void
    ) throws {
        let temporary = try TemporaryStore(adding: "1", files)
        try temporary.versions.activate("1")
        try damage(temporary)
        let found = try temporary.reopened().check().findings
        #expect(
            found.contains {
                $0.kind == kind && $0.path == path && $0.version == version && !$0.isRepaired
            },
            "\(found)", sourceLocation: sourceLocation)
        let again = try temporary.reopened().check().findings
        #expect(again == found, "looking changes nothing", sourceLocation: sourceLocation)
        let repaired = try temporary.reopened().check(repairing: true).findings
        #expect(
            repaired.allSatisfy { $0.isRepaired }, "\(repaired)", sourceLocation: sourceLocation)
        #expect(try readTree(temporary.tree("1")) == files, sourceLocation: sourceLocation)
        #expect(try temporary.shown() == files, sourceLocation: sourceLocation)
        try temporary.expectClean(sourceLocation: sourceLocation)
    }

    @Test func `names a file that is not there`() throws {
        try expectFinding(.missingInTree, at: "d/b") {
            chmod($0.tree("1") + "/d", 0o755)
            unlink($0.tree("1") + "/d/b")
            chmod($0.tree("1") + "/d", 0o555)
        }
    }

    @Test func `names a directory that is not there, and one that is a file`() throws {
        try expectFinding(.missingInTree, at: "d") { shell("rm -rf \($0.tree("1"))/d") }
        try expectFinding(.missingInTree, at: "d") {
            shell("rm -rf \($0.tree("1"))/d")
            try writeFile($0.tree("1") + "/d", "x")
        }
        try expectFinding(.missingInTree, at: "d") {
            shell("rm -rf \($0.tree("1"))/d")
            symlink("/etc", $0.tree("1") + "/d")
        }
    }

    @Test func `names a file with other bytes`() throws {
        try expectFinding(.wrongInTree, at: "a") {
            chmod($0.tree("1"), 0o755)
            try writeFile($0.tree("1") + "/a", "One", mode: 0o444)
            chmod($0.tree("1"), 0o555)
        }
        try expectFinding(.wrongInTree, at: "a") {
            chmod($0.tree("1"), 0o755)
            try writeFile($0.tree("1") + "/a", "longer", mode: 0o444)
        }
        try expectFinding(.wrongInTree, at: "empty") {
            let file = open($0.tree("1") + "/empty", O_WRONLY)
            expect(write(file, "x", 1), equals: 1)
            close(file)
        }
    }

    @Test(arguments: ["link", "fifo", "directory", "filled directory"])
    func `names something else in place of a file`(_ kind: String) throws {
        try expectFinding(.wrongInTree, at: "a") {
            let path = $0.tree("1") + "/a"
            chmod($0.tree("1"), 0o755)
            unlink(path)
            switch kind {
            case "link": symlink("/etc/passwd", path)
            case "fifo": mkfifo(path, 0o444)
            case "directory": mkdir(path, 0o755)
            default: try writeFile(path + "/inner/x", "x")
            }
        }
    }

    @Test func `names what the manifest does not list`() throws {
        try expectFinding(.strayInTree, at: "d/extra") {
            try writeFile($0.tree("1") + "/d/extra", "x")
        }
        try expectFinding(.strayInTree, at: "more") {
            try writeFile($0.tree("1") + "/more/x/y", "x")
        }
        try expectFinding(.strayInTree, at: "sly") { symlink("/etc", $0.tree("1") + "/sly") }
    }

    @Test func `names wrong modes of directories and of files`() throws {
        try expectFinding(.wrongModeInTree, at: "d") { chmod($0.tree("1") + "/d", 0o755) }
        try expectFinding(.wrongModeInTree, at: nil) { chmod($0.tree("1"), 0o755) }
        try expectFinding(.wrongModeInTree, at: "empty") { chmod($0.tree("1") + "/empty", 0o644) }
        try expectFinding(.wrongModeInTree, at: "a") {
            chmod($0.tree("1"), 0o755)
            try writeFile($0.tree("1") + "/a", "one", mode: 0o644)
        }
    }

    @Test func `names trees of no version, whole and half built`() throws {
        // What it shows is an object of a version: nothing is lost with it.
        try expectFinding(.strayTree, at: "versions/ghost", version: nil) {
            try writeFile($0.tree("ghost") + "/x", "one")
        }
        try expectFinding(.leftover, at: "versions/.1.99-dead", version: nil) {
            try writeFile($0.tree(".1.99-dead") + "/d/x", "x")
            chmod($0.tree(".1.99-dead") + "/d", 0o555)
        }
    }

    @Test(arguments: [".probe-0-case", "file"])
    func `names a file among the trees`(_ name: String) throws {
        let kind: Finding.Kind = name == "file" ? .strayTree : .leftover
        try expectFinding(kind, at: "versions/\(name)", version: nil) {
            try writeFile($0.tree(name), "")
        }
    }

    @Test func `names a tree that a needed version lacks, and no other`() throws {
        try expectFinding(.missingTree, at: "versions/1") { shell("rm -rf \($0.tree("1"))") }
        let temporary = try TemporaryStore(adding: "1", files)
        shell("rm -rf \(temporary.tree("1"))")
        try temporary.expectClean()
    }

    @Test func `names a file in place of a needed tree`() throws {
        let temporary = try TemporaryStore(adding: "1", files)
        try temporary.versions.activate("1")
        shell("rm -rf \(temporary.tree("1"))")
        try writeFile(temporary.tree("1"), "not a tree")
        try expect(!temporary.reopened().check().findings.isEmpty)
        _ = try temporary.reopened().check(repairing: true)
        try expect(readTree(temporary.tree("1")), equals: files)
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
}
