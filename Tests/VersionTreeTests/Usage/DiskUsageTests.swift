import StorageTestSupport

/// The figures held against du(1), stat(1) and the disk itself.
@Suite("Usage on disk") struct DiskUsageTests {
    /// What `du` prints for a directory, in bytes.
    func du(_ arguments: String..., of path: String) throws -> Int64 {
        let text = try OtherProgram(["du", "-s", "-B1"] + arguments + [path]).text
        return try require(Int64(text.prefix { $0.isNumber }))
    }

    /// `du --apparent-size`, whatever it thinks of directories: from coreutils 9.2 on they have no size.
    func apparent(_ arguments: String..., of path: String) throws -> Int64 {
        let empty = TemporaryDirectory()
        let own = empty.appending("empty")
        mkdir(own, 0o755)
        let sum =
            try arguments.isEmpty
            ? du("--apparent-size", of: path) : du("--apparent-size", "-l", of: path)
        guard try du("--apparent-size", of: own) > 0 else { return sum }
        var directories = try require(try status(path)).byteCount
        for inner in try FileManager.default.subpathsOfDirectory(atPath: path) {
            if let found = try status(path + "/" + inner), found.kind == .directory {
                directories += found.byteCount
            }
        }
        return sum - directories
    }

    func makeStore() throws -> TemporaryStore {
        let temporary = try TemporaryStore()
        let large = String(repeating: "content ", count: 9000)
        try temporary.add(
            "1",
            ["a": large, "copy/a": large, "empty": "", "deep/er/b": "b", "bin/run": "#!/bin/sh"])
        try temporary.add("2", ["a": large, "b": "other", "bin/run": "#!/bin/sh"])
        try temporary.add("3", ["only": large + "3"])
        chmod(temporary.directory.appending("source-2") + "/bin/run", 0o755)
        let source = temporary.directory.appending("source-2")
        try temporary.versions.add(directory: source, version: "4")
        try temporary.versions.activate("2")
        let lease = try temporary.store.makeLease()
        _ = try temporary.store.put(Array("nobody names it".utf8), protectedBy: lease)
        return temporary
    }

    @Test func `agrees with du, in sizes and in blocks, to the byte`() throws {
        let temporary = try makeStore()
        let usage = try temporary.reopened().store.usage()
        try expect(usage.disk.total.diskBytes, equals: du(of: temporary.path))
        expect(usage.diskBytes, equals: usage.disk.total.diskBytes)
        try expect(usage.disk.total.apparentBytes, equals: apparent(of: temporary.path))
        let objects =
            usage.disk[.objects].apparentBytes + usage.disk[.executableCopies].apparentBytes
        try expect(objects, equals: apparent(of: temporary.path + "/objects"))
        expect(usage.disk[.objects].apparentBytes, equals: usage.objectBytes)
        expect(usage.disk[.objects].files, equals: usage.objects)
        expect(usage.disk[.executableCopies].files, equals: 1)
        // Links in trees are objects; what trees take beside them is directories and empty files.
        expect(usage.disk[.trees].apparentBytes, equals: 0)
    }

    @Test func `says of each version what du says of its tree`() throws {
        let temporary = try makeStore()
        for usage in try temporary.versions.usage() {
            let tree = temporary.tree(usage.version)
            try expect(usage.apparentBytes, equals: apparent("-l", of: tree), "\(usage.version)")
            // Each inode once is each object once: here no content has two modes in one tree.
            try expect(
                usage.uniqueBytes + usage.sharedBytes, equals: apparent(of: tree),
                "\(usage.version)")
        }
    }

    @Test func `finds for each object as many paths as its inodes have names`() throws {
        let temporary = try makeStore()
        let entries = try temporary.versions.largest(1000)
        expect(entries.count, equals: (try temporary.store.usage().objects))
        for entry in entries where entry.object.byteCount > 0 {
            var names: UInt64 = 0
            for executable in [false, true] {
                let path = temporary.objectPath(entry.object.address, executable: executable)
                // The object's own name is not in a tree.
                if let status = try status(path) { names += status.linkCount - 1 }
            }
            expect(entry.paths.count, equals: Int(names), "\(entry.paths)")
            let versions = Set(entry.paths.map { $0.prefix { $0 != ":" } })
            expect(versions.count, equals: entry.object.references)
        }
    }
}
