import OriginTestSupport

@testable import HotPush

@Suite("A pull that must not continue") struct PullRefusalTests {
    @Test func `refuses a manifest with other content than the channel promises`() throws {
        let fixture = try PullingFixture(offering: "1")
        let bytes = try Damage.contents(fixture.place.origin + "/channels/stable.json")
        let pointer = try ChannelPointer(parsing: bytes, of: .stable)
        let promised = try require(pointer.releases.first?.version?.content.description)
        let text = String(decoding: bytes, as: UTF8.self).replacingOccurrences(
            of: promised, with: String(repeating: "5", count: 64))
        fixture.put(Array(text.utf8), at: "/channels/stable.json")
        expectRefusal(.damagedOrigin) { try fixture.run() }
        try expect(fixture.device.reopened().versions().isEmpty)
    }

    @Test func `stops while it compares content with labels`() throws {
        let store = try TemporaryStore()
        let text = String(repeating: "0123456789abcdef", count: 400_000)
        try store.add("1", ["large": text])
        var file = ReleaseFile(path: try TreePath("other"), byteCount: Int64(text.utf8.count))
        file.checks = [.digest(try require(Label(.md5, bytes: Array(repeating: 1, count: 16))))]
        let asked = Mutex(0)
        let digests = StoredDigests(store.versions.store, for: [file]) {
            asked.withLock { count in
                count += 1
                return count > 1
            }
        }
        var known = try KnownContent(
            store.versions, for: [file], digests, from: .web("https://o.example"), family: "own")
        expectRefusal(.interrupted) { try known.address(of: file) }
        expect(asked.withLock { $0 }, equals: 2)
    }

    @Test func `that only plans leaves no trace in the store`() throws {
        let fixture = try PullingFixture(offering: "1")
        let before = Damage.names(fixture.device.path)
        let pull = try fixture.pull(PullingFixture.options.with { $0.isDryRun = true })
        let found = try pull.release(at: fixture.origin.url)
        try expect(pull.plan(found).contents.count, equals: PublishingPlace.first.count)
        expect(Damage.names(fixture.device.path).filter { !before.contains($0) }, equals: [])
    }
}
