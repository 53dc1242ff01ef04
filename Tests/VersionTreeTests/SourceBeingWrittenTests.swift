import StorageTestSupport

// A release that somebody still writes while it is added: what is stored was there at one moment, or nothing is stored.
//
// ext4, xfs and btrfs stamp a file when a write begins, not when it ends (file_update_time in the kernel's write paths):
// its times look final while half of it is new. Who still has it open for writing, a lease tells (fcntl(2),
// F_SETLEASE).

@Suite struct SourceBeingWrittenTests {
    /// Whether the place of these tests gives leases.
    private static let hasLeases: Bool = {
        let temporary = TemporaryDirectory()
        let path = temporary.appending("f")
        guard FileManager.default.createFile(atPath: path, contents: nil) else { return false }
        let file = open(path, O_RDONLY)
        defer { close(file) }
        return POSIXFileSystem().isOpenForWriting(file) == false
    }()

    enum Writer: String, CaseIterable, Sendable {
        case writing, readingAndWriting, appending, mapping

        /// Holds `path` as a writer does, while `body` runs.
        func hold(_ path: String, _ body: () throws -> Void) throws {
            let access =
                switch self {
                case .writing: O_WRONLY
                case .readingAndWriting, .mapping: O_RDWR
                case .appending: O_WRONLY | O_APPEND
                }
            let file = open(path, access)
            try require(file >= 0)
            guard self == .mapping else {
                defer { close(file) }
                return try body()
            }
            let memory = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
            close(file)
            try require(memory != MAP_FAILED)
            defer { munmap(memory, 4096) }
            try body()
        }
    }

    @Test(.enabled(if: hasLeases, "no leases here"), arguments: Writer.allCases)
    func `a file that has just changed is refused while somebody can write it`(_ writer: Writer)
        throws
    {
        let temporary = try TemporaryStore(onDisk: true)
        let source = temporary.directory.appending("source")
        try writeFile(source + "/still", "still")
        try writeFile(source + "/d/page.html", "half of it")
        let options = StoreOptions(
            isDurable: false, reservedByteCount: 1 << 20, waitLimit: .milliseconds(100))
        let hurried = try VersionStore.open(temporary.path, options: options)
        try writer.hold(source + "/d/page.html") {
            expectRefusal(
                .changedWhileRead, saying: "\"d/page.html\"", "another process is writing it",
                "repeat the command"
            ) {
                _ = try hurried.add(directory: source, version: "1")
            }
        }
        try expect(temporary.versions.versions().isEmpty)
        try expect(snapshot(temporary.path + "/staging").isEmpty)
        // Nobody writes any more.
        _ = try temporary.versions.add(directory: source, version: "1")
        try temporary.expectClean()
    }

    /// As a writer that closes its file, and a program that is starting and has what its parent has (fork(2)).
    @Test(.enabled(if: hasLeases, "no leases here"))
    func `a writer that ends is waited for`() throws {
        let temporary = try TemporaryStore(onDisk: true)
        let source = temporary.directory.appending("source")
        try writeFile(source + "/f", "content")
        let file = open(source + "/f", O_WRONLY)
        try require(file >= 0)
        let ending = Disk(looked: { looks in if looks == 3 { close(file) } })
        _ = try store(temporary, ending).add(directory: source, version: "1")
        try expect(readTree(temporary.tree("1")), equals: ["f": "content"])
    }

    /// A disk on which every file of the source changed an hour ago, or on which nobody tells who writes.
    private struct Disk: StatusShowingDisk {
        let base: any FileSystem = POSIXFileSystem()
        var age: Int64 = 0
        var tellsWriters = true
        var looks = Shared(0)
        /// Called after each look at who writes, with their number.
        var looked: @Sendable (Int) -> Void = { _ in }

        func isOpenForWriting(_ file: Int32) -> Bool? {
            defer {
                looks.with { count in
                    count += 1
                    looked(count)
                }
            }
            return tellsWriters ? base.isOpenForWriting(file) : nil
        }

