import HotPush
import StorageTestSupport

@testable import ClientSystems

/// What CodePush's and hot-updater's clients cannot be told, and what the publisher is told instead.
@Suite struct ObjectionTests {
    private static func requirement(_ kind: String, _ value: String) -> Requirement {
        Requirement(kind: kind, value: value)
    }

    /// A release, and a word of each objection to it; those that refuse it end in `!`.
    private struct Row {
        var requirements: [Requirement] = []
        var perMille: Int?
        var files = ["index.ios.bundle": "a", "index.android.bundle": "b"]
        var executables: Set<String> = []
        var isEmbedded = false
        var words: [String]
    }

    private func failures<Feed: ClientFeed>(
        _ rows: [Row], _ feed: Feed.Type, _ configuration: ClientConfiguration
    ) throws -> [String] {
        var failures: [String] = []
        for row in rows {
            let objections = try Feed.objections(
                row.isEmbedded ? nil : row.files, row.requirements, perMille: row.perMille,
                executables: row.executables, for: configuration)
            let isTold =
                objections.count == row.words.count
                && zip(objections, row.words).allSatisfy { objection, word in
                    objection.refuses == word.hasSuffix("!")
                        && objection.message.contains(word.replacing("!", with: ""))
                }
            if !isTold { failures.append("\(row.words): \(objections.map(\.message))") }
        }
        return failures
    }

    @Test func `Without a requirement every app gets it, and that is said`() throws {
        let rows: [(any ClientFeed.Type, String)] = [
            (ClientSystems.CodePush.self, Requirement.appVersionRange),
            (ClientSystems.CodePush.self, Requirement.minimumAppVersion),
            (HotUpdater.self, Requirement.appVersionRange),
            (HotUpdater.self, Requirement.minimumAppVersion),
            (HotUpdater.self, Requirement.fingerprint),
            (Capgo.self, Requirement.appVersionRange),
            (Capgo.self, Requirement.minimumAppVersion),
            (Chcp.self, Requirement.minimumNativeInterface),
        ]
        var origin = ModelOrigin()
        let version = try origin.add("1.0.0", ["index.html": "", "index.ios.bundle": ""])
        for (feed, kind) in rows {
            for requirements in [[], [Self.requirement(kind, "1")]] {
                let release = ChannelRelease(
                    .version(version), sequence: 1, createdAt: 1, requirements: requirements)
                let said = try feed.objections(
                    to: origin.clientRelease(
                        release, now: 1,
                        for: ClientConfiguration(feed.system, baseURL: "https://h"))
                ).filter { $0.message.contains(feed.unrestricted) }
                expect(
                    said.map(\.refuses), equals: requirements.isEmpty ? [false] : [],
                    "\(feed.system) \(kind)")
            }
        }
    }

    @Test func `CodePush`() throws {
        let kinds = [
            Requirement.compatibility, Requirement.runtimeVersion, Requirement.fingerprint,
            Requirement.minimumNativeInterface, "later",
        ]
        var rows = kinds.map { kind in
            Row(requirements: [Self.requirement(kind, "1")], words: ["appVersionRange instead!"])
        }
        rows += [
            Row(words: []),
            Row(
                requirements: [
                    Self.requirement(Requirement.appVersionRange, "^1.2"),
                    Self.requirement(Requirement.minimumAppVersion, "1.2.3"),
                ], perMille: 250, words: []),
            Row(
                requirements: [Self.requirement(Requirement.group, "qa")],
                words: ["deployment key of its own!"]),
            Row(
                requirements: [
                    Requirement(kind: Requirement.appVersionRange, value: "1", platform: "ios")
                ], words: ["a channel for that platform!"]),
            Row(
                requirements: [Self.requirement(Requirement.appVersionRange, "one")],
                words: ["no range!"]),
            Row(perMille: 125, words: ["12 % of its clients"]),
            Row(perMille: 5, words: ["no client of CodePush gets it"]),
            Row(files: [:], words: ["no files!"]),
            Row(files: ["a": "1", "b ü": "2"], words: ["b ü first"]),
            Row(
                files: ["CodePush/index.html": "a", "CodePush/b": "b"],
                words: ["without that folder!"]),
            Row(files: ["CodePush/index.html": "a", "b": "b"], words: []),
            Row(
                executables: ["index.ios.bundle"], words: ["the executable bit of index.ios.bundle"]
            ),
            Row(
                executables: ["index.ios.bundle", "index.android.bundle"],
                words: ["the executable bit of 2 files"]),
            Row(isEmbedded: true, words: ["keep what they run"]),
        ]
        let configuration = ClientConfiguration(
            .codePush, baseURL: "https://u", deployments: ["KEY": .stable])
        try expect(failures(rows, ClientSystems.CodePush.self, configuration), equals: [])
        let nobody = ClientConfiguration(.codePush, baseURL: "https://u")
        try expect(
            failures(
                [Row(words: ["origin enable ORIGIN codepush"])], ClientSystems.CodePush.self, nobody
            ),
            equals: [])
    }

