import StorageTestSupport

// Importing a directory: what is stored, what is shared, and what a second call does.

@Suite struct ImportTests {
    private let temporary: TemporaryStore

    init() throws { temporary = try TemporaryStore() }

    @Test func `stores one content once, whatever its names and versions`() throws {
        let first = try temporary.add("1", ["a": "same", "b/c": "same", "d": "other"])
        expect(first.files, equals: 3)
        expect(first.newObjects, equals: 2)
        expect(first.newBytes, equals: 9)
        let second = try temporary.add("2", ["e/f/g": "same"])
        expect(second.newObjects, equals: 0)
        expect(second.newBytes, equals: 0)
        let inodes = try Set(
            [
                temporary.tree("1") + "/a", temporary.tree("1") + "/b/c",
                temporary.tree("2") + "/e/f/g",
                temporary.objectPath(address(of: "same")),
            ].map { try require(try status($0)).inode })
        expect(inodes.count, equals: 1)
        try expect(status(temporary.objectPath(address(of: "same")))?.linkCount, equals: 4)
        try temporary.expectClean()
    }

    @Test func `gives both right when two files swap contents`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "one", "b": "two"])
        try expect(temporary.add("2", ["a": "two", "b": "one"]).newObjects, equals: 0)
        try expect(readTree(temporary.tree("1")), equals: ["a": "one", "b": "two"])
        try expect(readTree(temporary.tree("2")), equals: ["a": "two", "b": "one"])
        try temporary.expectClean()
    }

    @Test func `keeps the executable bit apart from the content`() throws {
        let source = temporary.directory.appending("source")
        try writeFile(source + "/x.sh", "#!/bin/sh\n", mode: 0o755)
        try writeFile(source + "/same.txt", "#!/bin/sh\n", mode: 0o644)
        try writeFile(source + "/group.sh", "#!/bin/sh\n", mode: 0o654)
        try writeFile(source + "/odd", "#!/bin/sh\n", mode: 0o6755)
        try expect(temporary.versions.add(directory: source, version: "1").newObjects, equals: 1)
        let tree = try snapshot(temporary.tree("1"))
        let script = try require(tree[Array("x.sh".utf8)])
        let text = try require(tree[Array("same.txt".utf8)])
        expect(script.mode, equals: 0o555)
        expect(text.mode, equals: 0o444)
        expect(script.inode != text.inode)
        expect(tree[Array("group.sh".utf8)]?.mode, equals: 0o444)
        expect(tree[Array("odd".utf8)]?.mode, equals: 0o555)
        expect(tree[Array("odd".utf8)]?.inode, equals: script.inode)
        try temporary.expectClean()
    }

    @Test func `makes empty files of their own`() throws {
        let source = temporary.directory.appending("source")
        for index in 0..<5 {
            try writeFile(source + "/e\(index)", "", mode: index == 4 ? 0o755 : 0o644)
        }
        try expect(temporary.versions.add(directory: source, version: "1").bytes, equals: 0)
        let tree = try snapshot(temporary.tree("1"))
        expect(Set(tree.values.map(\.inode)).count, equals: 5)
        expect(tree.values.allSatisfy { $0.links == 1 && $0.content.isEmpty })
        expect(tree[Array("e4".utf8)]?.mode, equals: 0o555)
        expect(tree[Array("e0".utf8)]?.mode, equals: 0o444)
        try temporary.expectClean()
    }

    @Test func `adds an empty directory as an empty version`() throws {
        mkdir(temporary.directory.appending("source"), 0o755)
        let report = try temporary.versions.add(
            directory: temporary.directory.appending("source"), version: "1")
        expect(report.files, equals: 0)
        try expect(temporary.versions.isMaterialized("1"))
        try temporary.versions.activate("1")
        try temporary.expectClean()
    }

    @Test func `changes nothing when the same content is added again`() throws {
        let files = ["a": "one", "d/b": "two", "e": "", "x": "#!x"]
        try temporary.add("1", files)
        let before = try snapshot(temporary.path + "/manifests")
        let tree = try snapshot(temporary.tree("1"))
        let report = try temporary.add("1", files)
        expect(report.files, equals: 4)
        expect(report.newObjects, equals: 0)
        expect(report.newBytes, equals: 0)
        try expect(snapshot(temporary.path + "/manifests"), equals: before)
        try expect(snapshot(temporary.tree("1")), equals: tree)
        try expect(temporary.versions.versions().count, equals: 1)
        try temporary.expectClean()
    }

    @Test func `refuses the name for other content and leaves nothing of it`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "one"])
        let objects = try snapshot(temporary.path + "/objects")
        expectRefusal(.versionExists, saying: "1") {
            try temporary.add("1", ["a": "one", "b": "two"])
        }
        try expect(snapshot(temporary.path + "/objects"), equals: objects)
        try expect(snapshot(temporary.path + "/staging").isEmpty)
        try expect(readTree(temporary.tree("1")), equals: ["a": "one"])
        try temporary.expectClean()
    }

    @Test func `refuses the name for the same bytes with another executable bit`() throws {
        let source = temporary.directory.appending("source-1")
        try temporary.add("1", ["a": "one"])
        chmod(source + "/a", 0o755)
        expectRefusal(.versionExists) {
            try temporary.versions.add(directory: source, version: "1")
        }
    }

    @Test func `refuses a name that differs from another in case only`() throws {
        let temporary = try TemporaryStore(adding: "Beta", ["a": "one"])
        expectRefusal(.versionExists) { try temporary.add("beta", ["a": "one"]) }
        expectRefusal(.versionExists) { try temporary.add("BETA", ["a": "two"]) }
        try expect(temporary.versions.versions().map(\.version), equals: ["Beta"])
        try temporary.expectClean()
    }

    @Test func `brings back a tree, a file of a tree and an object that were lost`() throws {
        let files = ["a": "one", "d/b": "two"]
        try temporary.add("1", files)
        shell("rm -rf \(temporary.tree("1"))")
        try temporary.add("1", files)
        try expect(readTree(temporary.tree("1")), equals: files)
        try temporary.expectClean()
        unlink(try temporary.objectPath(address(of: "two")))
        try temporary.add("1", files)
        try expect(status(temporary.objectPath(address(of: "two"))) != nil)
    }

    @Test func `brings back a file that a tree has lost`() throws {
        let files = ["a": "one", "d/b": "two"]
        try temporary.add("1", files)
        temporary.unlock(temporary.tree("1") + "/d")
        unlink(temporary.tree("1") + "/d/b")
        try temporary.add("1", files)
        try expect(readTree(temporary.tree("1")), equals: files)
    }

    @Test func `brings back a manifest that was damaged`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "one"])
        try writeFile(temporary.path + "/manifests/1.json", "{\"castree\":1")
        expectRefusal(.badManifest) { try temporary.versions.manifest(of: "1") }
        try temporary.add("1", ["a": "one"])
        try expect(temporary.versions.manifest(of: "1").count, equals: 1)
        try temporary.expectClean()
    }

    @Test func `counts its progress up to all that must be read`() throws {
        let source = temporary.directory.appending("source")
        for index in 0..<100 { try writeFile(source + "/f\(index)", "content \(index)") }
        let seen = Shared<[AddProgress]>([])
        var options = AddOptions()
        options.progress = { progress in seen.with { $0.append(progress) } }
        let report = try temporary.versions.add(directory: source, version: "1", options: options)
        let all = seen.with { $0 }
        expect(all.allSatisfy { $0.filesTotal == 100 && $0.bytesTotal == report.bytes })
        expect(all.map(\.files).max(), equals: 100)
        expect(all.map(\.bytes).max(), equals: report.bytes)
    }

    @Test func `keeps odd but legal names byte for byte`() throws {
        let source = temporary.directory.appending("source")
        let names = [
            "a\nb", "a\rb", "a\tb", "\u{1b}[31m", "\u{7f}", "-rf", "--", "trail ", "trail.",
            " lead",
            "CON", "aux.txt", ".git/config", "%2e%2e%2f", "\u{202e}gnp.exe", "zero\u{200b}width",
            "objects/ab/cdef", "current", "index.sqlite", "lifecycle.json", "...", "..a", "a..",
            "quote\"'`$", "*?[", "\u{301}mark", "d/\u{301}mark", "d/\u{1f3fd}", "FORMAT", "~", "#",
            String(repeating: "\u{20ac}", count: 85), String(repeating: "n", count: 255),
        ]
        for name in names { try writeFile(source + "/" + name, "content of \(name)") }
        var options = AddOptions()
        options.excluded = ["!.git"]
        let report = try temporary.versions.add(directory: source, version: "1", options: options)
        expect(report.files, equals: names.count)
        expect(report.collisions, equals: [])
        try expect(contents(temporary.tree("1")), equals: contents(source))
        let listed = Set(
            try temporary.versions.manifest(of: "1").entries.map { Array($0.path.description.utf8) }
        )
        expect(listed, equals: Set(names.map { Array($0.utf8) }))
        shell("rm -f \(temporary.path)/index.sqlite*")
        try expect(temporary.reopened().versions().map(\.state), equals: [.materialized])
        try temporary.versions.retire("1")
        try expect(snapshot(temporary.path + "/versions").isEmpty)
    }

    @Test
    func `checks a tree clean whose names begin with combining characters`() throws {
        let source = temporary.directory.appending("source")
        for name in ["d/\u{301}x", "\u{301}d/\u{301}e/f", "d/\u{fe0f}/y"] {
            try writeFile(source + "/" + name, "content of \(name)")
        }
        _ = try temporary.versions.add(directory: source, version: "1")
        try temporary.expectClean()
    }
}
