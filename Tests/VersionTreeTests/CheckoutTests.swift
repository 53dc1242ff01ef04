import StorageTestSupport

// Trees elsewhere.

@Suite struct CheckoutTests {
    private let temporary: TemporaryStore

    init() throws { temporary = try TemporaryStore(adding: "1", files) }

    private let files = ["a": "one", "d/b": "two", "d/run": "#!x", "empty": ""]

    @Test func `links files by default, read-only, in directories of the user`() throws {
        let target = temporary.directory.appending("out")
        let report = try temporary.versions.checkout("1", to: target)
        expect((report.files, report.linked, report.copied, report.reflinked) == (4, 3, 1, 0))
        try expect(readTree(target), equals: files)
        let seen = try snapshot(target)
        let tree = try snapshot(temporary.tree("1"))
        for (path, file) in seen where !file.content.isEmpty {
            expect(file.inode, equals: tree[path]?.inode)
        }
        expect(seen.values.allSatisfy { $0.mode & 0o222 == 0 })
        try expect(status(target + "/.")?.mode, equals: 0o755)
        try expect(status(target + "/d")?.mode, equals: 0o755)
        try temporary.expectClean()
    }

    @Test(arguments: [LinkMode.copy, .reflink])
    func `gives writable files of their own`(_ mode: LinkMode) throws {
        let target = temporary.directory.appending("out")
        let report = try temporary.versions.checkout("1", to: target, mode: mode)
        expect(report.files, equals: 4)
        expect(report.linked, equals: 0)
        expect(report.copied + report.reflinked, equals: 4)
        if mode == .copy { expect(report.reflinked, equals: 0) }
        try expect(readTree(target), equals: files)
        let seen = try snapshot(target)
        expect(seen.values.allSatisfy { $0.links == 1 })
        expect(seen[Array("a".utf8)]?.mode, equals: 0o644)
        expect(seen[Array("d/run".utf8)]?.mode, equals: 0o755)
        let file = open(target + "/a", O_WRONLY | O_TRUNC)
        expect(write(file, "changed", 7), equals: 7)
        close(file)
        try expect(readTree(temporary.tree("1")), equals: files)
        try temporary.expectClean()
    }

    @Test(arguments: ["file", "directory", "filled", "dangling", "."])
    func `refuses a target that is there already, and leaves it`(_ kind: String) throws {
        let target = temporary.directory.appending("out")
        switch kind {
        case "file": try writeFile(target, "mine")
        case "directory": mkdir(target, 0o755)
        case "filled": try writeFile(target + "/mine", "mine")
        case "dangling": symlink("nowhere", target)
        default: mkdir(target, 0o755)
        }
        let before = try snapshot(temporary.directory.appending("."))
        expectRefusal(.targetExists) {
            try temporary.versions.checkout("1", to: kind == "." ? target + "/." : target)
        }
        let after = try snapshot(temporary.directory.appending("."))
        expect(Set(before.keys), equals: Set(after.keys))
        try expect(
            FileManager.default.contentsOfDirectory(atPath: temporary.directory.path)
                .allSatisfy { !$0.hasPrefix(".") })
    }

