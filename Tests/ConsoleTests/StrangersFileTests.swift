import StorageTestSupport

@testable import Console

/// In a directory where everybody may make files, a name may be a stranger's trap.
@Suite("An output whose name a stranger has taken") struct StrangersFileTests {
    enum Trap: String, CaseIterable, Sendable {
        case file, link, dangling, secondLink, fifo
    }

    /// Of the directory: `/tmp`'s mode, and those that are almost so.
    private static let modes = [0o1777, 0o1775, 0o777, 0o755, 0o1757]
    private static let everybodys: Set<Int> = [0o1777, 0o1757]

    private static let all = Trap.allCases.flatMap { trap in
        modes.flatMap { mode in Owner.allCases.map { (trap, mode, $0) } }
    }

    @Test(arguments: all)
    func `is refused where everybody may write, and nothing changes`(
        _ trap: Trap, _ mode: Int, _ owner: Owner
    ) throws {
        let directory = TemporaryDirectory()
        let shared = directory.appending("shared")
        let (page, precious) = ("\(shared)/page", directory.appending("precious"))
        try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: false)
        try Data("precious".utf8).write(to: URL(filePath: precious))
        func link(_ path: String, _ target: String) throws {
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        }
        var reader: Int32 = -1
        switch trap {
        case .file: try Data("theirs".utf8).write(to: URL(filePath: page))
        case .link: try link(page, precious)
        case .dangling: try link(page, directory.appending("new"))
        case .secondLink:
            // Mine leads to theirs.
            try link(page, precious)
            try link(directory.appending("mine"), page)
        case .fifo:
            try require(mkfifo(page, 0o666) == 0)
            reader = open(page, O_RDWR | O_NONBLOCK)
        }
        defer { if reader >= 0 { close(reader) } }
        try Damage.setMode(shared, mode)
        let disk = Owned(owner, page, in: shared)
        let name = trap == .secondLink ? directory.appending("mine") : page
        let before = Damage.names(shared)
        if owner == .stranger, Self.everybodys.contains(mode) {
            expectRefusal(.permission, saying: "\(page): ") {
                try replaceFile(name, with: Array("new".utf8), on: disk)
            }
            try expect(
                String(decoding: Damage.contents(precious), as: UTF8.self), equals: "precious")
            expect(Damage.names(shared), equals: before)
        } else if trap == .dangling {
            expectRefusal(.notFound) { try replaceFile(name, with: Array("new".utf8), on: disk) }
        } else {
            _ = try replaceFile(name, with: Array("new".utf8), on: disk)
            let written = trap == .file ? page : precious
            if trap != .fifo {
                try expect(String(decoding: Damage.contents(written), as: UTF8.self), equals: "new")
            }
        }
        expect(!FileManager.default.fileExists(atPath: directory.appending("new")))
    }
}

/// Whose a file seems to be.
enum Owner: String, CaseIterable, Sendable {
    case own, directorys, stranger
}

/// A file system in which a directory and one name in it belong to others.
private struct Owned: FileSystemWrapper {
    let base: any FileSystem = POSIXFileSystem()
    private let owner: Owner
    private let path: String
    private let parent: String

    init(_ owner: Owner, _ path: String, in parent: String) {
        self.owner = owner
        self.path = path
        self.parent = parent
    }

    func status(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> FileStatus? {
        var status = try base.status(directory, path)
        switch String(cString: path) {
        case self.path:
            switch owner {
            case .own: break
            case .directorys: status?.owner = 5_000
            case .stranger: status?.owner = 6_000
            }
        case parent, parent + "/.": status?.owner = 5_000
        default: break
        }
        return status
    }
}
