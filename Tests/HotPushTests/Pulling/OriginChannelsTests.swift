import OriginTestSupport

@testable import HotPush

@Suite("The channels of an origin") struct OriginChannelsTests {
    private func channels(_ origin: String) throws -> [ChannelPointer] {
        try OriginAccess(over: try PullingFixture.transport())
            .pointers(of: origin)
    }

    @Test func `are asked for all at once, so that one that comes slowly holds up no other`() throws
    {
        let fixture = try PullingFixture()
        for name in ["a", "b", "c"] { try fixture.place.publish("1", to: name) }
        try fixture.serve()
        let last = DispatchSemaphore(value: 0)
        fixture.origin.before("/channels/a.json") { _ in last.wait() }
        fixture.origin.before("/channels/c.json") { _ in last.signal() }
        try expect(
            channels(fixture.origin.url).map(\.channel.description), equals: ["a", "b", "c"])
    }

    @Test(arguments: [1_000, 1_001])
    func `are a thousand at most`(_ count: Int) throws {
        let fixture = try PullingFixture(offering: "1")
        let names = (1..<count).map { "\"c\($0)\"" } + ["\"stable\""]
        let list = "{\"channels\":[\(names.joined(separator: ","))]}"
        fixture.put(Array(list.utf8), at: "/channels.json")
        let isTaken = count == 1_000
        expect(code { try channels(fixture.origin.url) }, equals: isTaken ? nil : .tooLarge)
        expect(fixture.origin.requests.count, equals: isTaken ? 1 + count : 1)
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
        let path = "\(fixture.place.origin)/channels/stable.json"
        let error = expectRefusal(saying: "\(path) has more") {
            try access.document(
                "channels/stable.json", at: .directory(fixture.place.origin + end), byteCountMax: 1)
        }
        expect(error?.message.contains("file:"), equals: false)
    }

    @Test func `are none where nothing was published`() throws {
        let fixture = try PullingFixture()
        expectRefusal(.notFound) { try channels(fixture.origin.url) }
        expectRefusal(.noOrigin) { try channels(fixture.place.origin) }
        fixture.put(Array("[]".utf8), at: "/channels.json")
        expectRefusal(.badOrigin) { try channels(fixture.origin.url) }
    }
}
