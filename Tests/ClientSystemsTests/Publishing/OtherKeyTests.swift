import ClientSystems
import Expectations
import HotPush
import Testing
import VersionTree

/// Apps know one key: what was signed once must be signed by it again.
@Suite struct OtherKeyTests {
    private func failures<Publishing: ClientPublishing>(
        _ publishing: Publishing.Type, _ configuration: ClientConfiguration,
        _ files: [String: String]
    ) throws -> [String] {
        var origin = ModelOrigin()
        let version = try origin.add("1.0.0", files)
        let offer = try origin.publish(
            .version(version), now: 1000, for: Publishing.self, configuration,
            signer: ModelSigner())
        let plain = try origin.publish(
            .version(version), now: 2000, for: Publishing.self, configuration)
        let objects = origin.objects
        var failures: [String] = []
        for (offer, key, wanted) in [
            (offer, "key", true), (offer, "other", false), (plain, "key", nil),
        ] as [(ClientOffer, String, Bool?)] {
            let found = try Publishing.isSigned(offer, by: ModelSigner(key: key)) {
                objects[$0.address]
            }
            if found != wanted { failures.append("\(Publishing.system) \(key)") }
        }
        return failures
    }

    @Test func `Each system that signs knows its own key from another`() throws {
        let files = ["index.html": "1", "index.ios.bundle": "1"]
        try expect(
            failures(CodePushPublishing.self, CodePushModel().configuration, files)
                + failures(
                    HotUpdaterPublishing.self,
                    ClientConfiguration(
                        .hotUpdater, baseURL: "https://h",
                        deployments: ["ios/production": .stable]), files)
                + failures(
                    ExpoPublishing.self, ExpoTree.configuration(), ExpoTree.files("script")),
            equals: [])
    }
}
