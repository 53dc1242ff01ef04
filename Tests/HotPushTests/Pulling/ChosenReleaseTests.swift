import OriginTestSupport

@testable import HotPush

/// `pull --release NAME`: a build machine or a person takes a certain one of the releases offered.
@Suite("A release that somebody asks for by name") struct ChosenReleaseTests {
    private func fixture() throws -> PullingFixture {
        let fixture = try PullingFixture()
        try fixture.place.publish("1")
        try fixture.publish("2")
        return fixture
    }

    @Test func `leaves no trace in what the device remembers of the channel`() throws {
        let fixture = try fixture()
        try fixture.run { $0.release = "1" }
        expect(!Damage.names(fixture.device.path).contains("channels.json"))
        // The channel's own is taken as before.
        try expect(fixture.run().version, equals: "2")
        expect(Damage.names(fixture.device.path).contains("channels.json"))
        try expect(fixture.run { $0.release = "1" }.isUnchanged)
    }

    @Test func `still has to be for this device, unless forced`() throws {
        let fixture = try fixture()
        let offer = ReleaseOffer(
            requirements: [Requirement(kind: Requirement.compatibility, value: "ios-3")])
        try fixture.place.publisher().publish("1", of: fixture.place.versions, as: offer)
        try fixture.serve()
        let choosing = PullingFixture.options.with { $0.release = "1" }
        try expect(fixture.pull(choosing).run(fixture.origin.url) == nil)
        try expect(fixture.run(choosing.with { $0.isForced = true }).version, equals: "1")
    }

    @Test func `stands only in a channel of castree's own origins`() throws {
        let fixture = try PullingFixture()
        expectRefusal(.notFound) { try fixture.run { $0.release = "1" } }
        expectRefusal(.unsupported) {
            try fixture.run { ($0.release, $0.format) = ("1", "meteor") }
        }
    }
}
