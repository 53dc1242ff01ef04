import CASStore
import VersionTree

@testable import ClientSystems
@testable import HotPush
@testable import Origin

// What an origin keeps for the clients of other systems: each has one spelling, but for what operators write.

extension FuzzTarget {
    /// The input is what a release names.
    static let facts = FuzzTarget(
        name: "facts",
        words: [
            "{\"castreeFacts\":1,\"objects\":[", "\"address\":\"", "\"bytes\":", "\"crc32\":",
            "\"md5\":\"", "\"twin\":\"", "\"twinBytes\":", "4294967296", "9007199254740992",
            String(repeating: "0", count: 64), "]}\n",
        ]
    ) { input in
        let read = try unlessRefused(as: [.damagedOrigin]) { try ContentFacts(parsing: input) }
        guard let facts = read else { return }
        try hold(facts.serialized() == input, "facts in two spellings")
        for object in facts.objects {
            try hold(facts[object.address] == object, "an object that is not found")
            try hold(
                object.deflatedCopy?.byteCount ?? -1 < object.byteCount,
                "a deflated copy that is no smaller")
        }
    }

    /// The input stands at an origin as `for/codepush/stable.json`.
    static let clientHistories = FuzzTarget(
        name: "clientHistories",
        words: [
            "{\"castreeHistory\":1,\"channel\":\"stable\",\"labelCount\":", "\"offers\":[",
            "\"system\":\"codepush\"}\n", "\"sequence\":", "\"createdAt\":", "\"firstOfferedAt\":",
            "\"embedded\":true", "\"archive\":{\"bytes\":", "\"documents\":[", "\"signatures\":{",
        ]
    ) { input in
        let read = try unlessRefused(as: [.badClients, .unsupportedFormat]) {
            try ClientHistory(parsing: input, of: ChannelName("stable"), .codePush)
        }
        guard let history = read else { return }
        try hold(history.serialized() == input, "a history in two spellings")
        let times = history.offers.map(\.createdAt)
        try hold(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "offers out of order")
    }

    /// The input stands at an origin as `for/codepush/config.json`.
    static let clientConfigurations = FuzzTarget(
        name: "clientConfigurations",
        words: [
            "{\"castreeClients\":1,", "\"baseURL\":\"https://", "\"deployments\":{", "\"stable\"",
            "\"folder\":\"CodePush\"", "\"historyCount\":200", "\"system\":\"codepush\"", "config",
        ]
    ) { input in
        let read = try unlessRefused(as: [.badClients, .unsupportedFormat]) {
            try ClientConfiguration(parsing: input, of: .codePush)
        }
        guard let configuration = read else { return }
        try hold(configuration.problem == nil, "a rule is broken")
        let again = try ClientConfiguration(parsing: configuration.serialized(), of: .codePush)
        try hold(again == configuration, "another configuration when it is written and read")
    }
}
