import StorageTestSupport

@testable import VersionTree

// Trees: byte-identical, read-only, closed, and never half there.

@Suite struct TreeTests {
    private func directories(_ root: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: root).filter {
            try status(root + "/" + $0)?.kind == .directory
        }
    }

    @Test func `shows the source, read-only`() throws {
        let temporary = try TemporaryStore()
        try temporary.add(
            "1", ["a": "1", "d/e/f/g": "2", "d/e.txt": "3", "d.txt": "4", "run": "#!", "0": ""])
        let tree = temporary.tree("1")
        try expect(contents(tree), equals: contents(temporary.directory.appending("source-1")))
        for directory in try directories(tree) + [""] {
            try expect(status(tree + "/" + directory + "/.")?.mode, equals: 0o555, "\(directory)")
        }
        for (path, seen) in try snapshot(tree) {
            expect(seen.mode, equals: (path == Array("run".utf8) ? 0o555 : 0o444))
        }
    }

    @Test func `plans directories from the top down, with the files of each`() throws {
        let plan = TreePlan(
            try makeManifest(
                "1", ["a": "1", "b/c": "2", "b/d/e/f": "3", "b!": "4", "b/z": "5", "c/d": "6"]))
        expect(
            plan.directories.indices.map { plan.path(of: $0) },
            equals: ["", "b", "b/d", "b/d/e", "c"])
        expect(plan.directories.map(\.files.count), equals: [2, 2, 0, 1, 1])
        expect(plan.order.sorted(), equals: [0, 1, 2, 3, 4, 5])
    }

    @Test func `materializes again after the tree was deleted`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "1", "d/b": "2", "run": "#!"])
        let before = try snapshot(temporary.tree("1"))
        shell("rm -rf \(temporary.tree("1"))")
        try expect(temporary.versions.versions()[0].state, equals: .complete)
        try temporary.versions.materialize("1")
        let after = try snapshot(temporary.tree("1"))
        expect(after.mapValues(\.inode), equals: before.mapValues(\.inode))
        try expect(temporary.versions.versions()[0].state, equals: .materialized)
        try temporary.versions.materialize("1")
        try expect(snapshot(temporary.tree("1")), equals: after)
        try temporary.expectClean()
    }

    @Test func `materializes what another process has materialized in between`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "1", "d/b": "2"])
        shell("rm -rf \(temporary.tree("1"))")
        let versions = try (0..<4).map { _ in try temporary.reopened() }
        try together(
            versions.map { versions in
                { try versions.materialize("1") }
            })
        try expect(readTree(temporary.tree("1")), equals: ["a": "1", "d/b": "2"])
        try temporary.expectClean()
    }

    @Test func `says so when there is no such version`() throws {
        let temporary = try TemporaryStore()
        expectRefusal(.noVersion) { try temporary.versions.materialize("1") }
        try expect(temporary.versions.isMaterialized("1"), equals: false)
    }

    // A file in place of a tree is no tree: nothing may pass for one.
    @Test func `never takes a file in place of a tree for one`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "1"])
        shell("rm -rf \(temporary.tree("1"))")
        try writeFile(temporary.tree("1"), "not a tree")
        do {
            try temporary.versions.activate("1")
            try expect(temporary.shown(), equals: ["a": "1"])
        } catch {
            try expect(temporary.versions.lifecycle().current == nil)
        }
    }

    // ext4 takes 65,000 links to one inode.
    @Test(
        .tags(.slow), .timeLimit(.minutes(60)), .enabled(if: TestShare.isWhole, "for make test-all")
    )
    func `shows seventy thousand identical files, and collects them to nothing`() throws {
        let temporary = try TemporaryStore()
        let source = temporary.directory.appending("source")
        for directory in 0..<70 { try writeFile(source + "/d\(directory)/f0", "same") }
        for directory in 0..<70 {
            for index in 1..<1000 { try writeFile(source + "/d\(directory)/f\(index)", "same") }
        }
        let report = try temporary.versions.add(directory: source, version: "1")
        expect(report.files, equals: 70_000)
        expect(report.newObjects, equals: 1)
        let tree = try snapshot(temporary.tree("1"))
        expect(tree.count, equals: 70_000)
        expect(tree.values.allSatisfy { $0.content == Array("same".utf8) && $0.mode == 0o444 })
        let inodes = Set(tree.values.map(\.inode)).count
        expect(inodes <= 4)
        // A file of ext4 takes 65,000 links: here the second inode had to come in.
        if shell("test \"$(stat -f -c %T '\(temporary.path)')\" = ext2/ext3") == 0 {
            expect(inodes >= 2)
        }
        try temporary.expectClean(deep: false)
        // Every other version needs a link too.
        try temporary.add("2", ["x": "same"])
        try temporary.versions.retire("1")
        try temporary.versions.retire("2")
        try expect(temporary.versions.store.collect().objectCount, equals: 1)
        try expect(snapshot(temporary.path + "/objects").isEmpty)
        try expect(snapshot(temporary.path + "/versions").isEmpty)
        try temporary.expectClean()
    }

    /// A file system on which a file has at most ten names (EMLINK of link(2)).
    private final class FewLinks: FileSystemWrapper {
        let base: any FileSystem = POSIXFileSystem()
        private let turn = Shared(())

        func link(
            _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
            to target: Int32, _ targetPath: UnsafePointer<CChar>
        ) throws(StoreError) {
            let outcome: Result<Void, StoreError> = turn.with { _ in
                do throws(StoreError) {
                    if let status = try base.status(source, sourcePath), status.linkCount >= 10 {
                        throw StoreError(
                            systemCall: "link", errno: EMLINK, path: String(cString: targetPath))
                    }
                    return .success(try base.link(source, sourcePath, to: target, targetPath))
                } catch { return .failure(error) }
            }
            try outcome.get()
        }
    }

    @Test func `shows more identical files than a file may have names, and collects them`() throws {
        let temporary = try TemporaryStore()
        let files = Dictionary(
            uniqueKeysWithValues: (0..<100).map { ("d\($0 % 7)/f\($0)", "same") })
        let source = temporary.directory.appending("source")
        try writeTree(source, files)
        let versions = try temporary.opened(on: FewLinks())
        try expect(versions.add(directory: source, version: "1").newObjects, equals: 1)
        let tree = try snapshot(temporary.tree("1"))
        try expect(readTree(temporary.tree("1")), equals: files)
        let names = Dictionary(grouping: tree.values, by: \.inode).values.map(\.count)
        expect(names.count >= 10 && names.allSatisfy { $0 <= 10 }, "\(names)")
        // Where a file has so few names, a real file system would have given more.
        try expect(temporary.versions.check().findings.allSatisfy { $0.kind == .copiedInTree })
        try versions.retire("1")
        try expect(versions.store.collect().objectCount, equals: 1)
        try expect(snapshot(temporary.path + "/objects").isEmpty)
        try temporary.expectClean()
    }

    // Design, decision 2: an import of 10,000 files must not cost 10,000 fsyncs.
    @Test(arguments: [0o644, 0o755] as [UInt32])
    func `makes a hundred new files durable in few steps`(_ mode: UInt32) throws {
        let temporary = try TemporaryStore(isDurable: true)
        let source = temporary.directory.appending("source")
        for index in 0..<100 {
            try writeFile(source + "/f\(index)", "content \(index)", mode: mode)
        }
        let syncs = Shared(0)
        let versions = try VersionStore.open(
            temporary.path, options: StoreOptions(reservedByteCount: 1 << 20),
            fileSystem: InterposedFileSystem { verb, _ in
                if verb.hasPrefix("sync") { syncs.with { $0 += 1 } }
            })
        _ = try versions.add(directory: source, version: "1")
        let count = syncs.with { $0 }
        expect(count < 50)
    }
}
