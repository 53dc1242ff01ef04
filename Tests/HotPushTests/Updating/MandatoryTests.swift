import OriginTestSupport

@testable import HotPush

/// What origin-format.md says: an update is mandatory if the release is, or any release for this device
/// that is newer than the one it runs.
@Suite("A mandatory release", .timeLimit(.minutes(60))) struct MandatoryTests {
    let fixture: PullingFixture

    init() throws {
        fixture = try PullingFixture()
        try fixture.place.store.add("3", ["index.html": "<h1>three</h1>"])
    }

    private func offer(_ version: String, _ offer: ReleaseOffer = ReleaseOffer()) throws {
        try fixture.place.publisher().publish(version, of: fixture.place.versions, as: offer)
        try fixture.serve()
    }

    private func live(_ version: String) async throws {
        try offer(version)
        try await fixture.bringLive(version)
    }

    private func check(
        _ set: (inout UpdateOptions) -> Void = { _ in }
    ) async throws -> (version: String?, isForced: Bool) {
        let check = try await fixture.process(set).check()
        return (check.release?.version.description, check.isForced)
    }

    @Test
    func `is not got around by a device that did not ask while it was the newest`() async throws {
        try await live("1")
        try offer("2", ReleaseOffer(isMandatory: true))
        try offer("3")
        try await expect(check() == ("3", true))
    }

    @Test func `forces nobody who runs it already, or a newer one`() async throws {
        try await live("1")
        try offer("2", ReleaseOffer(isMandatory: true))
        // What is mandatory is shown at once.
        let boot = try await fixture.process().update().expectStarted()
        try fixture.device.reopened().confirm("2", token: boot.token)
        try offer("3")
        try await expect(check() == ("3", false))
    }

    @Test func `forces nobody whom it is not for`() async throws {
        try await live("1")
        let key = Requirement(kind: Requirement.compatibility, value: "xyz")
        try offer("2", ReleaseOffer(requirements: [key], isMandatory: true))
        try offer("3")
        try await expect(check() == ("3", false))
        try await expect(check { $0.app.compatibility = "xyz" } == ("3", true))
    }

    @Test("counts by when it was offered: one from before what the device runs forces nobody")
    func older() async throws {
        try offer("2", ReleaseOffer(isMandatory: true))
        try await live("1")
        try offer("3")
        try await expect(check() == ("3", false))
    }

    @Test("forces nobody who runs a newer one that this pointer offers to others only")
    func newerForOthers() async throws {
        try offer("1", ReleaseOffer(isMandatory: true))
        try offer("2")
        let key = Requirement(kind: Requirement.compatibility, value: "xyz")
        try offer("3", ReleaseOffer(requirements: [key]))
        // It did not come from the channel: only the pointer says when it was offered.
        try fixture.device.add("3", ["index.html": "<h1>three</h1>"])
        try fixture.device.versions.activate("3")
        try await expect(check() == ("2", false))
    }

    @Test("is not got around by what came from another channel, whose numbers say nothing here")
    func otherChannel() async throws {
        let beta = ReleaseOffer(channel: try ChannelName("beta"))
        try offer("1", beta)
        try offer("2", beta)
        try fixture.run { ($0.channel, $0.destination) = ("beta", .current) }
        try offer("3", ReleaseOffer(isMandatory: true))
        try offer("1")
        try await expect(check() == ("1", true))
    }

    @Test("forces a device whose version was withdrawn, if it was offered after that one")
    func withdrawn() async throws {
        try await live("1")
        try offer("2", ReleaseOffer(isMandatory: true))
        _ = try fixture.place.publisher().withdraw(VersionName("1"))
        try offer("3")
        try await expect(check() == ("3", true))
    }
}
