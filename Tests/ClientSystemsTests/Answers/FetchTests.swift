import StorageTestSupport

@testable import ClientSystems
@testable import HotPush

/// What clients fetch says so before a release's files are looked up, so that no check waits for it; checks never do.
@Suite struct FetchTests {
    /// An origin in which nothing may be put together, and what feeds asked it.
    private final class WatchedOrigin: ClientOrigin {
        let model: ModelOrigin
        let mayCompose: Bool
        var isFetch = false
        var lookedUp = 0

        init(_ model: ModelOrigin, mayCompose: Bool) {
            self.model = model
            self.mayCompose = mayCompose
        }

        func channel(
            _ name: ChannelName, for system: ClientSystem
        ) throws(StoreError) -> ClientChannel? { try model.channel(name, for: system) }

        func willFetch(composing: Bool) throws(StoreError) {
            isFetch = true
            if composing, !mayCompose { throw StoreError(.unplanned, "not here") }
        }

        func content(of offer: ClientOffer) throws(StoreError) -> ClientContent? {
            if !isFetch { lookedUp += 1 }
            return try model.content(of: offer)
        }

        func bytes(
            of document: ClientDocument, for system: ClientSystem
        ) throws(StoreError) -> [UInt8]? { model.objects[document.address] }
    }

    private static func configuration(_ system: ClientSystem) throws -> ClientConfiguration {
        let deployments: [ClientSystem: String] = [
            .codePush: "KEY", .hotUpdater: "ios/production", .expo: "", .capgo: "app",
            .chcp: "web", .meteor: "web",
        ]
        return ClientConfiguration(
            system, baseURL: "https://u.example.org",
            deployments: [try require(deployments[system]): .stable])
    }

    /// Two releases, the offers of a system, and what it fetches of them.
    private struct Subject {
        var origin = ModelOrigin()
        var archives: [String] = []
        var files: [String] = []
        var checks: [ClientRequest] = []
        let configuration: ClientConfiguration
        let answer: (ClientRequest, WatchedOrigin) throws -> ClientAnswer?

        init<Feed: ClientFeed>(_ feed: Feed.Type) throws {
            let configuration = try FetchTests.configuration(Feed.system)
            self.configuration = configuration
            answer = { try Feed.answer($0, configuration, $1) }
            var offers: [ClientOffer] = []
            for name in ["1.0.0", "2.0.0"] {
                let files = ExpoTree.files(name).merging(
                    ["index.html": name, "index.ios.bundle": name]
                ) { $1 }
                let version = try origin.add(name, files)
                offers.append(
                    try origin.publish(.version(version), now: 1, for: feed, configuration))
            }
            let contents = try offers.map { try require($0.version?.content) }
            let (old, new) = (contents[0], contents[1])
            switch Feed.system {
            case .codePush:
                archives = ["\(new).zip", "\(old).zip", "\(new).from.\(old).zip"]
                    .map { "/for/codepush/archives/\($0)" }
                checks = [
                    ClientRequest(
                        "GET", "/v0.1/public/codepush/update_check",
                        query: "deployment_key=KEY&app_version=1.0.0&package_hash="
                            + (offers[0].packageHash ?? ""))
                ]
            case .hotUpdater:
                let id = try require(offers[1].id)
                archives = ["/for/hot-updater/archives/\(new).\(id).zip"]
                let builtIn = HotUpdaterCheck.builtIn
                checks = [
                    ClientRequest(
                        "GET",
                        "/for/hot-updater/app-version/ios/1.0/production/\(builtIn)/\(builtIn)/1")
                ]
            case .capgo:
                archives = ["/for/capgo/archives/\(new).zip"]
                let body =
                    #"{"app_id":"app","device_id":"d","version_name":"1.0.0","#
                    + #""version_build":"1.0","version_os":"1","version_code":"1","platform":"ios","#
                    + #""plugin_version":"6.0.0","is_emulator":false,"is_prod":true}"#
                checks = [ClientRequest("POST", "/for/capgo/updates", body: Array(body.utf8))]
            case .chcp:
                files = ["chcp.manifest", "index.html"].map { "/for/chcp/web/www/\(old)/\($0)" }
                checks = [ClientRequest("GET", "/for/chcp/web/chcp.json")]
            case .expo:
                let asset = try address(of: Array("picture".utf8))
                files = ["/for/expo/assets/\(old)/\(asset).png"]
                checks = [ExpoTree.request()]
            case .meteor: break
            }
        }
    }

    private static func subjects() throws -> [Subject] {
        [
            try Subject(CodePush.self), try Subject(HotUpdater.self), try Subject(Capgo.self),
            try Subject(Chcp.self), try Subject(Expo.self),
        ]
    }

    @Test func `No archive of any system is begun where none may be made, nor looked up`() throws {
        for subject in try Self.subjects() {
            for path in subject.archives {
                let refusing = WatchedOrigin(subject.origin, mayCompose: false)
                let error = #expect(throws: StoreError.self, "\(path)") {
                    try subject.answer(ClientRequest("GET", path), refusing)
                }
                expect(error?.code == .unplanned && refusing.lookedUp == 0, "\(path)")
                let taking = WatchedOrigin(subject.origin, mayCompose: true)
                let answer = try require(subject.answer(ClientRequest("GET", path), taking))
                guard case .archive = answer.body else {
                    Issue.record("\(path) is no archive: \(answer.status)")
                    continue
                }
            }
        }
    }

    @Test func `No file of any system is looked up before it is said to be fetched`() throws {
        for subject in try Self.subjects() {
            for path in subject.archives + subject.files {
                let origin = WatchedOrigin(subject.origin, mayCompose: true)
                let answer = try require(subject.answer(ClientRequest("GET", path), origin))
                expect(
                    answer.status == 200 && origin.isFetch && origin.lookedUp == 0,
                    "\(path): \(answer.status)")
            }
        }
    }

    @Test func `No check of any system is taken for a fetch, and none makes an archive`() throws {
        for subject in try Self.subjects() {
            for check in subject.checks {
                let origin = WatchedOrigin(subject.origin, mayCompose: false)
                let answer = try require(subject.answer(check, origin))
                expect(answer.status == 200 && !origin.isFetch, "\(check.path): \(answer.status)")
            }
        }
    }
}
