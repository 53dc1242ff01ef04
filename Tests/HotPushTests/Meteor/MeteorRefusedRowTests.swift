import StorageTestSupport

@testable import HotPush

struct MeteorFailure: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var code: StoreError.Code
    var message: String
    /// What is asked for more often than once, or not at all.
    var asked: [String: Int]
    var change: @Sendable (inout ServedMeteor) -> Void = { _ in }
    var fault: @Sendable (FaultyOrigin) throws -> Void = { _ in }

    static let template = "app/template.mobileapp.js"

    /// The pages of these releases stand alone, as in the plugin's fixtures; a page that is wrong is
    /// asked for four times, and the manifest once more: the server may be between two versions.
    static func page(
        _ title: String, _ message: String,
        _ change: @escaping @Sendable (inout ServedMeteor) -> Void
    ) -> MeteorFailure {
        MeteorFailure(
            testDescription: title, code: .unsuitableRelease, message: message,
            asked: ["manifest.json": 2, "": 4]
        ) { release in
            release.files = []
            change(&release)
        }
    }

    static let all = [
        MeteorFailure(
            testDescription: "rows 44, 45: a missing asset", code: .notFound,
            message: "Non-success status code 404 for asset: /app/template.mobileapp.js",
            asked: ["manifest.json": 2, template: 1]
        ) { _ in
        } fault: {
            $0.put(nil, at: "/__cordova/" + template)
        },
        MeteorFailure(
            testDescription: "rows 46, 47: an asset of another version", code: .mismatch,
            message: "Hash mismatch for asset: /app/template.mobileapp.js",
            asked: ["manifest.json": 2, template: 4]
        ) { _ in
        } fault: { origin in
            let other = try ServedMeteor(3).contents()["/__cordova/" + template]
            origin.put(other, at: "/__cordova/" + template)
        },
        page(
            "rows 48, 49: an index page of another version",
            "Version mismatch for index page, expected: version2, actual: version3"
        ) { $0.pageVersion = "version3" },
        page(
            "rows 50, 51: an index page without ROOT_URL",
            "Could not find ROOT_URL in downloaded asset bundle"
        ) { $0.rootURL = nil },
        page(
            "rows 52, 53: ROOT_URL moved to localhost",
            "ROOT_URL in downloaded asset bundle would change current ROOT_URL to localhost. "
                + "Make sure ROOT_URL has been configured correctly on the server."
        ) { $0.rootURL = "http://localhost:3000/" },
        page(
            "rows 54, 55: an index page without appId",
            "Could not find appId in downloaded asset bundle"
        ) { $0.appID = nil },
        page(
            "rows 56, 57: another appId",
            "appId in downloaded asset bundle does not match current appId. "
                + "Make sure the server at http://127.0.0.1:3000/ is serving the right app."
        ) { $0.appID = "another" },
        MeteorFailure(
            testDescription: "rows 58, 59: no compatibility version", code: .badRelease,
            message: "Asset manifest does not have a cordovaCompatibilityVersion",
            asked: ["manifest.json": 1]
        ) { $0.compatibility = nil },
        MeteorFailure(
            testDescription: "rows 60, 61: another compatibility version", code: .unsuitableRelease,
            message: "Skipping downloading new version because the Cordova platform version or "
                + "plugin versions have changed and are potentially incompatible",
            asked: ["manifest.json": 1]
        ) { $0.compatibility?["ios"] = "another" },
    ]
}

@Suite("Meteor's rows: a release with a fault", .timeLimit(.minutes(60)))
struct MeteorRefusedRowTests {
    private func place(_ failure: MeteorFailure) throws -> MeteorPlace {
        let place = try MeteorPlace()
        var shipped = ServedMeteor(1)
        shipped.rootURL = "http://127.0.0.1:3000/"
        try place.ship(shipped)
        var release = ServedMeteor(2)
        release.rootURL = shipped.rootURL
        failure.change(&release)
        try place.serve(release)
        try failure.fault(place.origin)
        return place
    }

    @Test(arguments: MeteorFailure.all)
    func `is refused in the plugin's words, and never shown`(_ failure: MeteorFailure) throws {
        let place = try place(failure)
        let error = try place.expectRefusal()
        expect(error?.message, equals: failure.message)
        expect(error?.code, equals: failure.code)
        let asked = place.asked
        for (path, count) in failure.asked { expect(asked[path], equals: count, "\(path)") }
        expect(asked.allSatisfy { $0.value == 1 || failure.asked[$0.key] != nil })
        if failure.asked == ["manifest.json": 1] { expect(asked.count, equals: 1) }
        try expect(place.start(), equals: "version1")
        try place.expectClean()
    }

    @Test func `is taken when the fault is mended, and only what is left is fetched`() throws {
        let place = try place(MeteorFailure.all[1])
        try place.expectRefusal()
        place.origin.forgetRequests()
        var release = ServedMeteor(2)
        release.rootURL = "http://127.0.0.1:3000/"
        try place.serve(release)
        try place.pull()
        expect(place.asked[MeteorFailure.template], equals: 1)
        try place.expectStart(of: release)
    }

    @Test func `for other native code is taken by who insists, or says that it has it`() throws {
        let failure = try require(MeteorFailure.all.last)
        var options = MeteorPlace.options
        options.app.compatibility = "another"
        try expect(place(failure).pull(options).version, equals: "version2")
        options.app.compatibility = "a third"
        try place(failure).expectRefusal(options)
        options.isForced = true
        try expect(place(failure).pull(options).version, equals: "version2")
    }

    @Test func `is held against what a pulled version has kept, on each platform`() throws {
        let place = try MeteorPlace()
        var old = ServedMeteor(2)
        old.rootURL = "https://example.org/"
        try place.live(old)
        var release = ServedMeteor(3)
        release.rootURL = old.rootURL
        release.compatibility?["android"] = "another"
        try place.serve(release)
        try place.expectRefusal(MeteorPlace.options.with { $0.platform = "android" })
        try place.pull()
        try expect(place.start(), equals: "version3")
    }
}
