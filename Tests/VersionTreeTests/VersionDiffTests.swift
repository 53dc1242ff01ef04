import StorageTestSupport

// What changed between two versions.

@Suite struct VersionDiffTests {
    private func diff(_ old: [String: String], _ new: [String: String]) throws -> VersionDiff {
        VersionDiff(from: try makeManifest("1", old), to: try makeManifest("2", new))
    }

    @Test func `names what is added, removed and changed, in order`() throws {
        let found = try diff(
            ["same": "s", "gone": "g", "z": "old", "a/b": "1"],
            ["same": "s", "new": "n", "z": "new!", "a/b": "2"])
        expect(found.added, equals: ["new"])
        expect(found.removed, equals: ["gone"])
        expect(found.changed, equals: ["a/b", "z"])
        expect(found.moved.isEmpty)
        expect(found.newBytes, equals: 1 + 4 + 1)
    }

    @Test func `finds nothing between equals, and everything against nothing`() throws {
        let files = ["a": "1", "b/c": "22"]
        try expect(
            diff(files, files),
            equals: VersionDiff(from: makeManifest("1", [:]), to: makeManifest("2", [:])))
        try expect(diff([:], files).added, equals: ["a", "b/c"])
        try expect(diff([:], files).newBytes, equals: 3)
        try expect(diff(files, [:]).removed, equals: ["a", "b/c"])
        try expect(diff(files, [:]).newBytes, equals: 0)
    }

    @Test func `sees a renamed directory as moves of no bytes`() throws {
        let found = try diff(
            ["old/a": "1", "old/b": "2", "k": "k"], ["new/a": "1", "new/b": "2", "k": "k"])
        expect(found.moved.map(\.from), equals: ["old/a", "old/b"])
        expect(found.moved.map(\.to), equals: ["new/a", "new/b"])
        expect(found.added.isEmpty && found.removed.isEmpty && found.changed.isEmpty)
        expect(found.newBytes, equals: 0)
    }

    @Test func `sees a swap as two changes of no bytes`() throws {
        let found = try diff(["a": "1", "b": "2"], ["a": "2", "b": "1"])
        expect(found.changed, equals: ["a", "b"])
        expect(found.moved.isEmpty)
        expect(found.newBytes, equals: 0)
    }

    @Test func `sees a copy as added, and of three copies one as moved`() throws {
        try expect(diff(["a": "1"], ["a": "1", "b": "1"]).added, equals: ["b"])
        let found = try diff(["a": "1"], ["b": "1", "c": "1", "d": "1"])
        expect(found.moved.map(\.to), equals: ["b"])
        expect(found.added, equals: ["c", "d"])
        expect(found.removed.isEmpty)
    }

    @Test func `holds empty files alike by chance, not moved`() throws {
        let found = try diff(["a": ""], ["b": ""])
        expect(found.added, equals: ["b"])
        expect(found.removed, equals: ["a"])
        expect(found.moved.isEmpty)
    }

    @Test func `counts new content once, and sees an executable bit as a change`() throws {
        try expect(diff(["a": "1"], ["a": "1", "b": "new", "c": "new"]).newBytes, equals: 3)
        func one(_ isExecutable: Bool) throws -> Manifest {
            try Manifest(
                version: VersionName("1"), ordinal: 1, createdAt: 1,
                entries: [
                    .init(
                        path: TreePath("a"), address: address(of: "x"), byteCount: 1,
                        isExecutable: isExecutable)
                ])
        }
        try expect(VersionDiff(from: one(false), to: one(true)).changed, equals: ["a"])
    }

    @Test func `compares versions of a store by name`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "1"])
        try temporary.add("2", ["b": "1"])
        try expect(temporary.versions.diff(from: "1", to: "2").moved.map(\.to), equals: ["b"])
        expectRefusal(.noVersion) { try temporary.versions.diff(from: "1", to: "3") }
        expectRefusal(.noVersion) { try temporary.versions.diff(from: "0", to: "2") }
    }

    @Test func `keeps canonical twins apart`() throws {
        let composed = try Manifest(
            version: VersionName("1"), ordinal: 1, createdAt: 1,
            entries: [.init(path: TreePath("\u{e9}"), address: address(of: "1"), byteCount: 1)])
        let decomposed = try Manifest(
            version: VersionName("2"), ordinal: 1, createdAt: 1,
            entries: [.init(path: TreePath("e\u{301}"), address: address(of: "1"), byteCount: 1)])
        expect(VersionDiff(from: composed, to: decomposed).moved.count, equals: 1)
    }
}
