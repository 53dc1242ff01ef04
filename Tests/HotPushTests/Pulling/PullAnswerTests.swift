import StorageTestSupport

@testable import HotPush

/// What becomes of an origin's answers, as the documents say.
@Suite("A pull does what the origin and the caller say", .timeLimit(.minutes(60)))
struct PullAnswerTests {
    private func error(_ body: () throws -> Void) -> StoreError? {
        do {
            try body()
            return nil
        } catch {
            return error as? StoreError
        }
    }

    // MARK: A server in trouble

    @Test(
        "a Meteor server in trouble is not absent: the status and the URL are said",
        arguments: [500, 502, 503, 504, 429], ["auto", "meteor"])
    func documentTrouble(_ status: Int, _ format: String) throws {
        let place = try MeteorPlace()
        place.origin.always(.status(status), on: "/__cordova/manifest.json")
        var options = MeteorPlace.options
        options.format = format == "auto" ? nil : format
        let failure = error { try place.pull(options) }
        expect(failure?.code, equals: .network)
        expect(failure?.message.contains("\(status)"), equals: true)
        expect(
            failure?.message.contains("\(place.origin.url)/__cordova/manifest.json"), equals: true)
    }

    @Test(arguments: [500, 503])
    func `a file that a server in trouble does not give is not absent`(_ status: Int) throws {
        let place = try MeteorPlace()
        var release = ServedMeteor(2)
        // Else its index is refused, if it comes before the answer that this is about.
        release.rootURL = place.origin.url + "/"
        try place.serve(release)
        let path = "/__cordova/" + MeteorFailure.template
        place.origin.always(.status(status), on: path)
        let failure = error { try place.pull() }
        expect(failure?.code, equals: .network)
        expect(
            failure?.message.hasPrefix(
                "Non-success status code \(status) for asset: /\(MeteorFailure.template)"),
            equals: true)
        expect(failure?.message.contains(place.origin.url + path), equals: true)
    }

    @Test func `a manifest that castree's origin cannot give now is not absent`() throws {
        let fixture = try PullingFixture(offering: "1")
        let manifests = try fixture.place.published().keys.filter { $0.hasPrefix("manifests/") }
        let path = "/" + (try require(manifests.first))
        fixture.origin.always(.status(503), on: path)
        let failure = error { try fixture.run() }
        expect(failure?.code, equals: .network)
        expect(failure?.message.contains("503"), equals: true)
        fixture.origin.always(.status(404), on: path)
        expect(error { try fixture.run() }?.code, equals: .notFound)
    }

    // MARK: Back to what was shipped

    private func embed(_ fixture: PullingFixture) throws {
        let directory = fixture.device.directory.appending("shipped")
        try writeTree(directory, ["index.html": "shipped"])
        try fixture.device.reopened().adopt(
            EmbeddedVersion(directory: directory, version: "shipped"))
    }

    @Test func `an app that is sent back to what it was shipped with is told so`() throws {
        let fixture = try PullingFixture()
        try embed(fixture)
        try fixture.publish("2")
        var options = PullingFixture.options
        options.destination = .current
        try fixture.run(options)
        _ = try fixture.place.publisher().withdraw(VersionName("2"), toEmbedded: true)
        try fixture.serve()
        let report = try fixture.run()
        expect(report.version, equals: "shipped")
        expect(report.isUnchanged && report.figures.files == 0)
        try expect(fixture.device.reopened().lifecycle().pending, equals: "shipped")
    }

    // MARK: What the log says

    private static func reason(in entries: [JournalEntry]) -> String? {
        entries.reversed().lazy.compactMap { entry -> String? in
            entry.event.downloadOutcome == .failed ? entry.event.text("reason") : nil
        }.first
    }

    @Test(arguments: [404, 500, 0])
    func `a failed pull leaves no path of content in the log`(_ status: Int) throws {
        let place = try MeteorPlace()
        var release = ServedMeteor(2)
        release.rootURL = "http://127.0.0.1/"
        release.add(asset: "app/private photo/of me.jpg", "secret")
        try place.serve(release)
        let path = "/__cordova/private%20photo/of%20me.jpg"
        let file = try require(release.files.last)
        place.origin.put(Content("secret").tagged("\"\(try release.label(file))\""), at: path)
        place.origin.always(status == 0 ? .wrongBytes : .status(status), on: path)
        var options = MeteorPlace.options
        options.journal = Journal(try place.device.reopened())
        expect(error { try place.pull(options) } != nil)
        let entries = try Journal(place.device.versions).entries()
        let reason = try require(Self.reason(in: entries))
        for part in ["private", "photo", "of me", "me.jpg", "/__cordova"] {
            expect(!reason.contains(part), "\(reason)")
        }
        // What went wrong is still said.
        expect(reason.contains(status == 0 ? "Hash mismatch" : "\(status)"))
    }

    @Test func `a failed pull from castree's own origin leaves none either`() throws {
        let fixture = try PullingFixture()
        try fixture.place.store.add("3", ["private photo/of me.jpg": "secret"])
        try fixture.publish("3")
        let path = try fixture.path(of: "secret")
        for fault in [Fault.status(404), .wrongBytes, .hangUp(), .announce(more: 7)] {
            fixture.origin.always(fault, on: path)
            var options = PullingFixture.options
            let journal = Journal(try fixture.device.reopened())
            options.journal = journal
            expect(error { try fixture.run(options) } != nil)
            let reason = try require(Self.reason(in: journal.entries()))
            for part in ["private", "photo", "of me", "me.jpg"] {
                expect(!reason.contains(part), "\(reason)")
            }
        }
    }
}
