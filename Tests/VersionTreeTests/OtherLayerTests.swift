import StorageTestSupport

@Suite("Directories that cannot be renamed") struct OtherLayerTests {
    private static let changes: Set<FaultyFileSystem.Verb> = [
        .link, .makeDirectory, .rename, .renameNew, .remove,
    ]

    /// A store on a disk whose directories of before cannot be renamed, as those of a lower layer of overlayfs; and one
    /// of whose entries cannot be removed.
    /// - Parameter life: how many changes succeed before all fail: the process is as good as dead.
    private func opened(
        _ store: TemporaryStore, stuck: String? = nil, life: Int = .max
    ) throws -> VersionStore {
        @Sendable func directory(_ path: String) -> UInt64? {
            // What is not there is no directory.
            guard let status = try? status(path), status.kind == .directory else { return nil }
            return status.inode
        }
        let entries = try FileManager.default.subpathsOfDirectory(atPath: store.path)
        let below = Shared(Set(entries.compactMap { directory(store.path + "/" + $0) }))
        let (left, removed) = (Shared(life), Shared<UInt64?>(nil))
        let disk = FaultyFileSystem { operation in
            guard Self.changes.contains(operation.verb) else { return nil }
            let isAlive = left.with { left in
                left -= 1
                return left >= 0
            }
            if !isAlive || operation.verb == .remove && operation.name == stuck {
                return operation.error(EIO)
            }
            guard [.rename, .renameNew].contains(operation.verb), let source = operation.source,
                let inode = directory(source), below.with({ $0.contains(inode) })
            else { return nil }
            return operation.error(EXDEV)
        }
        disk.onEach { timing, operation in
            guard operation.verb == .remove else { return }
            if timing == .before { return removed.with { $0 = directory(operation.path) } }
            // Another directory may get the number.
            if let inode = removed.with({ $0 }) { below.with { _ = $0.remove(inode) } }
        }
        return try store.opened(on: disk)
    }

    private func prepared() throws -> TemporaryStore {
        let store = try TemporaryStore()
        try store.add("1", ["a/b/one": "one", "same": "same", "first": "first"])
        try store.add("2", ["a/b/two": "two", "same": "same"])
        try store.add("3", ["a/b/three": "three", "same": "same"])
        try store.versions.activate("3")
        return store
    }

    @Test func `a version goes entry by entry`() throws {
        let store = try prepared()
        let layered = try opened(store)
        try layered.retire("1")
        try expect(layered.versions().map(\.version), equals: ["3", "2"])
        try layered.collect()
        try expect(store.reopened().check().findings, equals: [])
        let names = try FileManager.default.contentsOfDirectory(atPath: store.path + "/versions")
        expect(names.sorted(), equals: ["2", "3"])
    }

    @Test func `a tree is built again in its place`() throws {
        let store = try prepared()
        let tree = store.path + "/versions/2/a/b"
        expect(chmod(tree, 0o755), equals: 0)
        try FileManager.default.removeItem(atPath: tree + "/two")
        _ = try opened(store).repair { _ in true }
        try expect(store.reopened().check().findings, equals: [])
        try expect(
            readTree(store.path + "/versions/2"), equals: ["a/b/two": "two", "same": "same"])
    }

    @Test
    func
        `a tree that is built again stands in its place whole, the old or the new, whichever rename fails`()
        throws
    {
        for number in [EIO, EXDEV, EACCES] {
            for position in 1...4 {
                let store = try prepared()
                let tree = store.path + "/versions/2"
                expect(chmod(tree + "/a/b", 0o755), equals: 0)
                try FileManager.default.removeItem(atPath: tree + "/a/b/two")
                let (disk, versions) = try store.openedOnFaultyDisk()
                disk.arm(.fail(number, at: position, of: [.rename], path: "/versions"))
                // Whether it fails depends on which rename it is; what stands there does not.
                let isRefused = (try? versions.repair { _ in true }) == nil
                let found = try readTree(tree)
                let whole = ["a/b/two": "two", "same": "same"]
                expect(
                    found == whole || isRefused && found == ["same": "same"],
                    "errno \(number) at rename \(position): \(found), refused: \(isRefused)")
                _ = try store.reopened().repair { _ in true }
                try expect(store.reopened().check().findings, equals: [])
                try expect(readTree(tree), equals: whole)
            }
        }
    }

