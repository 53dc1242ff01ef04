import Archives
import CASStore
import ClientSystems
import Expectations
import HotPush
import Platform
import StorageTestSupport
import StrictJSON
import Testing
import VersionTree

/// Requests of strangers: whatever they send, an answer names only what a channel offers to clients.
@Suite struct HostileRequestTests {
    /// A request's parts, to be broken.
    private struct Seed {
        var method = "GET"
        var path: String
        var query: String?
        var body = ""
    }

    private static let pieces = [
        "%", "%2", "%2F", "%2e%2e", "..", "/", "//", "%00", "\u{0}", "\\", "?", "&", "=", "+",
        "%25", "*",
        "||", "é", "%C3", "%C3%A9", "\u{1F600}", "null", "-1", "9999999999999999999", ".zip",
        ".json", ".from.",
        "{", "[", "\"", "1.0.0", "true", String(repeating: "a", count: 70_000),
        String(repeating: "%41", count: 300), String(repeating: "x=1&", count: 100),
    ]

    private static func broken(
        _ text: String, _ others: [String], _ random: inout SeededRandom
    ) -> String {
        var bytes = Array(text.utf8)
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            let start = Int.random(in: 0...bytes.count, using: &random)
            let end = Int.random(in: start...min(bytes.count, start + 40), using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes.removeSubrange(start..<end)
            case 1: bytes.insert(contentsOf: bytes[start..<end], at: start)
            case 2:
                let piece = pieces.randomElement(using: &random) ?? ""
                bytes.replaceSubrange(start..<end, with: Array(piece.utf8))
            default:
                let other = Array((others.randomElement(using: &random) ?? "").utf8)
                let from = Int.random(in: 0...other.count, using: &random)
                bytes.replaceSubrange(start..., with: other[from...])
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Sends broken requests.
    ///
    /// - Parameters:
    ///   - hidden: texts that no answer may have: addresses and ids of what is offered to nobody here.
    ///   - offered: objects that an answer may name, and archives may have.
    private func send<Decider: ClientDecider>(
        _ seeds: [Seed], to decider: Decider.Type, _ configuration: ClientConfiguration,
        _ origin: ModelOrigin, hidden: [String], offered: Set<ObjectID>
    ) throws -> [String] {
        var random = SeededRandom()
        var failures: [String] = []
        let texts = seeds.flatMap { [$0.path, $0.query ?? "", $0.body] }
        var answered = 0
        for _ in 0..<1000 {
            let seed = try require(seeds.randomElement(using: &random))
            let methods = [seed.method, seed.method, seed.method, "HEAD", "PUT"]
            let request = ClientRequest(
                methods.randomElement(using: &random) ?? "GET",
                "/" + Self.broken(String(seed.path.dropFirst()), texts, &random),
                query: seed.query.map { Self.broken($0, texts, &random) },
                fields: [.init("host", "evil.example")],
                body: Array(Self.broken(seed.body, texts, &random).utf8))
            let told = try Decider.answer(request, configuration, origin)
            guard let told else { continue }
            if told.status == 200 { answered += 1 }
            let shown =
                "\(request.method) \(request.path.prefix(200)) \(request.query?.prefix(200) ?? "")"
            if ![200, 400, 404, 405, 413].contains(told.status) {
                failures.append("\(shown): status \(told.status)")
            }
            if case .archive(let archive) = told.body {
                for member in archive.members {
                    if case .object(let address) = member.content, !offered.contains(address) {
                        failures.append("\(shown): an object of nobody's")
                    }
                }
            }
            if case .document(let document, _) = told.body, hidden.contains(document.id) {
                failures.append("\(shown): a document of nobody's")
            }
            if hidden.contains(where: { told.text.contains($0) }) || told.text.contains("evil") {
                failures.append("\(shown): tells what is hidden")
            }
            for url in Self.urls(in: told.document) {
                let isServed = try isServed(url, by: decider, configuration, origin, offered)
                if !isServed { failures.append("\(shown): nobody serves \(url)") }
            }
        }
        // A quarter is sent whole: whoever answers nothing tells nothing, either.
        expect(answered > 20)
        return failures
    }

    private func isServed<Decider: ClientDecider>(
        _ url: String, by decider: Decider.Type, _ configuration: ClientConfiguration,
        _ origin: ModelOrigin, _ offered: Set<ObjectID>
    ) throws -> Bool {
        guard url.hasPrefix(configuration.baseURL + "/") else { return false }
        let path = String(url.dropFirst(configuration.baseURL.count))
        if path.hasPrefix("/objects/") {
            let digits = String(path.dropFirst("/objects/".count)).replacing("/", with: "")
            return ObjectID(digits).map { offered.contains($0) } ?? false
        }
        return try Decider.answer(ClientRequest(path), configuration, origin)?.status == 200
    }

    private static func urls(in value: JSONValue?) -> [String] {
        switch value {
        case .string(let text): text.hasPrefix("http") ? [text] : []
        case .array(let values): values.flatMap { urls(in: $0) }
        case .object(let members): members.flatMap { urls(in: $0.value) }
        default: []
        }
    }

    @Test func `CodePush`() throws {
        var model = CodePushModel()
        let first = try model.publish("1", ["a": "1", "b": "2"])
        let second = try model.publish(
            "2", ["a": "1", "c": "3"], range: "^1.0.0", isMandatory: true)
        let hidden = try model.publish("3", ["secret": "4"], in: try ChannelName("hidden"))
        let gone = try model.publish("4", ["a": "gone"])
        model.withdraw(gone)
        let hash = try require(first.packageHash)
        let (old, new) = (
            try require(first.version?.content), try require(second.version?.content)
        )
        let secret = try require(hidden.version?.content)
        let lost = try require(gone.version?.content)
        let query =
            "deployment_key=KEY&app_version=1.0.0&package_hash=\(hash)&is_companion=false&label=v1"
            + "&client_unique_id=dev-1"
        let api = "/v0.1/public/codepush/"
        let seeds = [
            Seed(path: api + "update_check", query: query),
            Seed(
                path: "/updateCheck", query: "deploymentKey=KEY&appVersion=1.0&packageHash=\(hash)"),
            Seed(
                path: api + "update_check",
                query:
                    "deployment_key=KEY&app_version=1.0.0&package_hash=\(hidden.packageHash ?? "")"),
            Seed(path: "/for/codepush/archives/\(new).from.\(old).zip"),
            Seed(path: "/for/codepush/archives/\(secret).zip"),
            Seed(path: "/for/codepush/archives/\(new).from.\(secret).zip"),
            Seed(path: "/for/codepush/archives/\(lost).zip"),
            Seed(
                method: "POST", path: api + "report_status/deploy",
                body: #"{"app_version":"1.0.0","deployment_key":"KEY","label":"v1"}"#),
        ]
        let offered = try Set(["1", "2", "3"].map { try ObjectID(of: Array($0.utf8)) })
        let failures = try send(
            seeds, to: CodePushDecider.self, model.configuration, model.origin,
            hidden: [secret.description, lost.description, hidden.packageHash ?? ""],
            offered: offered)
        expect(failures, equals: [])
    }

    @Test func `hot-updater`() throws {
        var model = HotUpdaterModel()
        let first = try model.publish("1", ["index.ios.bundle": "1", "b": "2"])
        let second = try model.publish("2", ["index.ios.bundle": "3", "b": "2"], perMille: 500)
        let hidden = try model.publish("3", ["secret": "4"], in: try ChannelName("hidden"))
        let gone = try model.publish("4", ["a": "gone"])
        model.withdraw(gone)
        let ids = try [first, second, hidden, gone].map { try require($0.id) }
        let contents = try [first, second, hidden, gone].map { try require($0.version?.content) }
        let zero = HotUpdaterCheck.builtIn
        let prefix = "/for/hot-updater/"
        var seeds = [
            Seed(path: prefix + "app-version/ios/1.0/production/\(zero)/\(ids[0])/17"),
            Seed(path: prefix + "app-version/android/1.0/production/\(zero)/\(zero)"),
            Seed(path: prefix + "app-version/ios/1.0/production/\(zero)/\(ids[3])/qa"),
            Seed(path: prefix + "fingerprint/ios/abc/production/\(ids[0])/\(ids[2])/1000"),
            Seed(path: prefix + "app-version/ios/1.0/hidden/\(zero)/\(zero)"),
        ]
        for (id, content) in zip(ids, contents) {
            seeds.append(Seed(path: prefix + "archives/\(content).\(id).zip"))
            seeds.append(Seed(path: prefix + "manifests/\(content).\(id).json"))
        }
        let offered = try Set(["1", "2", "3"].map { try ObjectID(of: Array($0.utf8)) })
        let failures = try send(
            seeds, to: HotUpdaterDecider.self, model.configuration, model.origin,
            hidden: [ids[2], ids[3], contents[2].description, contents[3].description],
            offered: offered)
        expect(failures, equals: [])
    }
}
