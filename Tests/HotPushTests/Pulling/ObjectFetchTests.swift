import CASStore
import StorageTestSupport
import Testing
import VersionTree

@testable import HotPush

/// Objects are fetched from an origin by their addresses alone, and only what is right is taken.
@Suite struct ObjectFetchTests {
    private func lost(_ texts: [String]) throws -> [Reference] {
        try texts.map {
            Reference(address: try address(of: $0), byteCount: Int64($0.utf8.count))
        }
    }

    /// Three texts of the published version; the large one is kept in a file on its way.
    static let texts = [
        "<h1>two</h1>", "body {}", String(repeating: "0123456789abcdef", count: 40_000),
    ]

    @Test func `objects come over the network and from a directory`() throws {
        let fixture = try PullingFixture()
        try fixture.publish("2")
        let wanted = try lost(Self.texts)
        let came = try fixture.pull().fetch(wanted, from: .web(fixture.origin.url))
        #expect(came == Set(wanted.map(\.address)))
        let other = try TemporaryStore()
        let pull = Pull(into: other.versions, over: DirectoryTransport("/nowhere"))
        #expect(try pull.fetch(wanted, from: .directory(fixture.place.origin)) == came)
        for store in [try fixture.device.reopened().store, other.versions.store] {
            for (one, text) in zip(wanted, Self.texts) {
                #expect(try store.read(one.address, limit: 1 << 20) == Array(text.utf8))
            }
        }
    }

    @Test func `what is absent, wrong or cut short is left out, and the rest comes`() throws {
        let fixture = try PullingFixture()
        try fixture.publish("2")
        let wanted = try lost(Self.texts + ["never published"])
        try Damage.flip(
            fixture.place.origin + "/" + OriginLayout.object(wanted[0].address), at: 2)
        try Damage.truncate(
            fixture.place.origin + "/" + OriginLayout.object(wanted[2].address), to: 99)
        var options = PullingFixture.options
        options.retries.failureCountMax = 2
        let store = try fixture.device.reopened()
        let pull = Pull(into: store, over: DirectoryTransport("/nowhere"), options)
        let came = try pull.fetch(wanted, from: .directory(fixture.place.origin))
        #expect(came == [wanted[1].address])
        #expect(try store.store.contains(wanted[0].address) == false)
        try fixture.serve()
        let again = try fixture.pull(options).fetch(wanted, from: .web(fixture.origin.url))
        #expect(again == [wanted[1].address])
    }

    @Test func `a directory that is not there is no origin`() throws {
        let fixture = try PullingFixture()
        let pull = try fixture.pull()
        #expect(throws: StoreError.self) {
            try pull.fetch(
                try lost(["text"]), from: .directory(fixture.device.directory.appending("none")))
        }
    }
}
