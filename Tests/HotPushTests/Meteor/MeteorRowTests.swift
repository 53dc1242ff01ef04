import StorageTestSupport

@testable import HotPush

// Rows 27 to 68 of the acceptance table of cordova-plugin-meteor-webapp. Instead of waiting half a
// second for nothing to happen, the list of requests is looked at after the call.

/// An update of a Meteor app, from what was shipped through what was pulled before.
struct MeteorScenario: Sendable, CustomTestStringConvertible {
    var title: String
    /// What was pulled and started before.
    var before: [Int]
    var new: Int
    var asked: [String: Int]
    var testDescription: String { title }

    func begin() throws -> (MeteorPlace, ServedMeteor) {
        let place = try MeteorPlace()
        try place.ship(ServedMeteor(1))
        for number in before { try place.live(ServedMeteor(number)) }
        let release = ServedMeteor(new)
        try place.serve(release)
        return (place, release)
    }

    static func map(_ number: Int) throws -> String {
        let release = ServedMeteor(number)
        return try "app/\(release.label(release.files[1])).map"
    }

    static func all() throws -> [MeteorScenario] {
        [
            MeteorScenario(
                title: "from the shipped version to 2", before: [], new: 2,
                asked: try once(
                    "manifest.json", "", "app/template.mobileapp.js", map(2), "some-file",
                    "some-other-file")),
            MeteorScenario(
                title: "from 2 to 3", before: [2], new: 3,
                asked: try once(
                    "manifest.json", "", "app/template.mobileapp.js", map(3), "some-file")),
            MeteorScenario(
                title: "from 2 to the shipped version", before: [2], new: 1,
                asked: once("manifest.json")),
        ]
    }
}

@Suite("Meteor's rows: an update", .timeLimit(.minutes(60))) struct MeteorRowTests {
    @Test(
        "rows 27, 30, 31, 35, 36, 41: is shown after the next start only, and by the next processes",
        arguments: try MeteorScenario.all())
    func shown(_ scenario: MeteorScenario) throws {
        let (place, release) = try scenario.begin()
        let old = try place.current
        try place.pull()
        try expect(place.current, equals: old)
        try expect(place.device.reopened().lifecycle().pending, equals: release.version)
        for _ in 0..<4 { try expect(place.start(), equals: release.version) }
        try expect(place.current, equals: release.version)
        try expect(place.tree(release.version)["index.html"], equals: release.tree["index.html"])
    }

    @Test(
        "rows 28, 29, 32, 33, 37, 38: asks only for what has changed, and has what has not, too",
        arguments: try MeteorScenario.all())
    func changed(_ scenario: MeteorScenario) throws {
        let (place, release) = try scenario.begin()
        let report = try place.pull()
        expect(place.asked, equals: scenario.asked)
        expect(report.requests, equals: scenario.asked.count)
        for request in place.origin.requests where !request.target.hasSuffix("__cordova/") {
            let isDocument = request.path.hasSuffix("manifest.json")
            expect(isDocument || request.target.hasSuffix("?meteor_dont_serve_index=true"))
        }
        let tree = try place.tree(release.version)
        for (path, text) in release.tree { expect(tree[path], equals: text) }
        let manifest = try place.device.reopened().manifest(of: release.version)
        for file in release.files {
            let entry = try require(manifest[TreePath(file.path)])
            try expect(entry.address, equals: address(of: file.text))
            for url in release.urls(file) where url != "/" + file.path {
                expect(entry.routes.contains(url))
            }
        }
        try place.expectClean()
    }

    @Test("row 34: frees space for the old version's when its start is confirmed, not before")
    func space() async throws {
        let (place, _) = try MeteorScenario.all()[1].begin()
        try place.pull()
        var options = UpdateOptions()
        options.keptGoodCount = 1
        let manager = UpdateManager(
            try place.device.reopened(), source: ScriptedSource(place.device), options: options)
        let boot = try require(try await manager.start())
        func names() throws -> Set<String> {
            Set(try place.device.reopened().versions().map(\.version))
        }
        try expect(names(), equals: ["version1", "version2", "version3"])
        try await manager.confirm(boot.version, token: boot.token)
        try expect(names(), equals: ["version1", "version3"])
        try expect(place.device.reopened().store.usage().unreferencedBytes, equals: 0)
    }

    @Test func `row 39: to the shipped version brings nothing and adds nothing`() throws {
        let (place, _) = try MeteorScenario.all()[2].begin()
        let usage = try place.device.reopened().store.usage()
        let objects = [usage.objects, Int(usage.objectBytes)]
        let report = try place.pull()
        expect(report.isUnchanged && report.figures.files == 0 && report.figures.bytes == 0)
        let after = try place.device.reopened().store.usage()
        expect([after.objects, Int(after.objectBytes)], equals: objects)
        try expect(
            Set(place.device.reopened().versions().map(\.version)),
            equals: ["version1", "version2"])
    }

    @Test("row 40: back to the shipped version keeps the newer one, which then costs one request")
    func back() throws {
        let (place, _) = try MeteorScenario.all()[2].begin()
        try place.pull()
        try place.start()
        place.origin.forgetRequests()
        try place.serve(ServedMeteor(2))
        try expect(place.pull().isUnchanged)
        expect(place.asked, equals: once("manifest.json"))
        try expect(place.start(), equals: "version2")
    }

    @Test func `rows 42, 43: of what is shown already is nothing, at one request`() throws {
        let place = try MeteorPlace()
        try place.ship(ServedMeteor(1))
        try place.serve(ServedMeteor(1))
        let before = try place.device.reopened().lifecycle()
        try expect(place.pull().isUnchanged)
        expect(place.asked, equals: once("manifest.json"))
        try expect(place.device.reopened().lifecycle(), equals: before)
    }
}

