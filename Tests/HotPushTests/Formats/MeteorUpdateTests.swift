import CASStore
import Expectations
import HotPush
import VersionTree

/// The parse-time part of rows 27 to 68 of the plugin's own tests.
@Suite("An update of a Meteor app") struct MeteorUpdateTests {
    func release(_ number: Int) throws -> Release {
        try MeteorFormat().read(MeteorFixture(number).bytes, ReleaseContext(platform: "ios"))
    }

    /// What of a release the plugin would ask for that has another one.
    func requests(_ new: Release, having old: Release) throws -> [String] {
        let origin = try OriginURL("http://localhost:3000/")
        return new.files.filter { file in
            !old.files.contains { other in
                guard other.path == file.path, other.routes == file.routes else { return false }
                return file.checks.isEmpty ? file.hasImmutableSource : file.checks == other.checks
            }
        }.map { origin.url(of: $0.source) }.sorted()
    }

    func url(_ path: String) -> String {
        "http://localhost:3000/__cordova/\(path)?meteor_dont_serve_index=true"
    }

    @Test func `asks for what has changed and for the index page: rows 28, 32, 65`() throws {
        try expect(
            requests(release(2), having: release(1)),
            equals: [
                "http://localhost:3000/__cordova/",
                url("app/3f6275657e6db3a21acb37d0f6c207cf83871e90.map"),
                url("app/template.mobileapp.js"), url("some-file"), url("some-other-file"),
            ])
        try expect(
            requests(release(3), having: release(2)),
            equals: [
                "http://localhost:3000/__cordova/",
                url("app/36e96c1d40459ae12164569599c9c0a203b36db7.map"),
                url("app/template.mobileapp.js"), url("some-file"),
            ])
    }

    @Test("to the version that is there asks for the page only, if for anything: rows 37, 43")
    func unchanged() throws {
        try expect(
            requests(release(1), having: release(1)), equals: ["http://localhost:3000/__cordova/"])
        try expect(release(1).version, equals: release(1).version)
    }

    @Test func `is not for an app of another compatibility version: rows 58 to 61`() throws {
        let mine = try release(2).requirements.filter { $0.concerns(platform: "ios") }
        expect(mine.map(\.value), equals: [MeteorFixture.iOS])
        let text = MeteorFixture(2).text.replacing(
            "\"cordovaCompatibilityVersions\"", with: "\"other\"")
        let error = #expect(throws: StoreError.self) {
            try MeteorFormat().read(Array(text.utf8), ReleaseContext(platform: "ios"))
        }
        expect(error?.message, equals: "Asset manifest does not have a cordovaCompatibilityVersion")
    }

    @Test func `has 40,000 files, each once`() throws {
        let hash = "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"
        let entries = (0..<40_000).map {
            MeteorFixture.asset(
                "app/\($0 % 100)/\($0 / 2)-\($0 % 2)", url: "/\($0)",
                more: ",\"hash\":\"\(hash)\",\"size\":\($0)")
        }
        let release = try MeteorFormat().read(
            MeteorFixture.manifest(entries.joined(separator: ",")), ReleaseContext())
        expect(release.files.count, equals: 40_001)
        expect(Set(release.files.map(\.path)).count, equals: 40_001)
    }

    @Test func `with any bytes changed is a release or an error, and never a crash`() throws {
        let sound = MeteorFixture(2).bytes
        var state: UInt64 = 42
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        let alphabet = Array("{}[]\",:\\/.0a\u{0}\u{ff}e-".utf8)
        var refusedCount = 0
        for _ in 0..<1500 {
            var bytes = sound
            for _ in 0...random(3) {
                let place = random(bytes.count)
                switch random(3) {
                case 0: bytes[place] = alphabet[random(alphabet.count)]
                case 1: bytes.remove(at: place)
                default: bytes.removeSubrange(place..<min(bytes.count, place + random(200)))
                }
            }
            do {
                let release = try MeteorFormat().read(bytes, ReleaseContext(platform: "ios"))
                expect(release.files.first?.needsInspection, equals: true)
            } catch {
                refusedCount += 1
                expect(error.code, equals: .badRelease)
            }
        }
        expect(refusedCount > 500)
    }
}
