import OriginTestSupport

/// A disk that gets full somewhere in the middle and stays so: what a publisher says and what it leaves.
@Suite("A publisher whose disk gets full") struct FillingDiskTests {
    let fixture: PackingFixture

    init() throws { fixture = try PackingFixture(2, scale: 10, publishing: "r1") }

    private func survive(
        after count: Int, _ channel: ChannelName, _ timing: PackOptions.Timing
    ) throws -> Bool {
        let place = try PackingFixture(copying: fixture, to: "origin-\(UUID().uuidString)")
        defer { Damage.remove(place.place.origin) }
        let before = try place.offered(channel.description)
        // Takes so many blocks, and none after them.
        let left = Atomic<Int>(count)
        let disk = FaultyFileSystem { operation in
            guard operation.allocates, left.subtract(1, ordering: .relaxed).newValue < 0 else {
                return nil
            }
            return operation.error(ENOSPC)
        }
        let offer = ReleaseOffer(channel: channel)
        var message = ""
        do throws(StoreError) {
            try place.publisher(timing, on: disk).publish("r2", of: place.place.versions, as: offer)
        } catch {
            expect(error.code, equals: .outOfSpace)
            message = error.message
        }
        let comment: Comment = "full after \(count): \(message)"
        let after = try place.offered(channel.description)
        if message.isEmpty {
            expect(after, equals: "r2", comment)
        } else if message.contains("channel \(channel) offers what it did before") {
            expect(after, equals: before, comment)
        } else {
            expect(message.contains("channel \(channel) offers version r2"), comment)
            expect(after, equals: "r2", comment)
        }
        if !message.isEmpty { expect(message.contains("castree prune"), comment) }
        // With space the same command ends it.
        try place.publisher(timing).publish("r2", of: place.place.versions, as: offer)
        try expect(place.offered(channel.description), equals: "r2", comment)
        let list = try Damage.contents(place.place.origin + "/channels.json")
        try expect(ChannelList.names(parsing: list).contains(channel), comment)
        return left.load(ordering: .relaxed) < 0
    }

    @Test(
        "says what the channel offers, which is the old release or the new one; repeated with space, it is done",
        arguments: ["stable", "beta"], [PackOptions.Timing.before, .after, .never])
    func full(_ channel: String, _ timing: PackOptions.Timing) throws {
        let channel = try ChannelName(channel)
        let share = TestShare(oneIn: 12, of: "filling \(channel) \(timing)")
        try expect(share.count { try survive(after: $0, channel, timing) } > 8)
    }
}
