import OriginTestSupport

/// A bucket that is full, and commands that somebody interrupts: what is said, and what can still be done.
@Suite struct BucketCapacityTests {
    private func byteCount(_ world: BucketWorld) -> Int64 {
        world.store.files.values.reduce(0) { $0 + Int64($1.bytes.count) }
    }

    private func prune(_ bucket: any ObjectStorage, _ world: BucketWorld) throws
        -> PruneReport
    {
        let clock = world.store.clock
        let publisher = OriginPublisher(
            bucket, now: { clock.now }, pause: { _ in clock.advance(1) })
        return try OriginPruner(publisher).prune(keeping: 1, grace: 0)
    }

    @Test func `a prune of a full bucket deletes what may go, and then writes`() throws {
        let world = try BucketWorld(offering: "1", "2", "3")
        // Somebody was killed before the commit.
        let digits = String(repeating: "ab", count: 31)
        world.store.set("objects/ab/\(digits)", [UInt8](repeating: 1, count: 20_000))
        // This one trims and raises the epoch, and leaves the files for others to delete.
        expectRefusal(.accessDenied) {
            _ = try prune(world.bucket("first", rights: [.get, .put, .list]), world)
        }
        try world.publish("4")
        let before = byteCount(world)
        world.store.dialect.byteCountMax = before
        let report = try prune(world.bucket("second"), world)
        expect(report.garbage.count > 0 && report.trimmedCount == 1)
        expect(byteCount(world) < before && world.broken == [])
        world.expectEnd()
        // Where nothing may go, it says so, and nothing has changed.
        world.store.dialect.byteCountMax = 0
        let files = world.store.files
        let full = code { try world.publish("5") }
        expect(full == .outOfSpace && world.store.files == files)
    }

    @Test(arguments: [true, false])
    func `who interrupts a command is told whether devices may see a change`(
        isCommitting: Bool
    ) throws {
        let world = try BucketWorld(offering: "1")
        let error = expectRefusal(.interrupted) {
            try world.publish(
                "4",
                by: world.publisher { request in
                    let isHit =
                        isCommitting
                        ? request.verb == .putIfAbsent && request.key.hasPrefix("log/")
                        : request.verb == .put && request.key.contains("objects/")
                    return isHit ? .end(isApplied: true) : .answered
                })
        }
        let isOpen = error?.message.contains("may be made or not") ?? false
        let isAsBefore = error?.message.contains("offers what it did before") ?? false
        expect(isOpen == isCommitting && isAsBefore == !isCommitting)
        expect(world.broken, equals: [])
    }
}
