import StorageTestSupport

@testable import HotPush

/// The manager over servers of other systems: real ones, with real downloads.
@Suite("An update from another system's server", .timeLimit(.minutes(60)))
struct ForeignOriginTests {
    let place: MeteorPlace
    let clock = ManualClock()

    init() throws { place = try MeteorPlace() }

    /// A manager as a process of the app makes it: the app says nothing of itself unless told to.
    private func process(
        _ format: String?, platform: String? = nil, _ set: (inout UpdateOptions) -> Void = { _ in }
    ) throws -> UpdateManager {
        var options = UpdateOptions()
        set(&options)
        var pullOptions = PullingFixture.options
        pullOptions.format = format
        pullOptions.platform = platform
        return try .pulling(
            from: place.origin.url, into: place.device, options, pullOptions, clock: clock)
    }

    private func live(_ manager: UpdateManager, _ version: String) async throws {
        let boot = try require(try await manager.start())
        expect(boot.version, equals: version)
        try await manager.confirm(version, token: boot.token)
    }

    @Test(
        "takes Meteor's releases, though the app says no compatibility key",
        arguments: [nil, "ios", "android"])
    func meteor(_ platform: String?) async throws {
        try place.ship(ServedMeteor(1))
        for number in 2...3 {
            try place.serve(ServedMeteor(number))
            let manager = try process(nil, platform: platform)
            try await expect(manager.check().decision, equals: .download)
            guard case .ready(let version, _) = try await manager.update() else {
                throw Unexpected("not ready")
            }
            expect(version, equals: "version\(number)")
            try await live(try process(nil, platform: platform), version)
            try expect(place.tree(version), equals: ServedMeteor(number).tree)
        }
        try place.expectClean()
    }

    @Test
    func `takes Meteor's release into a store that has nothing to compare with`() async throws {
        var release = ServedMeteor(2)
        release.rootURL = "http://127.0.0.1/"
        try place.serve(release)
        let boot = try await process("meteor").update().expectStarted()
        expect(boot.version, equals: "version2")
    }

    @Test(
        "refuses a Meteor release for other native code than the current version's",
        arguments: ["ios", "android"])
    func otherNativeCode(_ platform: String) async throws {
        try place.ship(ServedMeteor(1))
        var release = ServedMeteor(2)
        release.compatibility?[platform] = "another"
        try place.serve(release)
        guard
            case .refused("version2", let reasons) =
                try await process(nil, platform: platform).update()
        else { throw Unexpected("not refused") }
        expect(reasons.count == 1 && reasons[0].contains("compatibility"))
        expect(place.asked, equals: once("/channels/stable.json", "manifest.json"))
        // For the other platform, and for an app that says that it has it, it is an update.
        let other = platform == "ios" ? "android" : "ios"
        try await expect(process(nil, platform: other).check().decision, equals: .download)
        let own = try process(nil, platform: platform) { $0.app.compatibility = "another" }
        try await expect(own.check().decision, equals: .download)
    }

    @Test("refuses a banned Meteor version as often as it is offered, with the reason")
    func banned() async throws {
        try place.ship(ServedMeteor(1))
        try place.serve(ServedMeteor(2))
        _ = try await process("meteor").update()
        try await expect(process("meteor").start()?.version, equals: "version2")
        let third = try process("meteor") { $0.failedAttempts = 1 }
        try await expect(third.start()?.rolledBackFrom, equals: "version2")
        for _ in 0..<2 {
            let reasons = try await third.update().expectRefused("version2")
            expect(reasons.count == 1 && reasons[0].contains("banned"))
        }
        // A pull that somebody asked for says so in the system's words.
        try expect(place.expectRefusal()?.message, equals: MeteorMessages.banned)
    }

    @Test("takes 8fit's releases, and nothing when there is nothing new", arguments: [nil, "8fit"])
    func eightFit(_ format: String?) async throws {
        func serve(_ commit: String) {
            let manifest = """
                {"commit":"\(commit)","deployed_at":"2015-05-25T10:00:00Z","files":[
                {"path":"js/app.js","route":"/a/js/app.js"},{"path":"index.html","route":"/a/"}]}
                """
            place.origin.replaceAll([
                "/manifest.json": Content(manifest, type: "application/json"),
                "/js/app.js": Content("run(\"\(commit)\")"), "/index.html": Content("<h1>8</h1>"),
            ])
        }
        serve("9f1c0de")
        let boot = try await process(format).update().expectStarted()
        let first = try process(format)
        expect(boot.version, equals: "9f1c0de")
        try place.device.reopened().confirm(boot.version, token: boot.token)
        try await expect(first.update(), equals: .upToDate("version 9f1c0de is current already"))
        serve("a11ce55")
        try await process(format).update().expectReady("a11ce55")
        try await live(try process(format), "a11ce55")
        try expect(
            place.tree("a11ce55"),
            equals: ["js/app.js": "run(\"a11ce55\")", "index.html": "<h1>8</h1>"])
    }
}
