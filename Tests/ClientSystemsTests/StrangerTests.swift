import Expectations
import Platform
import StorageTestSupport
import StrictJSON
import Testing
import VersionTree

@testable import ClientSystems
@testable import HotPush

/// Whatever is asked: an answer, never an error; never a URL that leads nowhere, never what was not offered.
@Suite("Requests of strangers") struct StrangerTests {
    /// What all systems take: an export of Expo's with a start page.
    private static func files(_ text: String) -> [String: String] {
        ExpoTree.files(text).merging(["index.html": "page of \(text)"]) { $1 }
    }

    private struct Subject {
        var origin = ModelOrigin()
        var configurations: [ClientConfiguration] = []
        /// In the origin, and offered to nobody.
        var secret: PublishedVersion
        var words: [String]

        init() throws {
            secret = try origin.add("9.9.9", StrangerTests.files("secret"))
            let (old, new) = (
                try origin.add("1.0.0", StrangerTests.files("old")),
                try origin.add("2.0.0", StrangerTests.files("new"))
            )
            let deployments = [
                ClientSystem.expo: ["": ChannelName.stable, "main": .stable],
                .capgo: ["com.demo.app": .stable], .chcp: ["production": .stable],
                .meteor: ["production": .stable],
            ]
            for (system, names) in deployments.sorted(by: { $0.key < $1.key }) {
                configurations.append(
                    ClientConfiguration(system, baseURL: "https://h", deployments: names))
            }
            for (version, rollout) in [(old, nil), (new, 500)] {
                let target = OfferedRelease.Target.version(version)
                for configuration in configurations {
                    switch configuration.system {
                    case .expo:
                        try origin.publish(
                            target, now: 1, for: ExpoPublishing.self, configuration,
                            rollout: rollout)
                    case .capgo:
                        try origin.publish(
                            target, now: 1, for: CapgoPublishing.self, configuration,
                            rollout: rollout)
                    case .chcp:
                        try origin.publish(target, now: 1, for: ChcpPublishing.self, configuration)
                    default: continue
                    }
                }
            }
            let objects = origin.objects.keys.map(\.description).sorted()
            words =
                [old, new, secret].map(\.content.description) + objects.prefix(6) + [
                    "for", "expo", "capgo", "chcp", "meteor", "manifest", "assets", "updates",
                    "stats",
                    "channel_self", "archives", "production", "www", "chcp.json", "chcp.manifest",
                    "__cordova", "manifest.json", "index.html", "assets/4f1c", "..", ".", "", "%2F",
                    "%2e%2e", "%00", "%", "%ff", "\u{fc}", String(repeating: "a", count: 3000),
                ] + [old, secret].map { "\($0.content).zip" }
        }

        func answer(_ request: ClientRequest) throws -> [(ClientConfiguration, ClientAnswer)] {
            try configurations.compactMap { configuration in
                let answer: ClientAnswer? =
                    switch configuration.system {
                    case .expo: try ExpoDecider.answer(request, configuration, origin)
                    case .capgo: try CapgoDecider.answer(request, configuration, origin)
                    case .chcp: try ChcpDecider.answer(request, configuration, origin)
                    default: try MeteorDecider.answer(request, configuration, origin)
                    }
                return answer.map { (configuration, $0) }
            }
        }

        func serves(_ url: String, _ configuration: ClientConfiguration) throws -> Bool {
            switch configuration.system {
            case .expo: try origin.serves(url, ExpoDecider.self, configuration)
            case .capgo: try origin.serves(url, CapgoDecider.self, configuration)
            default:
                try origin.serves(url + "/chcp.manifest", ChcpDecider.self, configuration)
            }
        }
    }

