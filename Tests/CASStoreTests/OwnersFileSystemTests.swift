import CSQLite
import Expectations

@testable import CASStore

// DESIGN.md, "Root and the owner": an owner who swaps a directory for a link, between any two calls of root, wins nothing.
// The link that stands there from the beginning is what the call meets that comes just after the swap.
@Suite("Root in another user's directory") final class OwnersFileSystemTests {
    private static let owner: UInt32 = 5001
    private static let reason = geteuid() == 0 ? nil : "needs root"

    private let path: String
    private let root: Int32

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/owner-\(try randomToken())"
        for name in ["", "/root", "/root/inner", "/user", "/user/inner"] {
            mkdir(path + name, 0o755)
        }
        for name in ["/root/file", "/user/file"] {
            _ = FileManager.default.createFile(atPath: path + name, contents: Data("x".utf8))
            chmod(path + name, 0o600)
        }
        for name in ["/user", "/user/inner", "/user/file"] {
            chown(path + name, Self.owner, Self.owner)
        }
        symlink("../root", path + "/user/link")
        root = open(path + "/user", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }

    deinit {
        close(root)
        // What a test leaves behind is no failure of it.
        try? FileManager.default.removeItem(atPath: path)
    }

    private func listing() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: path + "/root").sorted().map { name in
            var status = stat()
            expect(lstat("\(path)/root/\(name)", &status), equals: 0)
            return "\(name) \(status.st_mode) \(status.st_uid) \(status.st_nlink)"
        }
    }

    @Test(
        "changes nothing behind a link, by any verb, and reads nothing that the owner may not",
        .disabled(if: reason != nil, "\(reason ?? "")"))
    func verbs() throws {
        let own = try OwnersFileSystem.around(POSIXFileSystem(), root: root, of: path)
        let (here, before) = (root, try listing())
        let verbs: [(String, () throws(StoreError) -> Void)] = [
            (
                "create",
                { () throws(StoreError) in
                    _ = try own.open(here, "link/new", .creating, mode: 0o644)
                }
            ),
            (
                "update",
                { () throws(StoreError) in
                    _ = try own.open(here, "link/new", .updating, mode: 0o644)
                }
            ),
            (
                "change",
                { () throws(StoreError) in _ = try own.open(here, "link/file", .changing, mode: 0) }
            ),
            (
                "append",
                { () throws(StoreError) in _ = try own.open(here, "link/file", .appending, mode: 0)
                }
            ),
            (
                "read",
                { () throws(StoreError) in _ = try own.open(here, "link/file", .reading, mode: 0) }
            ),
            (
                "read beneath",
                { () throws(StoreError) in _ = try own.openBeneath(here, "link/file", .reading) }
            ),
            ("set mode", { () throws(StoreError) in try own.setMode(here, "link/file", 0o666) }),
            (
                "link to",
                { () throws(StoreError) in try own.link(here, "file", to: here, "link/new") }
            ),
            (
                "link from",
                { () throws(StoreError) in try own.link(here, "link/file", to: here, "new") }
            ),
            (
                "rename to",
                { () throws(StoreError) in try own.rename(here, "file", to: here, "link/file") }
            ),
            (
                "rename from",
                { () throws(StoreError) in try own.rename(here, "link/file", to: here, "new") }
            ),
            (
                "rename new",
                { () throws(StoreError) in try own.renameNew(here, "file", to: here, "link/new") }
            ),
            (
                "exchange",
                { () throws(StoreError) in
                    try own.exchange(here, "file", "link/file", spare: "spare")
                }
            ),
            (
                "remove",
                { () throws(StoreError) in try own.remove(here, "link/file", directory: false) }
            ),
            (
                "remove directory",
                { () throws(StoreError) in try own.remove(here, "link/inner", directory: true) }
            ),
            (
                "make directory",
                { () throws(StoreError) in try own.makeDirectory(here, "link/new", mode: 0o755) }
            ),
            (
                "make link",
                { () throws(StoreError) in try own.makeSymbolicLink(here, "link/new", to: "x") }
            ),
        ]
        for (name, verb) in verbs {
            #expect(throws: StoreError.self, "\(name)") { try verb() }
            try expect(listing(), equals: before, "\(name)")
        }
        try expect(FileManager.default.contentsOfDirectory(atPath: path + "/user").count, equals: 3)
    }

    @Test(.disabled(if: reason != nil, "\(reason ?? "")"))
    func `makes what is the owner's, and its other threads and its sources stay root's`() throws {
        let own = try OwnersFileSystem.around(POSIXFileSystem(), root: root, of: path)
        let file = try own.open(root, "new", .creating, mode: 0o644)
        let status = try own.status(file.raw)
        expect(status.owner == Self.owner && status.group == Self.owner)
        let secret = path + "/root/file"
        let wrapper = try require(own as? OwnersFileSystem)
        // A thread has the rights that its maker has then: this one is made before.
        nonisolated(unsafe) var isRead = false
        let (begin, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        Thread.detachNewThread {
            begin.wait()
            isRead = FileManager.default.contents(atPath: secret) != nil
            done.signal()
        }
        try wrapper.asOwner { () throws(StoreError) in
            begin.signal()
            done.wait()
            expect(FileManager.default.contents(atPath: secret) == nil)
        }
        expect(isRead)
        _ = try own.outside.open(POSIXFileSystem.workingDirectory, secret, .reading, mode: 0)
        expect(FileManager.default.contents(atPath: secret) != nil)
    }
}
