import HotPush
import StorageTestSupport

@testable import ClientSystems

/// An origin whose channel `stable` answers to `production` of both platforms.
struct HotUpdaterModel {
    var origin = ModelOrigin()
    var configuration = ClientConfiguration(
        .hotUpdater, baseURL: "https://u.example.org",
        deployments: ["ios/production": .stable, "android/production": .stable])
    private var now: Int64 = 1_700_000_000_000

    @discardableResult
    mutating func publish(
        _ name: String, _ files: [String: String]? = nil, _ requirements: [Requirement] = [],
        isMandatory: Bool = false, perMille: Int? = nil, in channel: ChannelName = .stable,
        signer: (any ClientSigner)? = nil
    ) throws -> ClientOffer {
        now += 1000
        let version = try origin.add(name, files ?? ["index.ios.bundle": "version \(name)"])
        return try origin.publish(
            .version(version), in: channel, now: now, for: HotUpdater.self,
            configuration, rollout: perMille, requirements: requirements,
            isMandatory: isMandatory, signer: signer)
    }

    /// Sends devices back to what was shipped with the app.
    mutating func publishEmbedded() throws {
        now += 1000
        try origin.publish(.embedded, now: now, for: HotUpdater.self, configuration)
    }

    func answer(
        _ path: String, sdk: String? = "0.36.3", method: String = "GET"
    ) throws -> ClientAnswer? {
        try HotUpdater.answer(
            ClientRequest(
                method, "/for/hot-updater/" + path,
                fields: sdk.map { [.init("hot-updater-sdk-version", $0)] } ?? []),
            configuration, origin)
    }

    /// What a client is told that runs a bundle.
    func check(
        _ current: String? = nil, app: String = "app-version/ios/1.0",
        minimum: String = HotUpdaterCheck.builtIn, cohort: String? = nil
    ) throws -> JSONValue? {
        try answer(
            "\(app)/production/\(minimum)/\(current ?? HotUpdaterCheck.builtIn)"
                + (cohort.map { "/" + $0 } ?? ""))?.document
    }

    func answer(at url: String?) throws -> ClientAnswer? {
        guard let url, url.hasPrefix(configuration.baseURL) else { return nil }
        return try HotUpdater.answer(
            ClientRequest(String(url.dropFirst(configuration.baseURL.count))), configuration,
            origin)
    }

    /// The bytes of the archive or document at a URL.
    func bytes(at url: String?) throws -> [UInt8] {
        try answer(at: url).map { try origin.bytes(of: $0) } ?? []
    }
}
