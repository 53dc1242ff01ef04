import OriginTestSupport

/// What users of other systems that push releases complain about.
@Suite("A complaint about hot-pushed releases", .timeLimit(.minutes(60)))
struct PullComplaintTests {
    @Test(
        "a truncated or missing file is never noticed: it is found, and only it is fetched again",
        arguments: [true, false])
    func damaged(_ isMissing: Bool) throws {
        let fixture = try PullingFixture(pulled: "2")
        let path = try fixture.device.objectPath(of: PullFaultTests.large)
        // Through its links as well: a tree that still had the bytes would give them back.
        try Damage.truncate(path, to: 1000)
        if isMissing { Damage.remove(path) }
        let versions = try fixture.device.reopened()
        _ = try versions.check(CheckOptions(isDeep: true), repairing: true)
        try expect(versions.missing(of: "2").map(\.paths), equals: [["large"]])
        try expect(versions.versions().map(\.state), equals: [.incomplete])
        fixture.origin.forgetRequests()
        try expect(fixture.run().figures.files, equals: 1)
        try expect(fixture.askedObjects, equals: [fixture.path(of: PullFaultTests.large)])
        try fixture.expectSecond()
    }

    @Test func `a device that missed releases fetches them all: it fetches what it is missing`()
        throws
    {
        let fixture = try PullingFixture(pulled: "1")
        for number in 3...9 {
            var files = PublishingPlace.first
            files["js/app.js"] = "run(\(number))"
            if number > 5 { files["js/more.js"] = "more()" }
            try fixture.place.store.add("\(number)", files)
            try fixture.publish("\(number)")
        }
        fixture.origin.forgetRequests()
        try fixture.run()
        try expect(
            fixture.askedObjects.sorted(),
            equals: [fixture.path(of: "run(9)"), fixture.path(of: "more()")].sorted())
    }

    @Test(
        "the disk grows with every release: after fifty it has what is shown and the last good one")
    func growing() throws {
        let store = try TemporaryStore()
        var files: [String: String] = [:]
        for number in 0..<100 { files["f\(number)"] = String(repeating: "\(number) ", count: 50) }
        var largest: Int64 = 0
        for release in 1...50 {
            files["f\(release)"] = "changed by \(release)"
            try store.add("\(release)", files)
            let versions = store.versions
            try versions.makeKnownGood("\(release)")
            try versions.retire(versions.planRetention(.generations(2)))
            _ = try versions.store.collect()
            largest = max(largest, try versions.store.usage().objectBytes)
        }
        let live = files.values.reduce(0) { $0 + $1.utf8.count }
        let usage = try store.versions.store.usage()
        expect(usage.unreferencedBytes, equals: 0)
        expect(usage.objectBytes <= Int64(live + 400))
        expect(largest <= 100 * 200 + 400)
        try expect(Set(store.versions.versions().map(\.version)), equals: ["49", "50"])
    }

    @Test("a version that failed once is banned for ever: its name with other content is free")
    func banned() throws {
        let fixture = try PullingFixture(pulled: "1")
        let versions = try fixture.device.reopened()
        let first = try versions.boot()
        try versions.confirm(first.version, token: first.token)
        try fixture.publish("2")
        try fixture.run()
        try expect(versions.boot().version, equals: "2")
        _ = try versions.rollback(reason: "white page")
        _ = try versions.retire("2")
        expectRefusal(.bannedVersion) { try fixture.run() }
        let mended = try PublishingPlace()
        mended.clock.advance(1000)
        _ = try mended.versions.retire("2")
        var files = PublishingPlace.second
        files["js/app.js"] = "mended()"
        try mended.store.add("2", files)
        try mended.publish("2")
        try fixture.serve(mended)
        try expect(fixture.run().version, equals: "2")
        try expect(fixture.device.reopened().boot().version, equals: "2")
        try expect(fixture.tree("2"), equals: files)
    }
}
