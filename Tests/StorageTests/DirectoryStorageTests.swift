import BucketTestSupport

/// What a storage in a directory promises besides the contract of all storages.
@Suite struct DirectoryStorageTests {
    private let directory = TemporaryDirectory()

    private func storage(
        on disk: any FileSystem = POSIXFileSystem(),
        _ rescue: DirectoryStorage.Rescue = DirectoryStorage.Rescue()
    ) throws -> DirectoryStorage {
        try DirectoryStorage(directory.path, scratch: ".scratch", rescue: rescue, fileSystem: disk)
    }

    /// What may stand where a file belongs.
    private static let strangers: [Damage.Stranger] = [
        .directory, .symbolicLink("/etc/hostname"), .symbolicLink("nowhere"), .fifo, .socket,
    ]

    @Test(arguments: strangers)
    func `what is no file does not count, and is replaced; a directory only if it may be set aside`(
        _ stranger: Damage.Stranger
    ) throws {
        var storage = try storage()
        try storage.write("a/file", "file")
        let path = directory.path + "/a/stranger"
        try Damage.replace(path, by: stranger)
        try expect(storage.head("a/stranger") == nil)
        let read = try storage.bytes("a/stranger", ReadRequest(byteCountMax: 100))
        expect(read.outcome, equals: .missing)
        try expect(storage.keys(), equals: ["a/file"])
        let aside = Mutex<[String]>([])
        if stranger == .directory {
            try expect(
                storage.putIfAbsent("a/stranger", body("new"), .object), equals: .conditionFailed)
            #expect(throws: StoreError.self) { try storage.put("a/stranger", body("new"), .object) }
            storage = try self.storage(
                DirectoryStorage.Rescue(setAside: { _, name in aside.withLock { $0.append(name) } })
            )
        }
        for isNew in [false, true] {
            if isNew {
                try expect(storage.putIfAbsent("a/stranger", body("new"), .object).isStored)
            } else {
                try storage.write("a/stranger", "new")
            }
            try expect(storage.text("a/stranger"), equals: "new")
            try Damage.replace(path, by: stranger)
        }
        try expect(storage.keys(".scratch"), equals: [])
        let left = Damage.names(directory.path + "/.scratch").filter { $0 != "turn" }
        expect(left, equals: aside.withLock { $0.sorted() })
        expect(left.count, equals: stranger == .directory ? 2 : 0)
    }

    @Test func `nothing is read or written through a link to a directory`() throws {
        let storage = try storage()
        let outside = TemporaryDirectory()
        try Data("secret".utf8).write(to: URL(filePath: outside.path + "/file"))
        expect(symlink(outside.path, directory.path + "/away"), equals: 0)
        try expect(storage.head("away/file") == nil)
        try expect(storage.keys(), equals: [])
        #expect(throws: StoreError.self) { try storage.put("away/new", body("new"), .object) }
        try expect(storage.delete(["away/file"]).deletedCount, equals: 1)
        expect(Damage.names(outside.path), equals: ["file"])
    }

    @Test(arguments: ["put", "putIfAbsent", "putIf"])
    func `a write that fails at any call leaves what was there, and nothing behind`(
        _ verb: String
    ) throws {
        for point in 1... {
            let sound = try storage()
            let tag = try sound.write("e/1/file", "old")
            let key = verb == "putIfAbsent" ? "e/1/new-\(point)" : "e/1/file"
            let disk = FaultyFileSystem()
            let faulty = try storage(on: disk)
            disk.arm(.fail(EIO, at: point))
            var outcome: WriteOutcome?
            do {
                outcome =
                    switch verb {
                    case "put": try faulty.put(key, body("new"), .object)
                    case "putIfAbsent": try faulty.putIfAbsent(key, body("new"), .object)
                    default: try faulty.putIf(key, body("new"), .pointer, matching: tag, .quoted)
                    }
            } catch is StoreError {}
            let text = try sound.text(key)
            if outcome?.isStored == true {
                expect(text, equals: "new", "\(point)")
            } else {
                // A failed clean-up behind the name is told as a failure, too.
                expect(["old", "new", nil].contains(text), "\(point): \(text ?? "")")
            }
            try expect(sound.keys(".scratch"), equals: [])
            _ = try sound.delete([key])
            guard disk.hasFired else { break }
        }
    }

