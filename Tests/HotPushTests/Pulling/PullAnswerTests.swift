import OriginTestSupport

@testable import HotPush

/// What becomes of an origin's answers, as the documents say.
@Suite("A pull does what the origin and the caller say", .timeLimit(.minutes(60)))
struct PullAnswerTests {
    // MARK: A failing server

    @Test(
        "a failing Meteor server is not absent: the status and the URL are said",
        arguments: [500, 502, 503, 504, 429], ["auto", "meteor"])
    func documentFailure(_ status: Int, _ format: String) throws {
        let place = try MeteorPlace()
        place.origin.always(.status(status), on: "/__cordova/manifest.json")
        let options = MeteorPlace.options.with { $0.format = format == "auto" ? nil : format }
        let url = "\(place.origin.url)/__cordova/manifest.json"
        expectRefusal(.network, saying: "\(status)", url) { try place.pull(options) }
    }

    @Test(arguments: [500, 503])
    func `a file that a failing server does not give is not absent`(_ status: Int) throws {
        let place = try MeteorPlace()
        var release = ServedMeteor(2)
        // Else its index is refused, if it comes before the answer that this is about.
        release.rootURL = place.origin.url + "/"
        try place.serve(release)
        let path = "/__cordova/" + MeteorFailure.template
        place.origin.always(.status(status), on: path)
        let failure = expectRefusal(.network, saying: place.origin.url + path) { try place.pull() }
        let words = "Non-success status code \(status) for asset: /\(MeteorFailure.template)"
        expect(failure?.message.hasPrefix(words), equals: true)
    }

    @Test func `a manifest that castree's origin cannot give now is not absent`() throws {
        let fixture = try PullingFixture(offering: "1")
        let manifests = try fixture.place.published().keys.filter { $0.hasPrefix("manifests/") }
        let path = "/" + (try require(manifests.first))
        fixture.origin.always(.status(503), on: path)
        expectRefusal(.network, saying: "503") { try fixture.run() }
        fixture.origin.always(.status(404), on: path)
        expectRefusal(.notFound) { try fixture.run() }
    }

    // MARK: Back to what was shipped

    @Test func `an app that is sent back to what it was shipped with is told so`() throws {
        let fixture = try PullingFixture()
        try fixture.device.versions.adopt(
            AdoptingTests.ship("shipped", in: fixture.device, ["index.html": "shipped"]))
        try fixture.publish("2")
        try fixture.run { $0.destination = .current }
        _ = try fixture.place.publisher().withdraw(VersionName("2"), toEmbedded: true)
        try fixture.serve()
        let report = try fixture.run()
        expect(report.version, equals: "shipped")
        expect(report.isUnchanged && report.figures.files == 0)
        try expect(fixture.device.reopened().lifecycle().pending, equals: "shipped")
    }

    // MARK: What the log says

    private static func reason(in entries: [EventLogEntry]) -> String? {
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
        let eventLog = EventLog(try place.device.reopened())
        expectRefusal { try place.pull(MeteorPlace.options.with { $0.eventLog = eventLog }) }
        let entries = try EventLog(place.device.versions).entries()
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
            let eventLog = EventLog(try fixture.device.reopened())
            expectRefusal { try fixture.run { $0.eventLog = eventLog } }
            let reason = try require(Self.reason(in: eventLog.entries()))
            for part in ["private", "photo", "of me", "me.jpg"] {
                expect(!reason.contains(part), "\(reason)")
            }
        }
    }
}
