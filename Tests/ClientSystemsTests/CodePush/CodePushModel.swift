import HotPush
import StorageTestSupport

@testable import ClientSystems

/// An origin whose channel `stable` answers to the deployment key `KEY`.
struct CodePushModel {
    var origin = ModelOrigin()
    var configuration = ClientConfiguration(
        .codePush, baseURL: "https://u.example.org", deployments: ["KEY": .stable])
    private var now: Int64 = 1_700_000_000_000

    @discardableResult
    mutating func publish(
        _ name: String, _ files: [String: String]? = nil, range: String? = nil,
        isMandatory: Bool = false, perMille: Int? = nil, in channel: ChannelName = .stable,
        signer: (any ClientSigner)? = nil
    ) throws -> ClientOffer {
        now += 1000
        let version = try origin.add(name, files ?? ["index.html": "version \(name)"])
        return try origin.publish(
            .version(version), in: channel, now: now, for: CodePush.self, configuration,
            rollout: perMille,
            requirements: range.map {
                [Requirement(kind: Requirement.appVersionRange, value: $0)]
            } ?? [], isMandatory: isMandatory, signer: signer)
    }

    /// Sends devices back to what was shipped with the app.
    mutating func publishEmbedded() throws {
        now += 1000
        try origin.publish(.embedded, now: now, for: CodePush.self, configuration)
    }

    func answer(_ request: ClientRequest) throws -> ClientAnswer? {
        try CodePush.answer(request, configuration, origin)
    }

    /// The answer to an update check of a client with the key and an app version.
    func check(_ query: String, version: String = "1.0.0") throws -> ClientAnswer? {
        try answer(
            ClientRequest(
                "/v0.1/public/codepush/update_check",
                query: "deployment_key=KEY&app_version=\(version)" + query))
    }

    /// What such an answer says.
    func update(_ query: String = "", version: String = "1.0.0") throws -> JSONValue? {
        try check(query, version: version)?.document?["update_info"]
    }

    func archive(at url: String?) throws -> [String: [UInt8]]? {
        guard let url, url.hasPrefix(configuration.baseURL),
            let answer = try answer(
                ClientRequest(String(url.dropFirst(configuration.baseURL.count)))),
            answer.status == 200, case .archive(let archive) = answer.body
        else { return nil }
        return try origin.files(in: archive)
    }
}

extension ClientOffer {
    /// How a client says that it runs it.
    var query: String { "&package_hash=\(packageHash ?? "")" }
}

extension ClientRequest {
    init(_ path: String, query: String? = nil, fields: [Field] = []) {
        self.init("GET", path, query: query, fields: fields)
    }
}

extension ClientAnswer {
    /// The bytes of the body, if they are in memory.
    var bytes: [UInt8] { if case .bytes(let bytes) = body { bytes } else { [] } }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The body as JSON, if it is.
    var document: JSONValue? { try? JSONValue.parse(bytes) }
}

/// Signs with what everybody can check: the message itself, between two words.
struct ModelSigner: ClientSigner {
    var key = "key"

    func sign(_ message: [UInt8]) throws(StoreError) -> [UInt8] {
        Array("\(key) signs ".utf8) + message
    }
}