@Suite("Meteor's rows: an interrupted update", .timeLimit(.minutes(60)))
struct MeteorPartialRowTests {
    /// A device to which of version 2 only these have come.
    private func interrupted(without stalled: [String], after count: Int) throws -> MeteorPlace {
        let place = try MeteorPlace()
        try place.ship(ServedMeteor(1))
        try place.serve(ServedMeteor(2))
        for path in stalled { place.origin.always(.silence, on: "/__cordova/" + path) }
        try place.interrupt(after: count)
        for path in stalled { place.origin.always(nil, on: "/__cordova/" + path) }
        place.origin.forgetRequests()
        try expect(place.current, equals: "version1")
        try expect(place.device.reopened().lifecycle().pending == nil)
        return place
    }

    private var template: String { "app/template.mobileapp.js" }

    @Test func `rows 62 to 64: continues with what is left`() throws {
        let map = try MeteorScenario.map(2)
        let place = try interrupted(without: ["", template, map], after: 2)
        try place.pull()
        expect(place.asked, equals: once("manifest.json", "", template, map))
        try expect(place.current, equals: "version1")
        try place.expectStart(of: ServedMeteor(2))
        try place.expectClean()
    }

    @Test
    func `row 62: does not ask for the index page again, and knows its app all the same`() throws {
        let map = try MeteorScenario.map(2)
        let place = try interrupted(without: [template, map], after: 3)
        try place.pull()
        expect(place.asked, equals: once("manifest.json", template, map))
        try expect(place.start(), equals: "version2")
        var other = ServedMeteor(3)
        other.appID = "another"
        try place.serve(other)
        let message = try place.expectRefusal()?.message
        expect(message?.hasPrefix("appId in downloaded asset bundle does not match"), equals: true)
    }

    @Test("rows 65 to 68: to another version asks for what is left of it and what has changed")
    func other() throws {
        let place = try interrupted(without: ["", template, MeteorScenario.map(2)], after: 2)
        try place.serve(ServedMeteor(3))
        try place.pull()
        expect(
            place.asked,
            equals: once("manifest.json", "", template, try MeteorScenario.map(3), "some-file"))
        try expect(place.start(), equals: "version3")
        let tree = try place.tree("version3")
        expect(tree, equals: ServedMeteor(3).tree)
        expect(tree["app/some-other-file"], equals: "some-other-file\n")
        expect(tree["app/some-file"], equals: "some-file (changed again)\n")
        try place.expectClean()
    }

    @Test func `continues under the same name with other content`() throws {
        let place = try interrupted(without: ["", template, MeteorScenario.map(2)], after: 2)
        var release = ServedMeteor(3)
        release.version = "version2"
        release.pageVersion = "version2"
        try place.serve(release)
        try place.pull()
        expect(
            place.asked,
            equals: once("manifest.json", "", template, try MeteorScenario.map(3), "some-file"))
        try place.expectStart(of: release)
        try place.expectClean()
    }
}