        func shown(_ status: FileStatus) -> FileStatus {
            var status = status
            // Of the files of these tests alone: the store's own times must agree with the clock.
            guard status.kind == .regular, status.byteCount == 7 else { return status }
            status.modifiedAt -= age
            status.changedAt -= age
            return status
        }
    }

    private func store(_ temporary: borrowing TemporaryStore, _ disk: Disk) throws -> VersionStore {
        try temporary.opened(on: disk)
    }

    @Test func `a file that has not changed for a while is taken, whoever has it open`() throws {
        let temporary = try TemporaryStore(onDisk: true)
        let source = temporary.directory.appending("source")
        try writeFile(source + "/f", "content")
        let versions = try store(temporary, Disk(age: 3_600_000_000_000))
        try Writer.readingAndWriting.hold(source + "/f") {
            _ = try versions.add(directory: source, version: "1")
        }
        try expect(readTree(temporary.tree("1")), equals: ["f": "content"])
    }

    @Test(
        .enabled(if: SourcePlace.isCached && hasLeases, "\(SourcePlace.why)"),
        arguments: [true, false])
    func `what was read is believed next time only if nobody could write meanwhile`(_ tells: Bool)
        throws
    {
        let temporary = try TemporaryStore(onDisk: true)
        let source = temporary.directory.appending("source")
        try writeFile(source + "/f", "content")
        let file = try require(try status(source + "/f"))
        while file.isRacy(at: nanosecondsNow()) { sched_yield() }
        let versions = try store(temporary, Disk(tellsWriters: tells))
        var reads: [Int] = []
        for version in ["1", "2"] {
            let total = Shared(0)
            var options = AddOptions()
            options.progress = { progress in total.with { $0 = progress.filesTotal } }
            _ = try versions.add(directory: source, version: version, options: options)
            reads.append(total.with { $0 })
        }
        expect(reads, equals: (tells ? [1, 0] : [1, 1]))
    }

    /// What somebody does to a source of which a file has been read: everything that a deployment does but writing in place.
    private static let deployments: [String: @Sendable (String) -> Void] = [
        "a file is replaced": { rename($0 + "/../new", $0 + "/a") },
        "a file below is replaced": { rename($0 + "/../new", $0 + "/d/e/b") },
        "a file comes": { rename($0 + "/../new", $0 + "/d/new") },
        "a file goes": { unlink($0 + "/d/e/b") },
        "a directory comes": { mkdir($0 + "/d/e/f", 0o755) },
        "a directory is renamed": { rename($0 + "/d/e", $0 + "/d/g") },
        "a directory is replaced": {
            rename($0 + "/d", $0 + "/../old")
            rename($0 + "/../other", $0 + "/d")
        },
    ]

    @Test(arguments: deployments.keys.sorted(), [false, true])
    func `a source is refused in which, while it is read,`(_ change: String, _ follows: Bool) throws
    {
        let temporary = try TemporaryStore(onDisk: true)
        let source = temporary.directory.appending("source")
        for file in ["/a", "/d/e/b", "/../new", "/../other/e/b"] {
            try writeFile(source + file, "content of \(file)")
        }
        let act = try require(Self.deployments[change])
        let reads = Shared(0)
        let disk = InterposedFileSystem { verb, _ in
            guard verb == "read" else { return }
            let count = reads.with { count in
                count += 1
                return count
            }
            if count == 4 { act(source) }
        }
        let versions = try temporary.opened(on: disk)
        var options = AddOptions()
        options.followsLinks = follows
        let error = #expect(throws: StoreError.self, "\(change)") {
            _ = try versions.add(directory: source, version: "1", options: options)
        }
        expect(reads.with { $0 } >= 4)
        expect([.changedWhileRead, .notFound].contains(error?.code))
        try expect(versions.versions().isEmpty)
        try expect(snapshot(temporary.path + "/staging").isEmpty)
        _ = try versions.add(directory: source, version: "1", options: options)
        try expect(readTree(temporary.tree("1")), equals: readTree(source))
        try temporary.expectClean()
    }
}
