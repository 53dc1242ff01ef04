import CASStore
import Foundation
import StorageTestSupport
import Testing
import VersionTree

@testable import HotPush

/// Releases whose manifests are large enough for a delta.
private func manyFiles(_ change: String? = nil) -> [String: String] {
    var files: [String: String] = [:]
    for number in 0..<300 { files["part/asset {\(number)}.js"] = "content of \(number)" }
    files["part/asset {7}.js"] = change ?? files["part/asset {7}.js"]
    return files
}

@Suite("A manifest's delta") struct ManifestDeltaTests {
    static let pairs: [(base: String, manifest: String)] = [
        ("", ""), ("", "{}"), ("{}", ""), ("{}", "{}"), ("no braces", "none here"),
        (#"{"a":1},{"b":2},{"c":3}"#, #"{"a":1},{"c":3}"#),
        (#"{"a":1},{"b":2},{"c":3}"#, #"{"c":3},{"b":2},{"a":1}"#),
        (#"{"a":1},{"a":1}"#, #"{"a":1},{"a":1},{"a":1}"#),
        ("{\"ä}\":\"🙂\"},\n", "{\"ä}\":\"🙂!\"},\n"),
        ("{\"p\":\"}}}\"}", "x{\"p\":\"}}}\"}}}"),
    ]

    @Test("leads from one text to the other, also through its JSON", arguments: pairs)
    func roundTrip(_ pair: (base: String, manifest: String)) throws {
        let (base, manifest) = (Array(pair.base.utf8), Array(pair.manifest.utf8))
        let delta = ManifestDelta(from: base, to: manifest)
        let read = try ManifestDelta(parsing: delta.serialized())
        #expect(read.applied(to: base, byteCount: Int64(manifest.count)) == manifest)
    }

    static let refused = [
        "", "<!doctype html>", "{}", "[]", #"{"castreeDelta":2,"parts":[]}"#,
        #"{"castreeDelta":1,"parts":[[-1,2]]}"#, #"{"castreeDelta":1,"parts":[[0,-2]]}"#,
        #"{"castreeDelta":1,"parts":[[0]]}"#, #"{"castreeDelta":1,"parts":[[0,1,2]]}"#,
        #"{"castreeDelta":1,"parts":[[9223372036854775807,9223372036854775807]]}"#,
        #"{"castreeDelta":1,"parts":[7]}"#, #"{"castreeDelta":1,"parts":["a"]}x"#,
    ]

    @Test("is refused if it is not one", arguments: refused)
    func refusal(_ text: String) {
        #expect(throws: (any Error).self) { try ManifestDelta(parsing: Array(text.utf8)) }
    }

    static let misfits = [
        #"{"castreeDelta":1,"parts":[[0,5]]}"#, #"{"castreeDelta":1,"parts":[[3,2]]}"#,
        #"{"castreeDelta":1,"parts":["aaaa"]}"#, #"{"castreeDelta":1,"parts":["aa"]}"#,
        #"{"castreeDelta":1,"parts":[[0,3],[0,3]]}"#, #"{"castreeDelta":1,"parts":[]}"#,
    ]

    @Test("leads nowhere from a base or to a size that it was not made for", arguments: misfits)
    func misfit(_ text: String) throws {
        let delta = try ManifestDelta(parsing: Array(text.utf8))
        #expect(delta.applied(to: Array("base".utf8), byteCount: 3) == nil)
    }
}

@Suite("A pull of a changed manifest") struct ChangedManifestTests {
    let fixture: PullingFixture

    init() throws {
        fixture = try PullingFixture()
        try fixture.place.store.add("11", manyFiles())
        try fixture.place.store.add("12", manyFiles("changed"))
        try fixture.publish("11")
        try fixture.run()
        fixture.origin.forgetRequests()
    }

    private func manifest(_ position: Int) throws -> ObjectID {
        let pointer = try #require(try DirectoryOrigin(fixture.place.origin).pointer(.stable))
        return try #require(pointer.releases[position].version).manifest
    }

    private var requests: [String] { fixture.origin.requests.map(\.path) }

    private func expectPulled() throws {
        #expect(try fixture.tree("12") == manyFiles("changed"))
        try fixture.expectClean()
    }

    @Test("fetches what has changed instead of the manifest, and stores the same bytes")
    func changed() throws {
        try fixture.publish("12")
        try fixture.run()
        let (new, old) = (try manifest(0), try manifest(1))
        let delta = OriginLayout.delta(to: new, from: old)
        #expect(
            try requests
                == ["/channels/stable.json", "/" + delta, fixture.path(of: "changed")])
        let files = try fixture.place.published()
        let byteCount = try #require(files[delta]).count
        #expect(byteCount * 20 < (try #require(files[OriginLayout.manifest(new)])).count)
        #expect(try fixture.device.reopened().store.contains(new))
        try expectPulled()
    }

    @Test("fetches the manifest whole if what has changed is missing or wrong")
    func fallback() throws {
        for text in [nil, "nonsense", #"{"castreeDelta":1,"parts":[[0,100]]}"#] {
            let other = try ChangedManifestTests()
            try other.fixture.publish("12")
            let delta = OriginLayout.delta(to: try other.manifest(0), from: try other.manifest(1))
            let path = other.fixture.place.origin + "/" + delta
            Damage.remove(path)
            if let text { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }
            try other.fixture.serve()
            try other.fixture.run()
            let whole = "/" + OriginLayout.manifest(try other.manifest(0))
            #expect(other.requests.prefix(3) == ["/channels/stable.json", "/" + delta, whole])
            try other.expectPulled()
        }
    }

    @Test("comes from a release some steps back, too")
    func stepsBack() throws {
        for number in 20..<23 {
            try fixture.place.store.add("\(number)", manyFiles("change \(number)"))
            try fixture.publish("\(number)")
        }
        try fixture.run()
        #expect(requests[1] == "/" + OriginLayout.delta(to: try manifest(0), from: try manifest(3)))
        #expect(requests.count == 3)
    }

    @Test("asks for the manifest alone if the store has none of the older ones")
    func nothingToBuildOn() throws {
        try fixture.publish("12")
        let device = try TemporaryStore()
        let pull = Pull(
            into: device.versions, over: try PullingFixture.transport(), PullingFixture.options)
        _ = try pull.run(fixture.origin.url)
        #expect(requests[1] == "/" + OriginLayout.manifest(try manifest(0)))
    }

    @Test("finds no delta of a manifest that the origin has collected")
    func collected() throws {
        try fixture.publish("12")
        let (new, old) = (try manifest(0), try manifest(1))
        let delta = PublishedDelta(manifest: new, base: old)
        let publisher = fixture.place.publisher()
        let kept = try publisher.collect(OriginRetention(releaseCount: 1, graceSeconds: 60))
        #expect(kept.deltas == [] && kept.waiting == [old])
        let plan = try publisher.collect(OriginRetention(releaseCount: 1, graceSeconds: 0))
        #expect(plan.deltas == [delta] && plan.manifests == [old])
        #expect(
            try Set(fixture.place.published().keys.filter { $0.hasPrefix("manifests/") })
                == [OriginLayout.manifest(new)])
    }
}