    @Test func `many files take one call for all bytes, and one for all names`() throws {
        let disk = FaultyFileSystem()
        let storage = try storage(on: disk)
        let files = try (0..<200).map { number in
            OutgoingFile(
                "objects/\(number % 9)/\(number)", try body("same").address, byteCount: 4, .object)
        }
        let path = directory.path + "-source"
        try Data("same".utf8).write(to: URL(filePath: path))
        defer { unlink(path) }
        try storage.putAll(files) { (_) throws(StoreError) -> Descriptor? in
            try POSIXFileSystem().open(POSIXFileSystem.workingDirectory, path, .reading, mode: 0)
        } done: { _, _ in
        }
        try storage.barrier()
        expect(disk.operations.count { $0.verb == .syncAll }, equals: 2)
        expect(disk.operations.count { $0.verb == .sync }, equals: 0)
        // Nothing was done since.
        try storage.barrier()
        expect(disk.operations.count { $0.verb == .syncAll }, equals: 2)
        expect(Damage.names(directory.path + "/.scratch"), equals: [])
    }

    @Test func `a file gets its name when its bytes are durable`() throws {
        let disk = FaultyFileSystem()
        try storage(on: disk).write("objects/one", "content")
        let verbs = disk.operations.map(\.verb)
        let synced = try require(verbs.lastIndex(of: .sync))
        let named = try require(verbs.lastIndex(of: .rename))
        expect(synced < named)
    }

    @Test func `nothing is synced where nothing has to last`() throws {
        let disk = FaultyFileSystem()
        let storage = try DirectoryStorage(
            directory.path, scratch: ".scratch", isDurable: false, fileSystem: disk)
        try storage.write("objects/one", "content")
        try storage.barrier()
        expect(disk.operations.count { [.sync, .syncAll].contains($0.verb) }, equals: 0)
    }

    @Test(arguments: [EIO, EACCES, ENOSPC])
    func `a leftover that cannot be removed changes nothing of what is acknowledged`(
        _ number: Int32
    ) throws {
        let storage = try storage(
            on: FaultyFileSystem {
                $0.verb == .remove && $0.name.hasPrefix("put-") ? $0.error(number) : nil
            },
            DirectoryStorage.Rescue(makeSpace: { (_) throws(StoreError) in true }))
        let first = try storage.putIfAbsent("log/1", body("first"), .object)
        expect(first.isStored)
        try expect(storage.putIfAbsent("log/1", body("second"), .object), equals: .conditionFailed)
        try expect(storage.text("log/1"), equals: "first")
        try expect(storage.put("log/1", body("third"), .object).isStored)
        try expect(storage.text("log/1"), equals: "third")
    }

    @Test func `the rights that readers need are given, whatever the umask takes`() throws {
        // A write by the group is what the usual umask takes.
        let storage = try DirectoryStorage(directory.path, scratch: ".scratch", rights: 0o664)
        try storage.write("objects/ab/cd", "content")
        var status = stat()
        expect(lstat(directory.path + "/objects/ab/cd", &status), equals: 0)
        expect(status.st_mode & 0o777, equals: 0o664)
        expect(lstat(directory.path + "/objects/ab", &status), equals: 0)
        expect(status.st_mode & 0o775, equals: 0o775)
    }

    @Test func `a replacement names the process that was stopped in the middle of another`() throws
    {
        let storage = try storage()
        let tag = try storage.write("c", "1")
        try storage.write("c", "2")
        let (holder, output) = (Process(), Pipe())
        holder.executableURL = URL(filePath: "/usr/bin/perl")
        holder.arguments = [
            "-e", #"open F, "+<", $ARGV[0]; flock F, 2; $| = 1; print "locked\n"; kill STOP => $$"#,
            directory.path + "/.scratch/turn",
        ]
        holder.standardOutput = output
        try holder.run()
        defer {
            kill(holder.processIdentifier, SIGKILL)
            holder.waitUntilExit()
        }
        expect(output.fileHandleForReading.availableData, equals: Data("locked\n".utf8))
        for replace in [
            { try storage.putIf("c", body("3"), .pointer, matching: tag, .quoted) },
            { try storage.put("c", body("3"), .pointer) },
        ] {
            expectRefusal(.busy, saying: "process \(holder.processIdentifier) (") { try replace() }
        }
        try expect(storage.text("c"), equals: "2")
    }

