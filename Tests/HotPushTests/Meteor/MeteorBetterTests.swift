import StorageTestSupport

@testable import HotPush

// Where the plugin's own behaviour was a defect; each of these fails with it.

@Suite("Better than Meteor's plugin", .timeLimit(.minutes(60))) struct MeteorBetterTests {
    private static let script = "app/template.mobileapp.js"

    /// What the manifest calls the script.
    private static func url(_ dialect: MeteorDialect) -> String {
        (dialect == .today ? "/__cordova/" : "/") + script
    }

    private func place(
        _ dialect: MeteorDialect = .content, serving number: Int = 2
    ) throws -> MeteorPlace {
        let place = try MeteorPlace()
        try place.ship(ServedMeteor(1, dialect))
        try place.serve(ServedMeteor(number, dialect))
        return place
    }

    private func path(_ name: String) -> String { "/__cordova/" + name }

    @Test(
        "takes every dialect, and asks for what has changed only", arguments: MeteorDialect.allCases
    )
    func dialects(_ dialect: MeteorDialect) throws {
        let place = try place(dialect)
        let release = ServedMeteor(2, dialect)
        try place.pull()
        var map = try release.mapURL(release.files[1]).dropFirst()
        if map.hasPrefix("__cordova/") { map = map.dropFirst("__cordova/".count) }
        expect(
            place.asked,
            equals: once(
                "manifest.json", "", Self.script, String(map), "some-file", "some-other-file"))
        try place.expectStart(of: release)
        try place.expectClean()
    }

    @Test(
        "1: refuses altered or truncated bytes under the right entity tag",
        arguments: MeteorDialect.allCases)
    func altered(_ dialect: MeteorDialect) throws {
        for isCut in [false, true] {
            let place = try place(dialect)
            let whole = try require(try ServedMeteor(2, dialect).contents()[path(Self.script)])
            let part = Content(Array(whole.bytes.dropLast(100))).tagged(whole.tag)
            if isCut { place.origin.put(part, at: path(Self.script)) }
            place.origin.always(isCut ? nil : .wrongBytes, on: path(Self.script))
            let error = try place.expectRefusal()
            expect(error?.message, equals: "Hash mismatch for asset: " + Self.url(dialect))
            place.origin.put(whole, at: path(Self.script))
            place.origin.always(nil, on: path(Self.script))
            place.origin.play([isCut ? .cut(after: 100) : .wrongBytes], on: path(Self.script))
            try place.pull()
            try place.expectStart(of: ServedMeteor(2, dialect))
        }
    }

    @Test(arguments: MeteorDialect.allCases)
    func `2: proves bytes whose entity tag a proxy has taken`(_ dialect: MeteorDialect) throws {
        let place = try place(dialect)
        for (path, content) in try ServedMeteor(2, dialect).contents() {
            place.origin.put(content.tagged(nil), at: path)
        }
        place.origin.always(.wrongBytes, on: path(Self.script))
        try expect(place.expectRefusal()?.code, equals: .mismatch)
        place.origin.always(nil, on: path(Self.script))
        try place.pull()
        try place.expectStart(of: ServedMeteor(2, dialect))
    }

    @Test func `3: refuses the index page of another version in today's form`() throws {
        let place = try place(.today)
        var release = ServedMeteor(2, .today)
        release.pageVersion = "version3"
        try place.serve(release)
        let error = try place.expectRefusal()
        expect(
            error?.message,
            equals: "Version mismatch for index page, expected: version2, actual: version3")
    }

    @Test("5, 6: goes back from what was never confirmed, stays there, and does not fetch it again")
    func rolledBack() throws {
        let place = try place()
        try place.pull()
        try expect(place.device.reopened().boot().version, equals: "version2")
        // As the plugin does, it gets a second start.
        try expect(place.device.reopened().boot().version, equals: "version1")
        try expect(place.device.reopened().boot().version, equals: "version2")
        for _ in 0..<2 { try expect(place.device.reopened().boot().version, equals: "version1") }
        place.origin.forgetRequests()
        let error = try place.expectRefusal()
        expect(error?.message, equals: "Skipping downloading blacklisted version")
        expect(error?.code, equals: .bannedVersion)
        expect(place.asked, equals: once("manifest.json"))
        try place.device.reopened().unban("version2")
        try expect(place.pull().isUnchanged)
        try expect(place.start(), equals: "version2")
    }

    @Test func `8: has no file that its release does not have`() throws {
        let place = try place()
        var release = ServedMeteor(2)
        release.files.removeAll { $0.path == "app/some-text.txt" }
        try place.serve(release)
        try place.pull()
        try expect(place.tree("version2"), equals: release.tree)
        try expect(place.tree("version2")["app/some-text.txt"] == nil)
    }

    @Test(
        "10: fetches nothing that a shipped version has, whatever its label says",
        arguments: MeteorDialect.allCases)
    func storeUpdate(_ dialect: MeteorDialect) throws {
        let place = try place(dialect)
        try place.pull()
        try place.start()
        // The app is updated, and brings along what was pushed before; then a release is pushed.
        try place.ship(ServedMeteor(2, dialect), as: "store-update")
        // Under its own version, whatever it is called; a download of that name has other files beside.
        try expect(["version2", "version2+shipped.1"].contains(place.current))
        place.origin.forgetRequests()
        try place.serve(ServedMeteor(3, dialect))
        try expect(place.pull().figures.files, equals: 4)
        expect(place.asked.count, equals: 5)
        // What was built anew with the same content has other labels.
        var again = ServedMeteor(3, dialect == .content ? .today : dialect)
        again.version = "version4"
        again.pageVersion = "version4"
        try place.start()
        try place.serve(again)
        place.origin.forgetRequests()
        try place.pull()
        // Nothing tells what is in a map but its name, which has changed.
        let files = place.asked.keys.filter { !$0.hasSuffix(".map") }
        expect(Set(files), equals: ["manifest.json", ""])
        expect(dialect == .content || place.asked.count == 2)
    }

    @Test
    func `11: fetches what is listed under two URLs or paths once, and keeps it once`() throws {
        let place = try place(.today)
        var release = ServedMeteor(2, .today)
        release.add(asset: "app/images/x.png", "picture")
        release.add(asset: "app/images/y.png", "picture")
        try place.serve(release)
        try place.pull()
        let pictures = place.asked.filter { $0.key.hasPrefix("images/") }
        expect(pictures.values.reduce(0, +), equals: 1)
        let manifest = try place.device.reopened().manifest(of: "version2")
        let entry = try require(manifest[TreePath("app/images/x.png")])
        expect(Set(entry.routes), equals: ["/__cordova/images/x.png", "/images/x.png"])
        try expect(entry.address, equals: manifest[TreePath("app/images/y.png")]?.address)
        try expect(place.tree("version2"), equals: release.tree)
    }

    @Test(
        "12: continues in the middle of a file in the next process, by range",
        arguments: MeteorDialect.allCases)
    func resumed(_ dialect: MeteorDialect) throws {
        let place = try place(dialect)
        var release = ServedMeteor(2, dialect)
        let large = String(repeating: "0123456789abcdef", count: 40_000)
        release.files.append(.init(path: "app/large.js", type: "js", text: large))
        try place.serve(release)
        place.origin.play([.cut(after: 400_000)], on: path("app/large.js"))
        place.origin.play([.status(403)], on: path("app/large.js"))
        try place.expectRefusal()
        place.origin.forgetRequests()
        try expect(place.pull().figures.resumedBytes >= 400_000)
        let request = try require(place.origin.requests(for: path("app/large.js")).first)
        expect(request["range"], equals: "bytes=400000-")
        try place.expectStart(of: release)
    }

    @Test(
        "14: refuses a path or version that leads elsewhere, before a file is asked for",
        arguments: ["../x.js", "/x.js", "a/../../x.js"])
    func outside(_ path: String) throws {
        let place = try place()
        var release = ServedMeteor(2)
        release.files[0].path = path
        release.files[0].url = "/x.js"
        try place.serve(release)
        try place.expectRefusal()
        release = ServedMeteor(2)
        release.version = path
        try place.serve(release)
        if path.contains("..") { try place.expectRefusal() }
        expect(place.asked.keys.allSatisfy { $0 == "manifest.json" || !path.contains("..") })
    }

    @Test(
        "15: refuses a manifest or configuration of another shape, and continues",
        arguments: ["[]", "null", "1", "\"x\"", "{\"manifest\":{}}", "{"])
    func shapes(_ text: String) throws {
        let place = try place()
        place.origin.put(Content(text, type: "application/json"), at: path("manifest.json"))
        try expect(place.expectRefusal()?.code, equals: .badRelease)
        try place.serve(ServedMeteor(2))
        place.origin.put(
            Content(MeteorFixture.page(text), type: "text/html").tagged(nil), at: path(""))
        let error = try place.expectRefusal()
        expect([.badRelease, .unsuitableRelease].contains(error?.code))
        try expect(place.start(), equals: "version1")
    }

    @Test
    func `17: two processes pull the same release at once, and both end right`() async throws {
        for dialect in [MeteorDialect.content, .today] {
            let place = try place(dialect)
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<3 { group.addTask { try place.pull().version } }
                for try await version in group { expect(version, equals: "version2") }
            }
            try place.expectStart(of: ServedMeteor(2, dialect))
            try place.expectClean()
        }
    }
}