    @Test func `refuses a target without a parent, and one below a file`() throws {
        try writeFile(temporary.directory.appending("file"), "x")
        expectRefusal(.notFound) {
            try temporary.versions.checkout("1", to: temporary.directory.appending("none/out"))
        }
        #expect(throws: StoreError.self) {
            try temporary.versions.checkout("1", to: temporary.directory.appending("file/out"))
        }
        expectRefusal(.noVersion) {
            try temporary.versions.checkout("2", to: temporary.directory.appending("out"))
        }
        try expect(status(temporary.directory.appending("out")) == nil)
    }

    @Test(.enabled(if: access("/dev/shm", W_OK) == 0, "no /dev/shm here"))
    func `copies where links cannot be had`() throws {
        let target = "/dev/shm/castree-test-\(UUID().uuidString)"
        defer { shell("rm -rf \(target)") }
        let report = try temporary.versions.checkout("1", to: target)
        let isSameDisk = try status(target)?.device == status(temporary.path)?.device
        if !isSameDisk { expect((report.linked, report.copied) == (0, 4)) }
        try expect(readTree(target), equals: files)
        let seen = try snapshot(target)
        expect(seen[Array("a".utf8)]?.mode, equals: 0o444)
        expect(seen[Array("d/run".utf8)]?.mode, equals: 0o555)
    }

    @Test func `takes a target whose name is as long as a name can be`() throws {
        for unit in ["n", "\u{20ac}"] {
            let name = String(repeating: unit, count: 255 / unit.utf8.count)
            _ = try temporary.versions.checkout("1", to: temporary.directory.appending(name))
            try expect(readTree(temporary.directory.appending(name)), equals: files)
        }
    }

    @Test func `takes a target with a slash behind it and one beside a relative path`() throws {
        _ = try temporary.versions.checkout("1", to: temporary.directory.appending("out//"))
        try expect(readTree(temporary.directory.appending("out")), equals: files)
    }

    @Test func `leaves nothing of a checkout that fails in the middle`() throws {
        unlink(try temporary.objectPath(address(of: "two")))
        #expect(throws: StoreError.self) {
            try temporary.versions.checkout("1", to: temporary.directory.appending("out"))
        }
        let left = try FileManager.default.contentsOfDirectory(atPath: temporary.directory.path)
        expect(left.sorted(), equals: ["source-1", "store"])
    }

    // A damaged object is never copied into a tree that its owner takes for sound.
    @Test func `refuses to copy a damaged object`() throws {
        try flipByte(temporary.objectPath(address(of: "two")))
        expectRefusal(.damagedObject) {
            try temporary.versions.checkout(
                "1", to: temporary.directory.appending("out"), mode: .copy)
        }
        try expect(status(temporary.directory.appending("out")) == nil)
    }

    // Design, I6; hostile input 27: a directory of the target is swapped for a link meanwhile.
    @Test(arguments: [("makeDirectory", "b"), ("open", "a/b"), ("link", "c")])
    func `writes nothing outside when a directory is swapped for a link`(
        _ timing: (verb: String, path: String)
    ) throws {
        let temporary = try TemporaryStore(adding: "1", ["a/b/c": "inside", "a/x": "inside"])
        let outside = temporary.directory.appending("outside")
        mkdir(outside, 0o700)
        if timing.verb == "open" { mkdir(outside + "/b", 0o700) }
        let parent = temporary.directory.appending("target")
        mkdir(parent, 0o755)
        let hasActed = Shared(false)
        let disk = InterposedFileSystem { verb, path in
            guard verb == timing.verb, path == timing.path, !hasActed.with({ $0 }),
                let hidden = try? FileManager.default.contentsOfDirectory(atPath: parent).first
            else { return }
            hasActed.with { $0 = true }
            rename("\(parent)/\(hidden)/a", "\(parent)/\(hidden)/was")
            symlink(outside, "\(parent)/\(hidden)/a")
        }
        let versions = try VersionStore.open(
            temporary.path, options: StoreOptions(isDurable: false), fileSystem: disk)
        _ = try? versions.checkout("1", to: parent + "/out")
        expect(hasActed.with { $0 })
        let found = try FileManager.default.subpathsOfDirectory(atPath: outside)
        expect(found, equals: (timing.verb == "open" ? ["b"] : []))
    }

    private let leftover = ".castree-0123456789abcdef"

    // A checkout that was killed leaves the tree that it was building beside its target.
    @Test(arguments: [LinkMode.link, .copy])
    func `removes what a killed checkout has left beside the target`(_ mode: LinkMode) throws {
        let parent = temporary.directory.appending("www")
        try writeFile(parent + "/\(leftover)/d/f", "half")
        try writeFile(parent + "/\(leftover)/g", "half", mode: 0o444)
        chmod(parent + "/\(leftover)/d", 0o555)
        _ = try temporary.versions.checkout("1", to: parent + "/out", mode: mode)
        try expect(FileManager.default.contentsOfDirectory(atPath: parent), equals: ["out"])
        try expect(readTree(parent + "/out"), equals: files)
    }

    @Test func `leaves alone what no checkout has left`() throws {
        let parent = temporary.directory.appending("www")
        let others = [
            ".castree/f", ".castree-notes/f", ".castree-0123456789ABCDEF/f", "castree-0/f",
            ".castree-0123456789abcdef0/f", ".castree-0123456789abcde/f",
        ]
        for other in others { try writeFile(parent + "/" + other, "mine") }
        let elsewhere = temporary.directory.appending("elsewhere")
        try writeFile(elsewhere + "/f", "mine")
        symlink("../elsewhere", parent + "/" + leftover)
        try writeFile(parent + "/.castree-fedcba9876543210", "a file")
        let before = try snapshot(parent)
        _ = try temporary.versions.checkout("1", to: temporary.directory.appending("www/out"))
        let after = try snapshot(parent)
        for (path, seen) in before { expect(after[path], equals: seen) }
        try expect(readTree(elsewhere), equals: ["f": "mine"])
    }

    // The one that builds has its directory locked; in its midst another one comes and goes.
    @Test func `leaves alone what another checkout is building`() throws {
        let parent = temporary.directory.appending("www")
        mkdir(parent, 0o755)
        let other = try temporary.reopened()
        let found = Shared<[String]>([])
        let hasBegun = Shared(false)
        let versions = try VersionStore.open(
            temporary.path, options: StoreOptions(isDurable: false),
            fileSystem: InterposedFileSystem { verb, _ in
                // Several threads make links; one of them meets the other checkout.
                guard verb == "link" else { return }
                let isFirst = hasBegun.with { begun in
                    defer { begun = true }
                    return !begun
                }
                guard isFirst else { return }
                let names =
                    (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
                found.with { $0 = names }
                do { _ = try other.checkout("1", to: parent + "/second") } catch {
                    found.with { $0.append("\(error)") }
                }
            })
        _ = try versions.checkout("1", to: parent + "/first")
        let names = found.with { $0 }
        expect(names.count == 1 && names[0].hasPrefix(".castree-"), "\(names)")
        try expect(
            FileManager.default.contentsOfDirectory(atPath: parent).sorted(),
            equals: ["first", "second"])
        try expect(readTree(parent + "/first"), equals: files)
        try expect(readTree(parent + "/second"), equals: files)
    }
}