    @Test(
        "nothing of a tree is lost that cannot be renamed to what it must be called",
        arguments: ["2 (old)", "2\u{ff}", ".3.old"], [true, false])
    func renamed(_ name: String, _ isRepair: Bool) throws {
        let store = try prepared()
        let version = name == ".3.old" ? "3" : "2"
        // No text, if its letters are Latin-1.
        let entry = name.unicodeScalars.map { CChar(truncatingIfNeeded: $0.value) } + [0]
        let trees = store.path + "/versions/"
        expect(rename(trees + version, trees.utf8CString.dropLast() + entry), equals: 0)
        try writeFile(trees + "stray/x/y", "stray")
        let inner =
            (trees + "stray/").utf8CString.dropLast() + [CChar(truncatingIfNeeded: 0xff), 0]
        expect(mkdir(Array(inner), 0o755), equals: 0)
        try FileManager.default.removeItem(atPath: store.path + "/manifests/\(version).json")
        try FileManager.default.removeItem(atPath: store.path + "/index.sqlite")
        let layered = try opened(store)
        if isRepair { _ = try layered.repair { _ in true } } else { try layered.collect() }
        let after = try store.reopened()
        try after.collect()
        for content in version == "3" ? ["three", "same"] : ["two", "same"] {
            try expect(after.store.contains(address(of: content)), "\(content)")
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: store.path + "/versions")
        expect(!names.contains { $0.contains("old") && !$0.hasPrefix("stray") }, "\(names)")
    }

    @Test("nor is anything lost wherever a collection is killed that makes it again of links")
    func killed() throws {
        var life = 0
        var isDone = false
        while !isDone {
            let store = try prepared()
            let trees = store.path + "/versions/"
            try FileManager.default.moveItem(atPath: trees + "2", toPath: trees + "2 (old)")
            try FileManager.default.removeItem(atPath: store.path + "/manifests/2.json")
            try FileManager.default.removeItem(atPath: store.path + "/index.sqlite")
            isDone = (try? opened(store, life: life).collect()) != nil
            try opened(store).collect()
            _ = try opened(store).repair { _ in true }
            try store.reopened().collect()
            for content in ["two", "same"] {
                try expect(
                    store.reopened().store.contains(address(of: content)), "\(life): \(content)")
            }
            life += 1
        }
        expect(life > 20, "\(life)")
    }

    @Test func `nothing is collected while a tree that no version names cannot get a name`() throws
    {
        let store = try prepared()
        let trees = store.path + "/versions/"
        try FileManager.default.moveItem(atPath: trees + "2", toPath: trees + "2 (old)")
        try FileManager.default.removeItem(atPath: store.path + "/manifests/2.json")
        try FileManager.default.removeItem(atPath: store.path + "/index.sqlite")
        let (disk, versions) = try store.openedOnFaultyDisk()
        disk.arm(.fail(EBUSY, at: 1, of: [.renameNew], path: "/versions"))
        expectRefusal(.index, saying: "versions/2 (old)") { try versions.collect() }
        try store.reopened().collect()
        try expect(store.reopened().store.contains(address(of: "two")))
    }

    @Test func `a stray tree is taken away`() throws {
        let store = try prepared()
        try writeTree(store.path + "/versions/stray", ["x/y": "z"])
        _ = try opened(store).repair { _ in true }
        expect(!FileManager.default.fileExists(atPath: store.path + "/versions/stray"))
    }

    @Test func `what stands in the place of an object goes to quarantine with all that it holds`()
        throws
    {
        let store = try prepared()
        let text = try address(of: "first").description
        let path = try store.objectPath(of: "first")
        try FileManager.default.removeItem(atPath: path)
        try writeTree(path, ["d/e": "f", "g": "h"])
        _ = try opened(store).repair { _ in true }
        try expect(readTree(store.path + "/quarantine/\(text)"), equals: ["d/e": "f", "g": "h"])
    }

    @Test func `one version that cannot go does not keep the others`() throws {
        let store = try prepared()
        try store.add("4", ["four": "four"])
        try store.versions.activate("4")
        let layered = try opened(store, stuck: "one")
        var policy = RetentionPolicy()
        policy.newestCount = 0
        let outcome = try layered.carryOut(layered.planRetention(policy))
        expect(outcome.retired, equals: ["2", "3"])
        expect(outcome.stuck.map(\.version), equals: ["1"], "\(outcome.stuck.map(\.error.message))")
        expect(outcome.stuck.first?.error.errno, equals: EIO)
        let error = expectRefusal(.io) { try layered.retire(layered.planRetention(policy)) }
        expect(error?.errno, equals: EIO)
        // It is a version still, and goes when it can.
        try store.reopened().retire("1")
        try expect(store.reopened().check().findings, equals: [])
    }
}
