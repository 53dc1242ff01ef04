import Expectations
import HotPush

@testable import ClientSystems

extension ClientFeed {
    /// What is said of every release that requires nothing of the app.
    static var unrestricted: String { "without --require every version of the app" }

    /// What clients cannot be told of a release, besides ``unrestricted``.
    /// - Parameter files: `nil` for the order to go back to what was shipped with the app.
    static func objections(
        named name: String = "1", _ files: [String: String]?, _ requirements: [Requirement] = [],
        perMille: Int? = nil, isMandatory: Bool = false, executables: Set<String> = [],
        for configuration: ClientConfiguration
    ) throws -> [ClientObjection] {
        var origin = ModelOrigin()
        let target: ChannelRelease.Target =
            if let files {
                .version(try origin.add(name, files, executables: executables))
            } else { .embedded }
        let release = ChannelRelease(
            target, sequence: 1, createdAt: 1,
            rollout: perMille.map { Rollout(perMille: $0, salt: "") }, requirements: requirements,
            isMandatory: isMandatory)
        return try objections(to: origin.clientRelease(release, now: 1, for: configuration))
            .filter { !$0.message.contains(unrestricted) }
    }
}

/// Holds objections against what was to be said: nothing, or one sentence with these words.
func expectObjections(_ cases: [(found: [ClientObjection], refuses: Bool?, words: String)]) {
    for (found, refuses, words) in cases {
        expect(
            found.first?.refuses == refuses && found.count == (refuses == nil ? 0 : 1),
            "\(words): \(found)")
        expect(refuses == nil || found[0].message.contains(words), "\(words): \(found)")
    }
}
