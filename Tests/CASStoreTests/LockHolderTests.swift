import StorageTestSupport

@testable import Platform

@Suite("Waiting for a lock") struct LockHolderTests {
    private func status() throws -> FileStatus {
        let system = POSIXFileSystem()
        var status = try require(try system.status(POSIXFileSystem.workingDirectory, "/"))
        status.device = 0xfe01
        status.inode = 123_456
        return status
    }

    @Test func `finds who has it in the kernel's list, and not who waits for it`() throws {
        let text = """
            1: FLOCK  ADVISORY  WRITE 4711 fe:01:123456 0 EOF
            1: -> FLOCK  ADVISORY  WRITE 4712 fe:01:123456 0 EOF
            2: FLOCK  ADVISORY  READ 4713 fe:02:123456 0 EOF
            3: POSIX  ADVISORY  READ 4714 fe:01:123456 128 128
            4: OFDLCK ADVISORY  READ -1 fe:01:123456 0 EOF
            5: LEASE
            6: FLOCK  ADVISORY  READ 99999999999 fe:01:123456 0 EOF
            """
        try expect(LockHolder.processes(locking: status(), in: text), equals: [4711, 4714])
        try expect(LockHolder.processes(locking: status(), in: "").isEmpty)
    }

    @Test(
        "calls a castree by its command and others by their program",
        arguments: [
            (["/usr/bin/castree", "add", "www"], "add"),
            (["castree", "--store", "add", "--json", "gc"], "gc"),
            (["castree", "--store=S", "--wait", "5s", "serve", "--open"], "serve"),
            (["castree", "pull", "http://x"], "pull"), (["castree", "--help"], "castree"),
            (["castree", "origin", "serve", "/srv"], "origin serve"),
            (["castree", "--json", "key"], "key"), (["castree", "trust", "add", "k"], "trust add"),
            (["/bin/sh", "-c", "x"], "sh"), (["\u{1b}[2Jevil"], "\\u{1b}[2Jevil"),
        ])
    func name(_ words: [String], _ name: String) {
        expect(LockHolder.name(of: words), equals: name)
    }

    @Test func `says that nobody can be named`() {
        expect(LockHolder().description, equals: "another process")
        expect(
            LockHolder(process: 7, name: "add", isStopped: true).description,
            equals: "process 7 (add, stopped)")
        expect(LockHolder.name(of: []) == nil)
    }

    @Test func `takes a lock that is free by one call`() throws {
        let directory = TemporaryDirectory()
        let system = FaultyFileSystem()
        let place = try system.open(
            POSIXFileSystem.workingDirectory, directory.path, .directory, mode: 0)
        let file = try system.openLock(place.raw, ".writer")
        let before = system.operations.count { $0.verb == .lock }
        try system.waitForLock(file.raw, exclusive: true, StoreOptions())
        expect(system.operations.count { $0.verb == .lock } - before, equals: 1)
    }
}