    private static func request(
        _ subject: Subject, _ random: inout SeededRandom
    ) -> ClientRequest {
        let (contents, objects) = (subject.words[0..<3], subject.words[3..<9])
        let content = contents.randomElement(using: &random) ?? ""
        let object = objects.randomElement(using: &random) ?? ""
        let right = [
            "for/expo/manifest", "for/expo/manifest", "for/expo/assets/\(content)/\(object).png",
            "for/capgo/updates", "for/capgo/updates", "for/capgo/archives/\(content).zip",
            "for/capgo/channel_self", "for/chcp/production/chcp.json",
            "for/chcp/production/www/\(content)/chcp.manifest",
            "for/chcp/production/www/\(content)/assets/4f1c",
            "for/meteor/production/__cordova/manifest.json",
        ]
        let chosen = right.randomElement(using: &random) ?? ""
        var path = chosen.split(separator: "/").map(String.init)
        if Bool.random(using: &random) {
            for _ in 0..<Int.random(in: 1..<3, using: &random) {
                let word = subject.words.randomElement(using: &random) ?? ""
                switch Int.random(in: 0..<3, using: &random) {
                case 0: path.append(word)
                case 1: path.removeLast()
                default: path[Int.random(in: 0..<path.count, using: &random)] = word
                }
            }
        }
        let usual = chosen.hasSuffix("updates") ? "POST" : "GET"
        let method = [usual, usual, usual, usual, "HEAD", "POST", "PUT", ""].randomElement(
            using: &random)
        var fields: [ClientRequest.Field] = []
        for (name, values) in [
            ("expo-protocol-version", ["1", "1", "1", "0"]),
            ("expo-platform", ["ios", "android", "x"]),
            ("expo-runtime-version", ["1", "1", "2", ""]),
            ("expo-channel-name", ["main", "other"]),
            ("eas-client-id", ["device-1", "device-2", "\u{fc}"]),
            ("expo-expect-signature", ["sig=?0", "(("]),
            ("accept", ["*/*", "application/json", "multipart/mixed", ";;"]),
            ("accept-encoding", ["gzip", ","]),
            ("host", ["evil.example"]),
        ] {
            // The first three make a request of Expo's.
            let isLikely = name.hasPrefix("expo-p") || name.hasPrefix("expo-r")
            if isLikely || Int.random(in: 0..<4, using: &random) == 0 {
                fields.append(.init(name, values.randomElement(using: &random) ?? ""))
            }
        }
        let name = ["\"builtin\"", "\"2.0.0\"", "\"1.0.0\"", "[]"].randomElement(using: &random)
        let device = ["\"device-1\"", "\"device-2\"", nil].randomElement(using: &random) ?? nil
        let body = CapgoTests.request(["version_name": name, "device_id": device]).body
        return ClientRequest(
            method ?? "GET", "/" + path.joined(separator: "/"), fields: fields, body: body)
    }

    @Test("get answers that lead somewhere, and nothing that was offered to nobody")
    func requests() throws {
        let subject = try Subject()
        let secrets = ["secret", "secret on android", "page of secret"].map { Array($0.utf8) }
        let hidden = try Set(secrets.map { try ModelOrigin.address(of: $0) })
        var random = SeededRandom(seed: 5)
        var statuses: [Int: Int] = [:]
        for _ in 0..<4000 {
            let request = Self.request(subject, &random)
            let answers = try subject.answer(request)
            if answers.count > 1 { Issue.record("two systems answer \(request.path)") }
            for (configuration, answer) in answers {
                statuses[answer.status, default: 0] += 1
                if case .object(let address, _) = answer.body, hidden.contains(address) {
                    Issue.record("\(request) got what was offered to nobody")
                }
                let bytes = try subject.origin.bytes(of: answer)
                let text = String(decoding: bytes, as: UTF8.self)
                for word in hidden.map(\.description) + [
                    "\(subject.secret.content)", "evil.example",
                ]
                where text.contains(word) {
                    Issue.record("\(request) was told of what was offered to nobody")
                }
                guard answer.status == 200, case .bytes = answer.body else { continue }
                for part in text.split(separator: "\"") where part.hasPrefix("https://") {
                    if try !subject.serves(String(part), configuration) {
                        Issue.record("\(request.path) names \(part), which nothing answers")
                    }
                }
            }
        }
        expect(Set(statuses.keys).isSubset(of: [200, 204, 400, 404, 405, 406]), "\(statuses)")
        expect(statuses[200, default: 0] > 300 && statuses[404, default: 0] > 300, "\(statuses)")
    }
}