    @Test func `hot-updater`() throws {
        let kinds = [
            Requirement.compatibility, Requirement.runtimeVersion,
            Requirement.minimumNativeInterface, "later",
        ]
        var rows = kinds.map { kind in
            Row(requirements: [Self.requirement(kind, "1")], words: ["or fingerprint instead!"])
        }
        let range = Self.requirement(Requirement.appVersionRange, "^1.2")
        let fingerprint = Self.requirement(Requirement.fingerprint, "abc")
        let group = Self.requirement(Requirement.group, "qa,17")
        rows += [
            Row(words: []), Row(requirements: [range], words: []),
            Row(requirements: [fingerprint], words: []),
            Row(requirements: [Self.requirement(Requirement.minimumAppVersion, "1.2")], words: []),
            Row(requirements: [fingerprint, range], words: ["only one of them!"]),
            Row(requirements: [group], words: ["also to this one"]),
            Row(
                requirements: [group], perMille: 500, words: ["a part of a group!", "also to this"]),
            Row(
                requirements: [Self.requirement(Requirement.group, "qa,Q A")],
                words: ["the group Q A!", "also to this one"]),
            Row(perMille: 125, words: ["also to this one"]),
            Row(perMille: 1000, words: []),
            Row(
                requirements: [Self.requirement(Requirement.appVersionRange, "one")],
                words: ["no range!"]),
            Row(
                files: ["manifest.json": "{}", "index.ios.bundle": "", "index.android.bundle": ""],
                words: ["manifest.json!", "archive!"]),
            Row(
                files: ["index.ios.bundle": "", "index.android.bundle": "", "a ": "1", "b c": "2"],
                words: ["at the ends of a"]),
            Row(files: ["main.jsbundle": "a"], words: ["index.android.bundle"]),
            Row(files: ["a": ""], words: ["index.android.bundle", "index.ios.bundle"]),
            Row(executables: ["index.ios.bundle"], words: ["the executable bit"]),
            Row(isEmbedded: true, words: []),
        ]
        let configuration = ClientConfiguration(
            .hotUpdater, baseURL: "https://u",
            deployments: ["ios/production": .stable, "android/production": .stable])
        try expect(failures(rows, HotUpdater.self, configuration), equals: [])
    }

    @Test func `A signed release of CodePush may not bring a signature of its own`() throws {
        var model = CodePushModel()
        let files = ["index.html": "a", ".codepushrelease": "jwt"]
        try model.publish("1", files)
        #expect(throws: StoreError.self) { try model.publish("2", files, signer: ModelSigner()) }
    }

    @Test
    func `What cannot be told and stands in a pointer all the same is offered to nobody`() throws {
        let strange = Requirement(kind: "later", value: "1")
        var model = HotUpdaterModel()
        try model.publish("1", nil, [strange])
        try expect(model.check()?["status"]?.asString, equals: "UP_TO_DATE")
        expect(CodePushTerms([strange]) == nil)
        expect(HotUpdaterTerms([strange], platform: "ios") == nil)
    }
}
