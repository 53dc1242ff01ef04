import StorageTestSupport

// docs/maintenance.md, "When another process has the store".
@Suite("The waits of one operation")
struct LockDeadlineTests {
    private let directory = TemporaryDirectory()
    private let system = POSIXFileSystem()

    /// Tries to take a lock that is held, as often as said.
    private func wait(times: Int) throws -> [StoreError.Code] {
        let place = try system.open(
            POSIXFileSystem.workingDirectory, directory.path, .directory, mode: 0)
        let held = try system.openLock(place.raw, ".writer")
        try expect(system.lock(held.raw, exclusive: true))
        let file = try system.openLock(place.raw, ".writer")
        var codes: [StoreError.Code] = []
        for _ in 0..<times {
            do throws(StoreError) {
                try system.waitForLock(file.raw, exclusive: true, StoreOptions())
            } catch { codes.append(error.code) }
        }
        return codes
    }

    // Each would wait for ten minutes by itself.
    @Test(.timeLimit(.minutes(60)))
    func `do not add up`() throws {
        let codes = try LockDeadline.within(.milliseconds(50)) { try wait(times: 3) }
        expect(codes, equals: [.locked, .locked, .locked])
    }

    @Test(.timeLimit(.minutes(60)))
    func `end when they are given up, and an inner end is no later than the outer`() throws {
        let codes = try LockDeadline.within(.seconds(600), unless: { true }) {
            try LockDeadline.within(.seconds(600)) { try wait(times: 2) }
        }
        expect(codes, equals: [.locked, .locked])
        let inner = try LockDeadline.within(.milliseconds(50)) {
            try LockDeadline.within(.seconds(600)) { try wait(times: 2) }
        }
        expect(inner, equals: [.locked, .locked])
    }

    @Test func `take what is free although their time is over`() throws {
        let place = try system.open(
            POSIXFileSystem.workingDirectory, directory.path, .directory, mode: 0)
        let file = try system.openLock(place.raw, ".writer")
        try LockDeadline.within(.zero) {
            try system.waitForLock(file.raw, exclusive: true, StoreOptions())
        }
    }

    @Test(arguments: [".writer", ".start"])
    func `are refused with what to do where no lock can be had`(_ name: String) throws {
        let place = try system.open(
            POSIXFileSystem.workingDirectory, directory.path, .directory, mode: 0)
        mkdir("\(directory.path)/\(name)", 0o755)
        expectRefusal(saying: "leases/\(name) in the store is a directory", "castree fsck --repair")
        { _ = try system.openLock(place.raw, name) }
    }
}
