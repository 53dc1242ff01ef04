import CASStore
import Expectations
import StorageTestSupport
import VersionTree

@testable import HotPush

@Suite("The channels of an origin") struct OriginChannelsTests {
    private func channels(_ origin: String) throws -> [ChannelPointer] {
        try OriginAccess(over: try PullingFixture.transport())
            .pointers(of: origin)
    }

    @Test func `are listed, from a directory and from a server, with what they offer`() throws {
        let fixture = try PullingFixture()
        try fixture.place.publish("1")
        try fixture.place.publish("2", to: "beta")
        try fixture.serve()
        for origin in [fixture.place.origin, fixture.origin.url] {
            let pointers = try channels(origin)
            expect(pointers.map(\.channel.description), equals: ["beta", "stable"])
            expect(
                pointers.map { $0.releases.first?.version?.name.description }, equals: ["2", "1"])
        }
        let paths = fixture.origin.requests.map(\.path)
        expect(paths, equals: ["/channels.json", "/channels/beta.json", "/channels/stable.json"])
    }

    @Test func `are one if the URL is that of a pointer`() throws {
        let fixture = try PullingFixture()
        try fixture.place.publish("1")
        try fixture.publish("2")
        let pointers = try channels(fixture.origin.url + "/channels/stable.json")
        expect(pointers.map(\.channel.description), equals: ["stable"])
        expect(fixture.origin.requests.map(\.path), equals: ["/channels/stable.json"])
    }

    @Test func `are found at an origin that has no list of them yet`() throws {
        let fixture = try PullingFixture(offering: "1")
        fixture.origin.put(nil, at: "/channels.json")
        try expect(channels(fixture.origin.url).map(\.channel.description), equals: ["stable"])
    }

    @Test(arguments: ["", "/"])
    func `are named by their paths if they are in a directory`(_ end: String) throws {
        let fixture = try PullingFixture()
        try fixture.place.publish("1")
        let access = OriginAccess(over: try PullingFixture.transport())
        let error = #expect(throws: StoreError.self) {
            try access.document(
                "channels/stable.json", at: .directory(fixture.place.origin + end), byteCountMax: 1)
        }
        let message = error?.message ?? ""
        expect(message.contains("\(fixture.place.origin)/channels/stable.json has more"))
        expect(!message.contains("file:"))
    }

    @Test func `are none where nothing was published`() throws {
        let fixture = try PullingFixture()
        expect(code { try channels(fixture.origin.url) }, equals: .notFound)
        expect(code { try channels(fixture.place.origin) }, equals: .noOrigin)
        fixture.origin.put(
            Content(Array("[]".utf8), type: "application/json"), at: "/channels.json")
        expect(code { try channels(fixture.origin.url) }, equals: .badOrigin)
    }
}
