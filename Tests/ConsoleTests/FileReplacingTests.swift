import StorageTestSupport

@testable import Console

/// A page is written aside and takes the old one's place; where that cannot be, it is written into it.
@Suite("A file that is replaced") struct FileReplacingTests {
    private let directory = TemporaryDirectory()

    /// A disk without space.
    private let full = FaultyFileSystem { $0.verb == .write ? $0.error(ENOSPC) : nil }

    private func path(_ name: String) -> String { directory.appending(name) }

    private func put(_ name: String, _ text: String, mode: Int = 0o644) throws {
        try Data(text.utf8).write(to: URL(filePath: path(name)))
        try Damage.setMode(path(name), mode)
    }

    private func text(_ name: String) throws -> String {
        String(decoding: try Damage.contents(path(name)), as: UTF8.self)
    }

    @Test(arguments: [0o600, 0o664])
    func `keeps its mode, and is not open to more readers on its way`(_ mode: Int) throws {
        try put("page", "old page", mode: mode)
        let disk = FaultyFileSystem()
        let seen = Mutex<[Int?]>([])
        disk.onEach { timing, operation in
            guard timing == .before, operation.verb == .write else { return }
            seen.withLock { $0.append(try? Damage.mode(operation.path)) }
        }
        try expect(replaceFile(path("page"), with: Array("new".utf8), on: disk))
        try expect(text("page"), equals: "new")
        try expect(Damage.mode(path("page")), equals: mode)
        let modes = seen.withLock { $0 }
        expect(modes.allSatisfy { ($0 ?? 0o777) & ~mode == 0 } && !modes.isEmpty, "\(modes)")
        expect(Damage.names(directory.path), equals: ["page"])
    }

    @Test func `has the mode that the umask leaves, if it is new`() throws {
        try expect(replaceFile(path("page"), with: Array("new".utf8)))
        let other = open(path("made"), O_CREAT | O_WRONLY, 0o666)
        close(other)
        try expect(Damage.mode(path("page")), equals: Damage.mode(path("made")))
    }

    @Test(arguments: Refusal.allCases)
    func `is written into where its directory or place takes no other`(_ refusal: Refusal) throws {
        try put("page", "old and longer", mode: 0o640)
        let before = try inode("page")
        try expect(replaceFile(path("page"), with: Array("new".utf8), on: refusal.disk()))
        try expect(text("page"), equals: "new")
        try expect(Damage.mode(path("page")), equals: 0o640)
        expect(Damage.names(directory.path), equals: ["page"])
        try expect((inode("page") == before), equals: (refusal != .nothing))
    }

    @Test func `may have the longest name`() throws {
        let name = String(repeating: "n", count: 255)
        for text in ["one", "two"] {
            try expect(replaceFile(path(name), with: Array(text.utf8)))
            try expect(self.text(name), equals: text)
        }
        expect(Damage.names(directory.path), equals: [name])
    }

    @Test(
        "stands behind the symbolic link that leads to it, and is as it was if it cannot be written"
    )
    func behindLink() throws {
        try Damage.makeDirectory(path("deep"))
        try put("deep/page", "old")
        try Damage.replace(path("deep/next"), by: .symbolicLink("page"))
        try Damage.replace(path("link"), by: .symbolicLink("deep/next"))
        expectRefusal { try replaceFile(path("link"), with: Array("new".utf8), on: full) }
        try expect(text("deep/page"), equals: "old")
        try expect(replaceFile(path("link"), with: Array("new".utf8)))
        try expect(text("deep/page"), equals: "new")
        try expect(
            FileManager.default.destinationOfSymbolicLink(atPath: path("link")), equals: "deep/next"
        )
        expect(Damage.names(path("deep")), equals: ["next", "page"])
    }

    @Test func `is written into where its name stands for a file that is open already`() throws {
        try put("page", "old and longer")
        let before = try inode("page")
        let file = open(path("page"), O_RDWR)
        defer { close(file) }
        try Damage.replace(path("link"), by: .symbolicLink("/dev/fd/\(file)"))
        for name in ["/dev/fd/\(file)", path("link")] {
            try expect(!replaceFile(name, with: Array("new".utf8)))
            try expect(text("page"), equals: "new")
            try expect(inode("page"), equals: before)
        }
    }

    @Test("is not made behind a link that leads nowhere, nor in a directory that is not there")
    func nowhere() throws {
        try Damage.replace(path("link"), by: .symbolicLink("nothing"))
        for name in ["link", "absent/page"] {
            expectRefusal(.notFound, saying: name) { try replaceFile(path(name), with: [1]) }
        }
        expect(Damage.names(directory.path), equals: ["link"])
    }

    @Test("is not waited for where it is a fifo that nobody reads, and has all where somebody does")
    func fifo() throws {
        try require(mkfifo(path("fifo"), 0o600) == 0)
        expectRefusal(saying: "a fifo that nobody reads") {
            try replaceFile(path("fifo"), with: [1])
        }
        let reader = open(path("fifo"), O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        try expect(!replaceFile(path("fifo"), with: Array("new".utf8)))
        var bytes = [UInt8](repeating: 0, count: 9)
        expect(read(reader, &bytes, 9) == 3 && bytes.starts(with: "new".utf8))
    }

    @Test
    func `on a full disk says to free space there, and names no command for the store`() throws {
        let error = expectRefusal(.outOfSpace, saying: "free space there") {
            try replaceFile(path("page"), with: Array("new".utf8), on: full)
        }
        expect(error?.message.contains("castree gc"), equals: false)
        // There, space would not help.
        let limited = FaultyFileSystem { $0.verb == .write ? $0.error(EFBIG) : nil }
        let other = expectRefusal(.outOfSpace, saying: "ulimit -f") {
            try replaceFile(path("page"), with: Array("new".utf8), on: limited)
        }
        expect(other?.message.contains("free space"), equals: false)
    }

    private func inode(_ name: String) throws -> UInt64 {
        try require(
            try POSIXFileSystem().status(POSIXFileSystem.workingDirectory, path(name))
        ).inode
    }
}

/// What a file system refuses, and with which error.
enum Refusal: CaseIterable {
    case nothing, create, createOnReadOnly, mode, rename, renameOntoMount

    private var operation: (verb: FaultyFileSystem.Verb, number: Int32)? {
        switch self {
        case .nothing: nil
        case .create: (.open, EACCES)
        case .createOnReadOnly: (.open, EROFS)
        case .mode: (.setMode, EPERM)
        case .rename: (.rename, EPERM)
        case .renameOntoMount: (.rename, EBUSY)
        }
    }

    func disk() -> FaultyFileSystem {
        FaultyFileSystem { [operation] asked in
            guard let operation, asked.verb == operation.verb,
                asked.verb != .open || asked.access == .creating
            else { return nil }
            return asked.error(operation.number)
        }
    }
}
