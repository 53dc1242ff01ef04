import HotPush
import StorageTestSupport

@testable import ClientSystems

/// Apps know one key: what was signed once must be signed by it again.
@Suite struct OtherKeyTests {
    private func failures<Feed: ClientFeed>(
        _ feed: Feed.Type, _ configuration: ClientConfiguration,
        _ files: [String: String]
    ) throws -> [String] {
        var origin = ModelOrigin()
        let version = try origin.add("1.0.0", files)
        let offer = try origin.publish(
            .version(version), now: 1000, for: Feed.self, configuration,
            signer: ModelSigner())
        let plain = try origin.publish(.version(version), now: 2000, for: Feed.self, configuration)
        let objects = origin.objects
        var failures: [String] = []
        for (offer, key, wanted) in [
            (offer, "key", true), (offer, "other", false), (plain, "key", nil),
        ] as [(ClientOffer, String, Bool?)] {
            let found = try Feed.isSigned(offer, by: ModelSigner(key: key)) { objects[$0.address] }
            if found != wanted { failures.append("\(Feed.system) \(key)") }
        }
        return failures
    }

    @Test func `Each system that signs knows its own key from another`() throws {
        let files = ["index.html": "1", "index.ios.bundle": "1"]
        try expect(
            failures(CodePush.self, CodePushModel().configuration, files)
                + failures(
                    HotUpdater.self,
                    ClientConfiguration(
                        .hotUpdater, baseURL: "https://h",
                        deployments: ["ios/production": .stable]), files)
                + failures(Expo.self, ExpoTree.configuration(), ExpoTree.files("script")),
            equals: [])
    }
}
