import HotPush
import Platform
import StorageTestSupport

@testable import ClientSystems

@Suite("What Expo's clients cannot be told") struct ExpoObjectionTests {
    private func objections(
        _ files: [String: String]?, requirements: [Requirement] = [], isMandatory: Bool = false
    ) throws -> [ClientObjection] {
        try Expo.objections(
            files, requirements, isMandatory: isMandatory, for: ExpoTree.configuration())
    }

    private func with(_ changes: [String: String?], config: String? = nil) -> [String: String] {
        var files = ExpoTree.files("hello", config: config ?? #"{"runtimeVersion":"1"}"#)
        for (path, text) in changes { files[path] = text }
        return files
    }

    @Test func `is said in sentences: what refuses a release, and what is lost`() throws {
        let runtime = Requirement(kind: "runtimeVersion", value: "1")
        let one = #"{"fileMetadata":{"ios":{"bundle":"_expo/static/js/ios/A.hbc","assets":[]}}}"#
        let table: [([String: String]?, [Requirement], Bool?, String)] = [
            (with([:]), [], nil, ""), (nil, [], nil, ""), (nil, [runtime], nil, ""),
            (["index.html": "x"], [runtime], true, "npx expo export"),
            (with(["metadata.json": "{"]), [], true, "metadata.json cannot be read"),
            (with(["metadata.json": "[]"]), [], true, "fileMetadata"),
            (with(["metadata.json": #"{"fileMetadata":{}}"#]), [], true, "neither android nor ios"),
            (with(["metadata.json": #"{"fileMetadata":{"ios":{}}}"#]), [], true, "\"bundle\""),
            (
                with(["metadata.json": #"{"fileMetadata":{"ios":{"bundle":"../x","assets":[]}}}"#]),
                [],
                true, "../x, which is not among the files"
            ),
            (
                with([
                    "metadata.json":
                        #"{"fileMetadata":{"ios":{"bundle":"assets/font","assets":[{"path":"a"}]}}}"#
                ]), [], true, "\"path\" and \"ext\""
            ),
            (with(["assets/font": nil]), [], true, "assets/font, which is not among the files"),
            (with(["expoConfig.json": "3"]), [], true, "no object"),
            (with(["expoConfig.json": nil]), [], true, "--require runtimeVersion=VERSION"),
            (with(["expoConfig.json": nil]), [runtime], false, "npx expo config"),
            (
                with([:], config: #"{"runtimeVersion":{"policy":"fingerprint"}}"#), [], true,
                "--require runtimeVersion=VERSION"
            ),
            (with([:]), [Requirement(kind: "runtimeVersion", value: "2")], false, "that counts"),
            (with([:]), [runtime, Requirement(kind: "fingerprint", value: "2")], true, "are two"),
            (nil, [runtime, Requirement(kind: "fingerprint", value: "2")], true, "are two"),
            (with([:]), [Requirement(kind: "group", value: "testers")], true, "group testers"),
            (
                with([:]), [Requirement(kind: "appVersionRange", value: "^1")], true,
                "runtimeVersion alone"
            ),
            (with(["metadata.json": one]), [], nil, ""),
        ]
        for (files, requirements, refuses, words) in table {
            let found = try objections(files, requirements: requirements)
            expect(found.first?.refuses, equals: refuses, "\(words): \(found)")
            guard refuses != nil else { continue }
            expect(found.contains { $0.message.contains(words) }, "\(words): \(found)")
        }
        let mandatory = try objections(with([:]), isMandatory: true)
        expect(mandatory.map(\.refuses) == [false] && mandatory[0].message.contains("mandatory"))
        let unasked = try Expo.objections(nil, for: ExpoTree.configuration([:]))
        expect(unasked.map(\.refuses), equals: [false])
    }

    /// docs.expo.dev, "Runtime versions": what each policy gives is known from the configuration, or only where the app
    /// is built.
    @Test
    func `is no runtime version that the configuration gives, for each platform its own`() throws {
        let app = #""version":"1.2.3","sdkVersion":"54.0.0""#
        for (config, ios, android) in [
            (#"{"runtimeVersion":"7"}"#, "7", "7"),
            (#"{"runtimeVersion":"7","ios":{"runtimeVersion":"8"}}"#, "8", "7"),
            ("{\"runtimeVersion\":{\"policy\":\"appVersion\"},\(app)}", "1.2.3", "1.2.3"),
            (
                "{\"runtimeVersion\":{\"policy\":\"sdkVersion\"},\(app)}", "exposdk:54.0.0",
                "exposdk:54.0.0"
            ),
            (
                "{\"runtimeVersion\":{\"policy\":\"nativeVersion\"},\(app),\"ios\":{\"buildNumber\":\"5\"},"
                    + "\"android\":{\"versionCode\":9,\"version\":\"2\"}}", "1.2.3(5)", "2(9)"
            ),
        ] {
            var origin = ModelOrigin()
            let version = try origin.add("1", ExpoTree.files("x", config: config))
            let offer = try origin.publish(
                .version(version), now: 1, for: Expo.self, ExpoTree.configuration())
            let found = Dictionary(
                offer.documents.map { ($0.platform, $0.runtimeVersion) }, uniquingKeysWith: { $1 })
            expect(found, equals: ["ios": ios, "android": android], "\(config)")
        }
    }

    @Test
    func `An export that was made on Windows gives the documents of one that was not`() throws {
        let configuration = try ExpoTree.configuration()
        var documents: [Set<String>] = []
        for isOfWindows in [false, true] {
            var files = ExpoTree.files("script")
            if isOfWindows {
                let parts = try require(files["metadata.json"])
                files["metadata.json"] = parts.replacing("assets/", with: #"assets\\"#)
                    .replacing("_expo/static/js/", with: #"_expo\\static\\js\\"#)
                    .replacing("/A.hbc", with: #"\\A.hbc"#)
            }
            var origin = ModelOrigin()
            let offer = try origin.publish(
                .version(origin.add("1", files)), now: 1000, for: Expo.self,
                configuration)
            let texts = offer.documents.map { document in
                String(decoding: origin.objects[document.address] ?? [], as: UTF8.self)
                    .replacing(document.id, with: "ID")
                    .replacing(offer.version?.content.description ?? "", with: "CONTENT")
            }
            documents.append(Set(texts))
        }
        expect(documents[0].count, equals: 2)
        expect(documents[0], equals: documents[1])
    }
}
