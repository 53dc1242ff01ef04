import Expectations
import HotPush

@testable import ClientSystems

/// One release that asks for app version 8.1.0, and apps whose versions stores accept and semver.org does not.
@Suite("App versions") struct AppVersionTests {
    @Test("are compared alike by castree's devices and by the servers of all systems that compare")
    func one() throws {
        let table: [(String, Bool)] = [
            ("8.1.0", true), ("8.1", true), ("8", false), ("9", true), ("8.1.2.4", true),
            ("8.0.9.9", false), ("8.1.0.0.0", true), ("8.01", true), ("08.1.0", true),
            ("2.01", false), ("8.1.2-rc.1", true), ("8.1.2.4+77", true), ("10.0.0.1", true),
        ]
        let requirement = Requirement(kind: Requirement.minimumAppVersion, value: "8.1.0")
        var codePush = CodePushModel()
        try codePush.publish("1.0.0")
        try codePush.publish("2.0.0", range: ">=8.1.0")
        var capgo = ModelOrigin()
        for (name, requirements) in [("1.0.0", []), ("2.0.0", [requirement])] {
            try capgo.publish(
                .version(capgo.add(name, ["index.html": name])), now: 1,
                for: Capgo.self, CapgoTests.configuration, requirements: requirements)
        }
        let hotUpdater = try require(HotUpdaterTerms([requirement], platform: "ios"))
        for (text, isIn) in table {
            var app = AppTraits()
            app.version = text
            expect(app.objections(to: [requirement]).isEmpty, equals: isIn, "a device: \(text)")
            expect(hotUpdater.admit(.version(text)), equals: isIn, "hot-updater: \(text)")
            let request = CapgoTests.request(["version_build": "\"\(text)\""])
            let answer = try require(try Capgo.answer(request, CapgoTests.configuration, capgo))
            let told = String(decoding: try capgo.bytes(of: answer), as: UTF8.self)
            expect(told.contains(#""version":"2.0.0""#), equals: isIn, "Capgo: \(text)")
            // CodePush keeps pre-releases out of ranges that name none, as its own server does.
            guard !text.contains("-") else { continue }
            let update = try codePush.update(version: text.replacing("+", with: "%2B"))
            expect(update?["label"]?.asString, equals: isIn ? "v2" : "v1", "CodePush: \(text)")
        }
    }

    @Test func `that nobody can compare are no version, and are said`() throws {
        for text in [
            "", "one", "1..2", ".1", "1.", "1.x", "v1", "-1", "1.2.3-", "99999999999999999999",
        ] {
            expect(SemanticVersion(app: text) == nil, "\(text)")
            var app = AppTraits()
            app.version = text
            expect(app.problemOfVersion?.contains("not a version") == true, "\(text)")
        }
        expect(AppTraits().problemOfVersion == nil)
    }
}
