import StorageTestSupport
import StoreCommands

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
        try Damage.makeDirectory(shared)
        try Data("precious".utf8).write(to: URL(filePath: precious))
        var reader: Int32 = -1
        switch trap {
        case .file: try Data("theirs".utf8).write(to: URL(filePath: page))
        case .link: try Damage.replace(page, by: .symbolicLink(precious))
        case .dangling: try Damage.replace(page, by: .symbolicLink(directory.appending("new")))
        case .secondLink:
            // Mine leads to theirs.
            try Damage.replace(page, by: .symbolicLink(precious))
            try Damage.replace(directory.appending("mine"), by: .symbolicLink(page))
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
            try expect(Damage.contents(precious), equals: Array("precious".utf8))
            expect(Damage.names(shared), equals: before)
        } else if trap == .dangling {
            expectRefusal(.notFound) { try replaceFile(name, with: Array("new".utf8), on: disk) }
        } else {
            _ = try replaceFile(name, with: Array("new".utf8), on: disk)
            let written = trap == .file ? page : precious
            if trap != .fifo { try expect(Damage.contents(written), equals: Array("new".utf8)) }
        }
        expect(!FileManager.default.fileExists(atPath: directory.appending("new")))
    }
}

/// Root in a directory that its owner may rename at any time.
@Suite(
    "An output in a directory that is swapped for a link to another",
    .enabled(if: effectiveUser() == 0, "needs root"))
struct SwappedOutputTests {
    @Test(arguments: ["new", "old", "link"])
    func `is written where it was when root asked whose that is`(_ kind: String) throws {
        let directory = TemporaryDirectory()
        let (reports, moved) = (directory.appending("reports"), directory.appending("moved"))
        let precious = directory.appending("precious")
        for path in [reports, precious] { try Damage.makeDirectory(path) }
        let name = kind == "link" ? "page" : "file"
        if kind != "new" { try Data("old".utf8).write(to: URL(filePath: "\(reports)/\(name)")) }
        if kind == "link" {
            try Damage.replace("\(reports)/file", by: .symbolicLink("page"))
        }
        var asked = 0
        let isOwn = try replaceFile("\(reports)/file", with: Array("new".utf8)) {
            (_, _) throws(StoreError) in
            if asked == 0 {
                rename(reports, moved)
                symlink(precious, reports)
            }
            asked += 1
            return POSIXFileSystem()
        }
        expect(isOwn)
        expect(Damage.names(precious), equals: [])
        try expect(Damage.contents("\(moved)/\(name)"), equals: Array("new".utf8))
        expect(Damage.names(moved), equals: kind == "link" ? ["file", "page"] : ["file"])
    }

    @Test func `is a link's target as the user whose directory the link is in`() throws {
        let directory = TemporaryDirectory()
        let (theirs, roots) = (directory.appending("theirs"), directory.appending("roots"))
        for path in [theirs, roots] { try Damage.makeDirectory(path) }
        chmod(directory.path, 0o755)
        for target in [roots + "/file", "../roots/file"] {
            unlink(theirs + "/file")
            symlink(target, theirs + "/file")
            lchown(theirs + "/file", 5_001, 5_001)
            chown(theirs, 5_001, 5_001)
            func replace() throws {
                _ = try replaceFile(
                    theirs + "/file", with: [1], asking: fileSystem(forWritingIn:_:))
            }
            expectRefusal(.notFound) { try replace() }
            expect(Damage.names(roots), equals: [])
            try Data("old".utf8).write(to: URL(filePath: roots + "/file"))
            expectRefusal(.permission) { try replace() }
            expect(Damage.names(roots), equals: ["file"])
            try expect(Damage.contents(roots + "/file"), equals: Array("old".utf8))
            unlink(roots + "/file")
        }
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
        (self.owner, self.path, self.parent) = (owner, path, parent)
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
