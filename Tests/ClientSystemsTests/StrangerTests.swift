import Archives
import StorageTestSupport

@testable import ClientSystems
@testable import HotPush

/// Whatever is asked: an answer, never an error; never a URL that leads nowhere, never what was not offered.
@Suite("Requests of strangers") struct StrangerTests {
    /// What all systems take: an export of Expo's with a start page and a bundle.
    private static func files(_ text: String) -> [String: String] {
        ExpoTree.files(text).merging(
            ["index.html": "page of \(text)", "index.ios.bundle": "bundle of \(text)"]
        ) { $1 }
    }

    /// An origin in which a system's clients are offered two releases, and others are offered to nobody here.
    struct Subject {
        var origin = ModelOrigin()
        let feed: any ClientFeed.Type
        let configuration: ClientConfiguration
        var seeds: [ClientRequest] = []
        /// Addresses and ids of what is offered to nobody here: no answer may have them.
        var hidden: [String] = []
        /// The objects that an answer may name, and archives may have.
        let offered: Set<ObjectID>

        init(_ feed: any ClientFeed.Type, _ deployment: String) throws {
            self.feed = feed
            configuration = ClientConfiguration(
                feed.system, baseURL: "https://u.example.org", deployments: [deployment: .stable])
            offered = try Set(
                ["old", "new"].flatMap { StrangerTests.files($0).values }.map {
                    try ObjectID(of: Array($0.utf8))
                })
            // What was begun with is there as long as the origin has it: Expo's assets and chcp's files.
            let keeps = [.expo, .chcp].contains(feed.system)
            var offers: [ClientOffer] = []
            for name in ["old", "new", "secret"] + (keeps ? [] : ["gone"]) {
                let version = try origin.add("\(offers.count + 1).0.0", StrangerTests.files(name))
                // Releases of Meteor's are made by its own tools: its clients find nothing here.
                if feed.system == .meteor { continue }
                let isPartial = name == "new" && feed.system != .chcp
                offers.append(
                    try origin.publish(
                        .version(version), in: name == "secret" ? ChannelName("hidden") : .stable,
                        now: Int64(offers.count + 1) * 1000, for: feed, configuration,
                        rollout: isPartial ? 500 : nil, isMandatory: name == "new"))
                if name == "gone" { origin.withdraw(.version(version)) }
            }
            for offer in offers.dropFirst(2) {
                hidden += [offer.version?.content.description, offer.id, offer.packageHash]
                    .compactMap { $0 }
                hidden += offer.documents.map(\.id)
            }
            let unoffered = ["page of secret", "bundle of secret", "secret"]
            hidden += try unoffered.map { try ObjectID(of: Array($0.utf8)).description }
            let contents = try offers.map { try require($0.version?.content) }
            seeds = try Self.seeds(feed.system, offers, contents)
        }

        private static func seeds(
            _ system: ClientSystem, _ offers: [ClientOffer], _ contents: [ObjectID]
        ) throws -> [ClientRequest] {
            let root = "/for/\(system.rawValue)/"
            switch system {
            case .codePush:
                let api = "/v0.1/public/codepush/"
                let check = "deployment_key=KEY&app_version=1.0.0&package_hash="
                let hashes = offers.map { $0.packageHash ?? "" }
                let report = #"{"app_version":"1.0.0","deployment_key":"KEY","label":"v1"}"#
                return hashes.map {
                    ClientRequest(api + "update_check", query: check + $0 + "&client_unique_id=d")
                } + [
                    ClientRequest(
                        "/updateCheck", query: "deploymentKey=KEY&appVersion=1.0&label=v1"),
                    ClientRequest("POST", api + "report_status/deploy", body: Array(report.utf8)),
                ] + contents.map { ClientRequest(root + "archives/\($0).zip") }
                    + contents.map {
                        ClientRequest(root + "archives/\(contents[1]).from.\($0).zip")
                    }
            case .hotUpdater:
                let ids = [HotUpdaterCheck.builtIn] + offers.compactMap(\.id)
                let minimum = "1.0/production/\(ids[0])"
                return ids.map { ClientRequest(root + "app-version/ios/\(minimum)/\($0)/17") }
                    + [
                        ClientRequest(root + "fingerprint/android/\(minimum)/\(ids[3])/qa"),
                        ClientRequest(root + "app-version/ios/1.0/hidden/\(ids[0])/\(ids[0])"),
                    ]
                    + zip(contents, ids.dropFirst()).flatMap { content, id in
                        ["archives/\(content).\(id).zip", "manifests/\(content).\(id).json"]
                            .map { ClientRequest(root + $0) }
                    }
            case .expo:
                let asset = try ObjectID(of: Array("picture".utf8))
                let checks: [[String: String?]] = [
                    [:], ["eas-client-id": "device-1"], ["eas-client-id": "device-2"],
                    ["expo-expect-signature": "sig=?0"], ["accept": "application/json"],
                    ["expo-current-update-id": offers[0].documents[0].id],
                ]
                return checks.map { ExpoTree.request($0) }
                    + contents.map { ClientRequest(root + "assets/\($0)/\(asset).png") }
            case .capgo:
                return ["builtin", "1.0.0", "2.0.0"].map { name in
                    CapgoTests.request([
                        "version_name": "\"\(name)\"", "device_id": "\"device-\(name)\"",
                    ])
                } + contents.map { ClientRequest(root + "archives/\($0).zip") }
                    + [
                        ClientRequest("POST", root + "stats"),
                        ClientRequest("PUT", root + "channel_self"),
                    ]
            case .chcp:
                return [ClientRequest(root + "production/chcp.json")]
                    + contents.flatMap { content in
                        ["chcp.manifest", "index.html", "assets/4f1c"].map {
                            ClientRequest(root + "production/www/\(content)/\($0)")
                        }
                    }
            case .meteor:
                return ["manifest.json", "index.html", ""].map {
                    ClientRequest(root + "production/__cordova/\($0)")
                }
            }
        }

