import Expectations
import HotPush
import StrictJSON

@Suite("Versions of a Meteor manifest") struct MeteorVersionsTests {
    static let empty = "1952018619999f014765d73c14db1f446971e849"
    static let style = "9d234d1661190229252ea733f1428ae7c87eeda0"

    @Test func `are computed over settings, paths and hashes`() throws {
        let golden = [
            (
                1, "d0c411d14526c3386813ca83f96ccb44b0cccded",
                "ec448809bec3291fabe5389f70c274b3d69f5416"
            ),
            (
                2, "4476ab98e53d3d0aa69dcd370f6253252da14ccc",
                "5cfa06ebf565eda745d180bb4c576da933941b85"
            ),
            (
                3, "a4b7692d011cec5e0c3415a13a580e844af46040",
                "4f6d3f4ba8599a38f9966e431bbc967231446543"
            ),
        ]
        for (number, version, nonRefreshable) in golden {
            let versions = try MeteorVersions(manifest: MeteorFixture(number).bytes)
            expect(versions.version, equals: version)
            expect(versions.refreshable, equals: Self.style)
            expect(versions.nonRefreshable, equals: nonRefreshable)
            expect(versions.replaceable, equals: Self.empty)
        }
    }

    @Test func `of an empty manifest are those of empty settings`() throws {
        let versions = try MeteorVersions(manifest: Array(#"{"manifest":[]}"#.utf8))
        expect(versions.version, equals: Self.empty)
        expect(versions.refreshable, equals: Self.empty)
        expect(versions.nonRefreshable, equals: Self.empty)
        expect(versions.replaceable, equals: Self.empty)
    }

    @Test
    func `keep the order and the spelling of the settings, given or in the manifest`() throws {
        // sha1 of {"PUBLIC_SETTINGS":{"b":1,"a":"ü\n"}}
        let golden = "8ccfafa8cd098ebe247e15fb7af0b1088bd26bf6"
        let settings = #"{ "b": 1, "a": "\u00fc\n" }"#
        let inside = try MeteorVersions(
            manifest: Array(#"{"PUBLIC_SETTINGS":\#(settings),"manifest":[]}"#.utf8))
        expect(inside.version, equals: golden)
        let given = try MeteorVersions(
            manifest: Array(#"{"PUBLIC_SETTINGS":{"x":1},"manifest":[]}"#.utf8),
            publicSettings: try JSONValue.parse(Array(settings.utf8)))
        expect(given.version, equals: golden)
    }

    @Test func `leave replaceable entries out of what needs a new page`() throws {
        func manifest(_ isReplaceable: Bool) -> [UInt8] {
            Array(
                """
                {"manifest":[{"path":"a.js","where":"client","type":"js","hash":"h",\
                "replaceable":\(isReplaceable)}]}
                """.utf8)
        }
        let fixed = try MeteorVersions(manifest: manifest(false))
        let hot = try MeteorVersions(manifest: manifest(true))
        expect(fixed.version, equals: hot.version)
        expect(fixed.replaceable, equals: Self.empty)
        expect(hot.nonRefreshable, equals: Self.empty)
        expect(hot.replaceable, equals: fixed.nonRefreshable)
    }

    @Test
    func `of a platform are computed over its plugins, sorted, without those excluded`() throws {
        // sha1 of 7.1.0cordova-plugin-a1.0.0cordova-plugin-b2.1.0, and without the second.
        let plugins = [("cordova-plugin-b", "2.1.0"), ("cordova-plugin-a", "1.0.0")]
            .map { (name: $0.0, version: $0.1) }
        try expect(
            MeteorVersions.compatibilityVersion(platformVersion: "7.1.0", plugins: plugins),
            equals: "4e8ab4e7b211473017269b34b46376ed4b44a086")
        try expect(
            MeteorVersions.compatibilityVersion(
                platformVersion: "7.1.0", plugins: plugins, excluding: ["cordova-plugin-b"]),
            equals: "d3c494995cca8f0d769750c12ceaae74db8ba1f8")
    }
}
