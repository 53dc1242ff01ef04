import StorageTestSupport

@testable import HotPush

// What users of Meteor's plugin complain about, as far as it is the client's.

@Suite("A complaint about Meteor's plugin", .timeLimit(.minutes(60))) struct MeteorComplaintTests {
    private func place(_ release: ServedMeteor) throws -> MeteorPlace {
        let place = try MeteorPlace()
        try place.ship(ServedMeteor(1))
        try place.serve(release)
        return place
    }

    private static let script = "/__cordova/app/template.mobileapp.js"

    @Test(
        "1: a server that switches in mid-download gives half an update: it gives one or the other")
    func switching() throws {
        for parallel in [1, 4] {
            let place = try place(ServedMeteor(2))
            place.origin.play(
                [.switchAll(after: 100, to: try ServedMeteor(3).contents())], on: Self.script)
            try place.pull(parallel: parallel)
            try place.expectStart(of: ServedMeteor(3))
            try place.expectClean()
        }
    }

    @Test("1: the same before the index page has come, and back to the version that is shown")
    func switchingBack() throws {
        let place = try place(ServedMeteor(2))
        place.origin.play(
            [.switchAll(after: 0, to: try ServedMeteor(1).contents())], on: "/__cordova/")
        let report = try place.pull()
        expect(report.version, equals: "version1")
        expect(report.isUnchanged)
        try expect(place.start(), equals: "version1")
    }

    @Test
    func `1: a server that switches and goes is an error, and what came of it is kept`() throws {
        let place = try place(ServedMeteor(2))
        place.origin.play([.switchAll(after: 100, to: [:])], on: Self.script)
        let error = try place.expectRefusal()
        expect(error?.message.hasPrefix("Non-success status code 404 for asset: /"), equals: true)
        try place.serve(ServedMeteor(2))
        try place.pull()
        try expect(place.start(), equals: "version2")
    }

    @Test("10: another version's index page from a second machine ends all: it is asked for again")
    func loadBalancer() throws {
        let place = try place(ServedMeteor(2))
        place.origin.put(
            Content(ServedMeteor(3).page, type: "text/html").tagged(nil), at: "/__cordova/")
        let origin = place.origin
        let right = Content(ServedMeteor(2).page, type: "text/html").tagged(nil)
        // The second request comes to the other machine.
        let hasAsked = InterruptionFlag()
        origin.before("/__cordova/") { _ in
            if hasAsked.isSet { origin.put(right, at: "/__cordova/") }
            hasAsked.set()
        }
        try place.pull()
        expect(place.asked[""], equals: 2)
        expect(place.asked.filter { $0.key != "" }.allSatisfy { $0.value == 1 })
        try expect(place.start(), equals: "version2")
    }

    @Test("11: a page in place of the manifest says nothing: its type and beginning are told")
    func pageForManifest() throws {
        let place = try place(ServedMeteor(2))
        place.origin.always(.page, on: "/__cordova/manifest.json")
        let message = try place.expectRefusal()?.message ?? ""
        expect(message.contains("text/html") && message.contains("<!DOCTYPE html>"), "\(message)")
        expect(place.asked, equals: once("manifest.json"))
    }

    @Test(
        "12: a server in a sub-directory is asked at the wrong place: with and without slash it is right",
        arguments: ["", "/"])
    func subdirectory(_ end: String) throws {
        for dialect in [MeteorDialect.content, .today] {
            let place = try MeteorPlace()
            let release = ServedMeteor(2, dialect)
            var changed = release
            changed.rootURL = "http://127.0.0.1/app"
            try place.serve(changed, below: "/app")
            try place.pull(from: place.origin.url + "/app" + end)
            expect(place.origin.requests.allSatisfy { $0.path.hasPrefix("/app/__cordova/") })
            try expect(place.tree("version2"), equals: changed.tree)
        }
    }

    @Test(
        "15: names with spaces, underscores and colons are 404: they are encoded once",
        arguments: ["a b.png", "a_b.mp4", "x:y.png", "é.png", "a%20b.png", "a+b#c.png"])
    func names(_ name: String) throws {
        var release = ServedMeteor(2)
        release.files.append(
            .init(path: "app/named", type: "asset", text: "named", url: "/" + name))
        let place = try place(ServedMeteor(2))
        var contents = try release.contents()
        contents["/__cordova/" + name] = nil
        let encoded = PercentEncoding.path(name)
        contents["/__cordova/" + encoded] = Content("named").tagged(nil)
        place.origin.replaceAll(contents)
        try place.pull()
        expect(place.origin.requests(for: "/__cordova/" + encoded).count, equals: 1)
        let manifest = try place.device.reopened().manifest(of: "version2")
        try expect(manifest[TreePath("app/named")]?.routes, equals: ["/" + name])
    }

    @Test(
        "a source map that a server keeps to itself stops an update: the update is whole without",
        arguments: [403, 404, 410])
    func maps(_ status: Int) throws {
        let place = try place(ServedMeteor(2))
        let map = try MeteorScenario.map(2)
        place.origin.always(.status(status), on: "/__cordova/" + map)
        try expect(place.pull().skipped, equals: ["app/template.mobileapp.js.map"])
        expect(place.asked[map], equals: 1)
        var tree = ServedMeteor(2).tree
        tree["app/template.mobileapp.js.map"] = nil
        try expect(place.start(), equals: "version2")
        try expect(place.tree("version2"), equals: tree)
        place.origin.forgetRequests()
        try expect(place.pull().isUnchanged)
        expect(place.asked, equals: once("manifest.json"))
        try place.expectClean()
    }

    @Test func `a new configuration of the same version is no update`() throws {
        var release = ServedMeteor(2)
        let place = try place(release)
        try place.pull()
        try place.start()
        place.origin.forgetRequests()
        release.more = #","meteorRuntimeConfig":"{}","refreshableAssets":[{"url":"/x.css"}]"#
        try place.serve(release)
        try expect(place.pull().isUnchanged)
        expect(place.asked, equals: once("manifest.json"))
    }
}