    @Test(
        arguments: [.emptyFile, .symbolicLink("/etc"), .symbolicLink("nowhere")]
            as [Damage.Stranger])
    func `what stands in place of a directory is set aside by a repair`(
        _ stranger: Damage.Stranger
    ) throws {
        try Damage.replace(directory.path + "/objects", by: stranger)
        let aside = Mutex<[String]>([])
        var rescue = DirectoryStorage.Rescue(
            setAside: { _, name in aside.withLock { $0.append(name) } })
        #expect(throws: StoreError.self) {
            try self.storage(on: POSIXFileSystem(), rescue).write("objects/ab/one", "content")
        }
        rescue.mendsDirectories = true
        let storage = try self.storage(on: POSIXFileSystem(), rescue)
        try storage.write("objects/ab/one", "content")
        expect(aside.withLock { $0.count }, equals: 1)
        try expect(storage.keys(), equals: ["objects/ab/one"])
    }

    @Test(arguments: strangers)
    func `what is no file has no size, nor what is reached through a link`(
        _ stranger: Damage.Stranger
    ) throws {
        let storage = try storage()
        try storage.write("objects/ab/one", "content")
        try Damage.replace(directory.path + "/objects/ab/two", by: stranger)
        expect(symlink("objects", directory.path + "/linked"), equals: 0)
        try expect(
            storage.byteCounts(of: ["objects/ab/one", "objects/ab/two", "linked/ab/one"]) { false },
            equals: [7, nil, nil])
    }

    @Test func `rights are given to nothing that a stranger has put there`() throws {
        let system = POSIXFileSystem()
        let secret = directory.path + "/secret"
        try Data("secret".utf8).write(to: URL(filePath: secret))
        expect(chmod(secret, 0o600), equals: 0)
        expect(link(secret, directory.path + "/second-name"), equals: 0)
        expect(symlink("secret", directory.path + "/link"), equals: 0)
        expect(mkfifo(directory.path + "/fifo", 0o600), equals: 0)
        try Data("own".utf8).write(to: URL(filePath: directory.path + "/own"))
        expect(chmod(directory.path + "/own", 0o600), equals: 0)
        let root = try system.open(
            POSIXFileSystem.workingDirectory, directory.path, .directory, mode: 0)
        for name in ["second-name", "link", "fifo", "none"] {
            try expect(!system.share(root.raw, name, 0o664), "\(name)")
        }
        try expect(system.share(root.raw, "own", 0o664))
        try expect(system.status(root.raw, "own")?.mode, equals: 0o664)
        try expect(system.status(root.raw, "secret")?.mode, equals: 0o600)
        // By its name nothing is followed either.
        #expect(throws: StoreError.self) { try system.setMode(root.raw, "link", 0o666) }
        try expect(system.status(root.raw, "secret")?.mode, equals: 0o600)
    }

    /// Refuses the first opening of a name, when somebody has exchanged what stands there.
    private func exchanging(_ exchange: @escaping @Sendable () -> Void) -> FaultyFileSystem {
        let disk = FaultyFileSystem()
        disk.arm(.fail(EACCES, at: 1, of: [.open]))
        disk.on(.before, .open, path: "closed", exchange)
        return disk
    }

    @Test
    func `nor are they given to what is exchanged for a file that is closed to its owner`() throws {
        let (path, system) = (directory.path, POSIXFileSystem())
        let root = try system.open(POSIXFileSystem.workingDirectory, path, .directory, mode: 0)
        for name in ["closed", "secret"] {
            try Data(name.utf8).write(to: URL(filePath: "\(path)/\(name)"))
            expect(chmod("\(path)/\(name)", name == "closed" ? 0 : 0o600), equals: 0)
        }
        let closed = exchanging {}
        try expect(closed.share(root.raw, "closed", 0o664))
        try expect(system.status(root.raw, "closed")?.mode, equals: 0o664)
        expect(chmod("\(path)/closed", 0), equals: 0)
        let exchanging = exchanging {
            expect(link("\(path)/secret", "\(path)/second"), equals: 0)
            expect(rename("\(path)/second", "\(path)/closed"), equals: 0)
        }
        try expect(!exchanging.share(root.raw, "closed", 0o664))
        try expect(system.status(root.raw, "secret")?.mode, equals: 0o600)
    }

    @Test
    func `a chain of directories that is deeper than the stack is removed, and listed as nothing`()
        throws
    {
        let system = POSIXFileSystem()
        let here = POSIXFileSystem.workingDirectory
        let root = try system.open(here, directory.path, .directory, mode: 0)
        try system.makeDirectory(root.raw, "deep", mode: 0o755)
        var inner = try system.open(root.raw, "deep", .directory, mode: 0)
        for number in 0..<4_000 {
            try system.makeDirectory(inner.raw, "d", mode: number % 7 == 0 ? 0o555 : 0o755)
            if number % 7 == 1 { expect(fchmod(inner.raw, 0o755), equals: 0) }
            inner = try system.open(inner.raw, "d", .directory, mode: 0)
            if number % 7 == 0 { expect(fchmod(inner.raw, 0o755), equals: 0) }
        }
        try expect(storage().keys(), equals: [])
        try system.removeTree(root.raw, "deep")
        expect(Damage.names(directory.path), equals: [])
    }
}