        /// Whether a URL of an answer leads to what is offered.
        func serves(_ url: String) throws -> Bool {
            guard url.hasPrefix(configuration.baseURL + "/") else { return false }
            let path = String(url.dropFirst(configuration.baseURL.count))
            if path.hasPrefix("/objects/") {
                let digits = String(path.dropFirst("/objects/".count)).replacing("/", with: "")
                return ObjectID(digits).map { offered.contains($0) } ?? false
            }
            // The URL of chcp's folder is none of a file.
            let request = ClientRequest(feed.system == .chcp ? path + "/chcp.manifest" : path)
            return try feed.answer(request, configuration, origin)?.status == 200
        }

        /// What is wrong with an answer; empty for what may be told.
        func problems(of answer: ClientAnswer) throws -> [String] {
            var problems: [String] = []
            if ![200, 204, 400, 404, 405, 406, 413].contains(answer.status) {
                problems.append("status \(answer.status)")
            }
            switch answer.body {
            case .object(let address, _) where !offered.contains(address):
                problems.append("an object of nobody's")
            case .document(let document, _) where hidden.contains(document.id):
                problems.append("a document of nobody's")
            case .archive(let archive):
                for member in archive.members {
                    if case .object(let address) = member.content, !offered.contains(address) {
                        problems.append("an archive with an object of nobody's")
                    }
                }
            default: break
            }
            var told = answer.text
            if case .document = answer.body {
                told = String(decoding: try origin.bytes(of: answer), as: UTF8.self)
            }
            for word in hidden + ["evil"] where told.contains(word) {
                problems.append("it tells of \(word)")
            }
            for part in told.split(separator: "\"") where part.hasPrefix("http") {
                if try !serves(String(part)) { problems.append("nobody serves \(part)") }
            }
            return problems
        }
    }

    private static let pieces = [
        "%", "%2", "%2F", "%2e%2e", "..", "/", "//", "%00", "\u{0}", "\\", "?", "&", "=", "+",
        "%25", "*", "||", "é", "%C3", "%C3%A9", "\u{1F600}", "null", "-1", "9999999999999999999",
        ".zip", ".json", ".from.", "{", "[", "\"", "1.0.0", "true", "((", ";;",
        String(repeating: "a", count: 70_000), String(repeating: "%41", count: 300),
        String(repeating: "x=1&", count: 100),
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

    private static func request(
        like seed: ClientRequest, _ texts: [String], _ random: inout SeededRandom
    ) -> ClientRequest {
        let methods = [seed.method, seed.method, seed.method, "HEAD", "POST", "PUT", ""]
        var fields = seed.fields
        // Most stay as they are: one that is broken is often enough for a refusal.
        if Int.random(in: 0..<3, using: &random) == 0, !fields.isEmpty {
            let position = Int.random(in: 0..<fields.count, using: &random)
            fields[position].value = broken(fields[position].value, texts, &random)
        }
        for name in ["host", "x-forwarded-host"] { fields.append(.init(name, "evil.example")) }
        let body = broken(String(decoding: seed.body, as: UTF8.self), texts, &random)
        return ClientRequest(
            methods.randomElement(using: &random) ?? "GET",
            "/" + broken(String(seed.path.dropFirst()), texts, &random),
            query: seed.query.map { broken($0, texts, &random) },
            fields: fields, body: Array(body.utf8))
    }

    static func subjects() throws -> [Subject] {
        [
            try Subject(CodePush.self, "KEY"), try Subject(HotUpdater.self, "ios/production"),
            try Subject(Expo.self, ""), try Subject(Capgo.self, "com.demo.app"),
            try Subject(Chcp.self, "production"), try Subject(Meteor.self, "production"),
        ]
    }

    @Test func `get answers that lead somewhere, and nothing that was offered to nobody`() throws {
        let subjects = try Self.subjects()
        var random = SeededRandom()
        for subject in subjects {
            let texts = subject.seeds.flatMap {
                [$0.path, $0.query ?? "", String(decoding: $0.body, as: UTF8.self)]
            }
            var statuses: [Int: Int] = [:]
            var failures: [String] = []
            for _ in 0..<1000 {
                let seed = try require(subject.seeds.randomElement(using: &random))
                let request = Self.request(like: seed, texts, &random)
                let answers = try subjects.compactMap { other in
                    try other.feed.answer(request, other.configuration, other.origin).map {
                        (other, $0)
                    }
                }
                let shown =
                    "\(request.method) \(request.path.prefix(200)) \(request.query?.prefix(200) ?? "")"
                if answers.count > 1 { failures.append("\(shown): two systems answer") }
                for (other, answer) in answers {
                    statuses[answer.status, default: 0] += 1
                    failures += try other.problems(of: answer).map { "\(shown): \($0)" }
                }
            }
            expect(failures, equals: [], "\(subject.feed.system)")
            // A quarter is sent whole: whoever answers nothing tells nothing, either. Meteor's has no release here.
            let isAnswered = statuses[200, default: 0] > 20
            expect(isAnswered || subject.feed.system == .meteor, "\(subject.feed): \(statuses)")
        }
    }
}