@Suite("Content whose label only its publisher can compute", .timeLimit(.minutes(60)))
struct MeteorLabelledTests {
    private static let label = "0123456789abcdef0123456789abcdef01234567"
    private static let path = "/__cordova/generated.bin"

    private func release(_ number: Int, _ text: String = "generated") -> ServedMeteor {
        var release = ServedMeteor(number, .today)
        release.add(asset: "app/generated.bin", text, hash: Self.label)
        return release
    }

    @Test func `is fetched once, and recognized by its label from then on`() throws {
        let place = try MeteorPlace()
        try place.ship(ServedMeteor(1, .today))
        try place.live(release(2))
        try place.serve(release(3))
        try place.pull()
        expect(place.origin.requests(for: Self.path).isEmpty)
        try place.expectStart(of: release(3))
    }

    @Test func `is recognized in what was shipped`() throws {
        let place = try MeteorPlace()
        try place.ship(release(1))
        try place.serve(release(2))
        try place.pull()
        expect(place.origin.requests(for: Self.path).isEmpty)
        try expect(place.start(), equals: "version2")
    }

    @Test func `is fetched if it has another size by now`() throws {
        let place = try MeteorPlace()
        try place.ship(release(1))
        try place.serve(release(2, "generated anew"))
        try place.pull()
        expect(place.origin.requests(for: Self.path).count, equals: 1)
        try expect(place.start(), equals: "version2")
        try expect(place.tree("version2")["app/generated.bin"], equals: "generated anew")
    }

    @Test func `is found though another version still waits for it`() throws {
        let place = try MeteorPlace()
        try place.ship(ServedMeteor(1, .today))
        try place.serve(release(2))
        place.origin.always(.silence, on: Self.path)
        try place.interrupt(after: 4)
        place.origin.always(nil, on: Self.path)
        // Its name comes before that of the version that waits.
        var other = release(3)
        other.version = "a"
        other.pageVersion = "a"
        try place.live(other)
        var third = release(3)
        third.add(asset: "app/new.txt", "new")
        try place.serve(third)
        try place.pull()
        expect(place.origin.requests(for: Self.path).isEmpty)
        try expect(place.tree("version3")["app/generated.bin"], equals: "generated")
        try place.expectClean()
    }

    @Test func `is checked by its length and entity tag at least`() throws {
        let place = try MeteorPlace()
        try place.ship(ServedMeteor(1, .today))
        try place.serve(release(2))
        place.origin.put(Content("generated").tagged("\"\(MeteorFixture.iOS)\""), at: Self.path)
        try expect(place.expectRefusal()?.code, equals: .mismatch)
        place.origin.put(Content("short").tagged("\"\(Self.label)\""), at: Self.path)
        try expect(place.expectRefusal()?.code, equals: .mismatch)
    }
}

@Suite("A Meteor app from a store of apps", .timeLimit(.minutes(60))) struct MeteorShippedTests {
    @Test(
        "that is updated goes back to what was pushed before if it can run it",
        arguments: [true, false])
    func update(_ isSameNative: Bool) throws {
        let place = try MeteorPlace()
        try place.ship(ServedMeteor(1))
        try place.live(ServedMeteor(2))
        var update = ServedMeteor(3)
        if !isSameNative { update.compatibility = ["ios": "new", "android": "new"] }
        let report = try place.ship(update)
        expect(report.isNew && report.becameCurrent)
        let good = try place.device.reopened().lifecycle().knownGood
        expect(good.contains("version2"), equals: isSameNative)
        // And what the origin offers is held against the new app.
        try place.serve(ServedMeteor(2))
        place.origin.forgetRequests()
        if isSameNative {
            try expect(place.pull().isUnchanged)
        } else {
            try expect(place.expectRefusal()?.message, equals: MeteorMessages.incompatible)
        }
        expect(place.asked, equals: once("manifest.json"))
    }

    @Test func `is shown by its URLs, and knows which app it is`() throws {
        let place = try MeteorPlace()
        try place.ship(ServedMeteor(1, .today), as: "1.0.3+45")
        let manifest = try place.device.reopened().manifest(of: try require(try place.current))
        let file = try require(manifest[TreePath("app/some-text.txt")])
        expect(Set(file.routes), equals: ["/__cordova/some-text.txt", "/some-text.txt"])
        expect(AppIdentity(keptIn: manifest).id, equals: MeteorFixture.appID)
        try expect(manifest[TreePath("not-in-manifest")]?.routes, equals: [])
    }

    @Test(arguments: ["{", "[]", "{\"manifest\":[]}"])
    func `with a broken program.json is shown all the same`(_ text: String) throws {
        let store = try TemporaryStore()
        let files = ["program.json": text, "index.html": "<p>"]
        let report = try store.versions.adopt(AdoptingTests.ship("1", in: store, files))
        expect(report.becameCurrent)
        try expect(store.versions.boot().version, equals: "1")
    }
}
