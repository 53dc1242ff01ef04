import OriginTestSupport

@Suite("Collecting an origin") struct OriginCollectionTests {
    /// An origin that offers so many versions.
    private func offering(
        _ count: Int, _ kind: OriginPlace = .directory
    ) throws -> PublishingPlace {
        let place = try PublishingPlace(kind)
        for number in 10..<(10 + count) {
            try place.store.add("\(number)", ["shared": "same", "own": "content \(number)"])
            try place.publish("\(number)")
        }
        return place
    }

    @discardableResult
    private func collect(
        _ releases: Int, grace: Int64, in place: PublishingPlace
    ) throws -> PruneReport {
        try place.publisher().collect(OriginRetention(releaseCount: releases, graceSeconds: grace))
    }

    @Test(
        "keeps the newest releases, and deletes what only older ones had, unless it only plans",
        arguments: places)
    func keepsNewest(_ kind: OriginPlace) throws {
        let place = try offering(5, kind)
        let before = try place.published()
        let planned = try place.publisher().collect(
            OriginRetention(releaseCount: 2, graceSeconds: 0), isDryRun: true)
        try expect(place.published(), equals: before)
        let report = try collect(2, grace: 0, in: place)
        expect(report.trimmedCount == 3 && planned.trimmedCount == 3)
        // Of each the manifest and an object.
        let gone = try Set(before.keys).subtracting(place.published().keys)
        expect(gone.count == 6 && report.fileCount >= 6)
        expect(report.fileCount == 6 || kind != .directory)
        try expect(place.offered(), equals: ["14", "13"])
        for release in try require(place.pointer()).releases {
            try expect(place.files(of: require(release.version))["shared"], equals: "same")
        }
        try expect(collect(2, grace: 0, in: place).fileCount, equals: 0)
    }

    @Test
    func `waits before it deletes what a client with an older pointer may still download`() throws {
        let place = try offering(3)
        try expect(collect(1, grace: 3600, in: place).trimmedCount, equals: 2)
        place.clock.advance(3599)
        for _ in 0..<4 { try expect(collect(1, grace: 3600, in: place).fileCount, equals: 0) }
        try expect(place.bytes(place.objectKey("content 10")) != nil)
        place.clock.advance(1)
        try expect(collect(1, grace: 3600, in: place).fileCount, equals: 4)
        try expect(
            place.bytes(place.objectKey("content 10")) == nil
                && place.bytes(place.objectKey("content 12")) != nil)
    }

    @Test(
        "gives devices the whole grace, and no more, when a clock that was wrong is right again",
        arguments: [400_000_000, -1_700_000_000, 90_000, -90_000] as [Int64])
    func wrongClock(_ offset: Int64) throws {
        let place = try offering(3)
        place.clock.advance(offset)
        try expect(collect(1, grace: 3600, in: place).trimmedCount, equals: 2)
        place.clock.advance(-offset + 60)
        try expect(collect(1, grace: 3600, in: place).fileCount, equals: 0)
        place.clock.advance(3599)
        try expect(collect(1, grace: 3600, in: place).fileCount, equals: 0)
        place.clock.advance(1)
        try expect(collect(1, grace: 3600, in: place).fileCount, equals: 4)
    }

    @Test("gives the whole grace where one clock was ahead, and that of a pruner far behind")
    func wrongClocks() throws {
        let place = try offering(1)
        place.clock.advance(300)
        try place.publish("1")
        place.clock.advance(-299)
        try place.publish("2")
        _ = try place.publisher().withdraw(VersionName("10"))
        place.clock.advance(-30_000_000)
        _ = try collect(5, grace: 3600, in: place)
        place.clock.advance(30_000_001)
        for _ in 0..<4 {
            try expect(collect(5, grace: 3600, in: place).fileCount, equals: 0)
            place.clock.advance(899)
        }
        try expect(place.bytes(place.objectKey("content 10")) != nil)
        // The clock that was ahead may have been right: from its time on nobody doubts.
        place.clock.advance(3600)
        try expect(collect(5, grace: 3600, in: place).fileCount > 0)
        try expect(place.bytes(place.objectKey("content 10")) == nil)
    }

    @Test func `counts the grace by a clock that stays behind what was published`() throws {
        let place = try offering(3)
        place.clock.advance(-1_000_000)
        try expect(collect(1, grace: 3600, in: place).trimmedCount, equals: 2)
        place.clock.advance(3600)
        try expect(collect(1, grace: 3600, in: place).fileCount, equals: 4)
    }

