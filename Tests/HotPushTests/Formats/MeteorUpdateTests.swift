import CASStore
import Expectations
import HotPush
import VersionTree

/// What only the reader of manifests sees; rows 27 to 68 of the plugin's own tests are in Meteor.
@Suite("An update of a Meteor app") struct MeteorUpdateTests {
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