    @Test func `begins the time anew for a version that was offered again in between`() throws {
        let place = try offering(2)
        try expect(collect(1, grace: 3600, in: place).trimmedCount, equals: 1)
        place.clock.advance(3000)
        try place.publish("10")
        _ = try place.publisher().withdraw(VersionName("10"))
        place.clock.advance(1000)
        try expect(collect(1, grace: 3600, in: place).fileCount, equals: 0)
    }

    @Test(
        "keeps what any channel offers, and older releases that some devices still come to",
        arguments: places)
    func channels(_ kind: OriginPlace) throws {
        let place = try offering(1, kind)
        try place.publish("10", to: "beta")
        try place.publish("1")
        let offer = ReleaseOffer(requirements: [Requirement(kind: "minimumAppVersion", value: "3")])
        try place.publisher().publish("2", of: place.versions, as: offer)
        try collect(1, grace: 0, in: place)
        // Version 2 is for some; the others come to 1, and nobody to 10.
        try expect(place.offered(), equals: ["2", "1"])
        try expect(place.read("beta")?.files["own"], equals: "content 10")
    }

    @Test(
        "deletes nothing while a manifest that is to be kept is gone or damaged",
        arguments: places)
    func damaged(_ kind: OriginPlace) throws {
        let place = try offering(3, kind)
        let newest = try require(place.pointer()).releases[0]
        let key = OriginLayout.path(.manifest, try require(newest.version).manifest)
        let bytes = try place.bytes(key)
        for damage in [nil, [1]] as [[UInt8]?] {
            try place.set(key, damage)
            let before = try place.published()
            expectRefusal(.damagedOrigin) { try collect(1, grace: 0, in: place) }
            try expect(place.published(), equals: before)
            try place.set(key, bytes)
        }
        let count = try collect(1, grace: 0, in: place).fileCount
        expect(count == 4 || count > 4 && kind != .directory)
    }

    @Test(arguments: places)
    func `is refused where there is no origin`(_ kind: OriginPlace) throws {
        let place = try PublishingPlace(kind)
        expectRefusal(.noOrigin) { try collect(1, grace: 0, in: place) }
        try place.set("index.html", Array("a site".utf8))
        expectRefusal(.noOrigin) { try collect(1, grace: 0, in: place) }
        try expect(place.files().keys.sorted(), equals: ["index.html"])
    }
}

@Suite("Withdrawing a version") struct WithdrawingTests {
    private func published(_ kind: OriginPlace) throws -> PublishingPlace {
        let place = try PublishingPlace(kind, offering: "1")
        try place.publish("2")
        return place
    }

    @Test("lets the channel offer the release before it, under a higher number", arguments: places)
    func withdraw(_ kind: OriginPlace) throws {
        let place = try published(kind)
        let before = try require(place.pointer())
        let after = try place.publisher().withdraw(VersionName("2"))
        expect(after.sequence > before.sequence)
        try expect(place.pointer(), equals: after)
        try expect(place.read()?.version, equals: "1")
        try expect(place.read()?.files, equals: PublishingPlace.first)
        try expect(place.publisher().withdraw(VersionName("1")).releases.isEmpty)
        // It can be offered again.
        try expect(place.publish("2").objects.isEmpty || kind != .directory)
        try expect(place.read()?.version, equals: "2")
    }

    @Test(arguments: places)
    func `can send every device back to what was shipped with the app`(_ kind: OriginPlace) throws {
        let place = try published(kind)
        let after = try place.publisher().withdraw(VersionName("2"), toEmbedded: true)
        expect(after.releases.map { $0.version?.name.description }, equals: [nil, "1"])
        expect(after.releases[0].target, equals: .embedded)
        expect(after.releases[0].sequence, equals: after.sequence)
        // What is published next stands before it.
        try expect(
            place.publish("2").pointer.releases.map(\.version?.name.description),
            equals: ["2", nil, "1"])
    }

    @Test(arguments: places)
    func `is refused where it is not offered`(_ kind: OriginPlace) throws {
        let place = try published(kind)
        let publisher = place.publisher()
        expectRefusal(.notOffered) { try publisher.withdraw(VersionName("3")) }
        let beta = try ChannelName("beta")
        expectRefusal(.notOffered) { try publisher.withdraw(VersionName("1"), from: beta) }
        let nowhere = place.withOrigin("nowhere").publisher()
        expectRefusal(.noOrigin) { try nowhere.withdraw(VersionName("1")) }
    }
}
