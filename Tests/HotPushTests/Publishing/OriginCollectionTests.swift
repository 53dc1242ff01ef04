import CASStore
import Expectations
import Foundation
import StorageTestSupport
import Testing
import VersionTree

@testable import HotPush

@Suite("Collecting an origin") struct OriginCollectionTests {
    let place: PublishingPlace

    init() throws { place = try PublishingPlace() }

    private func publishMany(_ count: Int) throws {
        for number in 10..<(10 + count) {
            try place.store.add("\(number)", ["shared": "same", "own": "content \(number)"])
            try place.publish("\(number)")
        }
    }

    @discardableResult
    private func collect(_ releases: Int, grace: Int64) throws -> PruneReport {
        try place.publisher().collect(
            OriginRetention(releaseCount: releases, graceSeconds: grace))
    }

    private func stands(_ text: String) throws -> Bool {
        FileManager.default.fileExists(atPath: try place.objectPath(text))
    }

    @Test("keeps the newest releases, and deletes what only older ones had")
    func keepsNewest() throws {
        try publishMany(5)
        let report = try collect(2, grace: 0)
        expect(report.trimmedCount, equals: 3)
        // Of each the manifest and an object.
        expect(report.fileCount, equals: 6)
        let pointer = try require(try DirectoryOrigin(place.origin).pointer(.stable))
        expect(pointer.releases.map { $0.version?.name.description }, equals: ["14", "13"])
        for release in pointer.releases {
            let version = try require(release.version)
            try expect(
                place.files(of: version, in: DirectoryOrigin(place.origin))["shared"],
                equals: "same")
        }
        try expect(collect(2, grace: 0).fileCount, equals: 0)
    }

    @Test("waits before it deletes what a client with an older pointer may still download")
    func grace() throws {
        try publishMany(3)
        try expect(collect(1, grace: 3600).trimmedCount, equals: 2)
        place.clock.advance(by: 3599)
        for _ in 0..<4 { try expect(collect(1, grace: 3600).fileCount, equals: 0) }
        try expect(stands("content 10"))
        place.clock.advance(by: 1)
        try expect(collect(1, grace: 3600).fileCount, equals: 4)
        try expect(!stands("content 10") && stands("content 12"))
    }

    @Test(
        "gives devices the whole grace, and no more, when a clock that was wrong is right again",
        arguments: [400_000_000, -1_700_000_000, 90_000, -90_000] as [Int64])
    func wrongClock(_ offset: Int64) throws {
        try publishMany(3)
        place.clock.advance(by: offset)
        try expect(collect(1, grace: 3600).trimmedCount, equals: 2)
        place.clock.advance(by: -offset + 60)
        try expect(collect(1, grace: 3600).fileCount, equals: 0)
        place.clock.advance(by: 3599)
        try expect(collect(1, grace: 3600).fileCount, equals: 0)
        place.clock.advance(by: 1)
        try expect(collect(1, grace: 3600).fileCount, equals: 4)
    }

    @Test("gives the whole grace where one clock was ahead, and that of a pruner far behind")
    func wrongClocks() throws {
        try publishMany(1)
        place.clock.advance(by: 300)
        try place.publish("1")
        place.clock.advance(by: -299)
        try place.publish("2")
        _ = try place.publisher().withdraw(VersionName("10"))
        place.clock.advance(by: -30_000_000)
        try collect(5, grace: 3600)
        place.clock.advance(by: 30_000_001)
        for _ in 0..<4 {
            try expect(collect(5, grace: 3600).fileCount, equals: 0)
            place.clock.advance(by: 899)
        }
        try expect(stands("content 10"))
        // The clock that was ahead may have been right: from its time on nobody doubts.
        place.clock.advance(by: 3600)
        try expect(collect(5, grace: 3600).fileCount > 0)
        try expect(!stands("content 10"))
    }

    @Test("counts the grace by a clock that stays behind what was published")
    func clockBehind() throws {
        try publishMany(3)
        place.clock.advance(by: -1_000_000)
        try expect(collect(1, grace: 3600).trimmedCount, equals: 2)
        place.clock.advance(by: 3600)
        try expect(collect(1, grace: 3600).fileCount, equals: 4)
    }

    @Test("begins the time anew for a version that was offered again in between")
    func graceAgain() throws {
        try publishMany(2)
        try expect(collect(1, grace: 3600).trimmedCount, equals: 1)
        place.clock.advance(by: 3000)
        try place.publish("10")
        _ = try place.publisher().withdraw(VersionName("10"))
        place.clock.advance(by: 1000)
        try expect(collect(1, grace: 3600).fileCount, equals: 0)
    }

    @Test("keeps what any channel offers, and older releases that some devices still come to")
    func channels() throws {
        try publishMany(1)
        try place.publish("10", to: "beta")
        try place.publish("1")
        let offer = ReleaseOffer(requirements: [Requirement(kind: "minimumAppVersion", value: "3")])
        try place.publisher().publish("2", of: place.versions, as: offer)
        try collect(1, grace: 0)
        let pointer = try require(try DirectoryOrigin(place.origin).pointer(.stable))
        // Version 2 is for some; the others come to 1, and nobody to 10.
        expect(pointer.releases.map { $0.version?.name.description }, equals: ["2", "1"])
        try expect(place.read(ChannelName("beta"))?.files["own"], equals: "content 10")
    }

    @Test("deletes nothing where it only plans")
    func dryRun() throws {
        try publishMany(4)
        let before = try place.published()
        let retention = OriginRetention(releaseCount: 2, graceSeconds: 0)
        let planned = try place.publisher().planCollection(retention)
        try expect(place.published(), equals: before)
        try expect(
            place.publisher().collect(retention).trimmedCount, equals: planned.trimmedCount)
    }

    @Test("deletes nothing while a manifest that is to be kept is gone or damaged")
    func damaged() throws {
        try publishMany(3)
        let newest = try require(try DirectoryOrigin(place.origin).pointer(.stable)).releases[0]
        let path = place.origin + "/" + OriginLayout.manifest(try require(newest.version).manifest)
        let bytes = try Damage.contents(path)
        for damage in [{ Damage.remove(path) }, { try Damage.overwriteOrCreate(path, with: [1]) }] {
            try damage()
            let before = try place.published()
            expect(code { try collect(1, grace: 0) }, equals: .damagedOrigin)
            try expect(place.published(), equals: before)
            try Damage.overwriteOrCreate(path, with: bytes)
        }
        try expect(collect(1, grace: 0).fileCount, equals: 4)
    }

    @Test("is refused where there is no origin")
    func noOrigin() throws {
        expect(code { try collect(1, grace: 0) }, equals: .noOrigin)
        try writeTree(place.origin, ["index.html": "a site"])
        expect(code { try collect(1, grace: 0) }, equals: .noOrigin)
        expect(Damage.names(place.origin), equals: ["index.html"])
    }
}

@Suite("Withdrawing a version") struct WithdrawingTests {
    let place: PublishingPlace

    init() throws {
        place = try PublishingPlace()
        try place.publish("1")
        try place.publish("2")
    }

    @Test("lets the channel offer the release before it, under a higher number")
    func withdraw() throws {
        let before = try require(try DirectoryOrigin(place.origin).pointer(.stable))
        let after = try place.publisher().withdraw(VersionName("2"))
        expect(after.sequence > before.sequence)
        try expect(DirectoryOrigin(place.origin).pointer(.stable), equals: after)
        try expect(place.read()?.version, equals: "1")
        try expect(place.read()?.files, equals: PublishingPlace.first)
        let last = try place.publisher().withdraw(VersionName("1"))
        expect(last.releases.isEmpty)
        // It can be offered again.
        try expect(place.publish("2").objects.isEmpty)
        try expect(place.read()?.version, equals: "2")
    }

    @Test("can send every device back to what was shipped with the app")
    func embedded() throws {
        let after = try place.publisher().withdraw(VersionName("2"), toEmbedded: true)
        expect(after.releases.map { $0.version?.name.description }, equals: [nil, "1"])
        expect(after.releases[0].target, equals: .embedded)
        expect(after.releases[0].sequence, equals: after.sequence)
        // What is published next stands before it.
        try expect(
            place.publish("2").pointer.releases.map(\.version?.name.description),
            equals: [
                "2", nil, "1",
            ])
    }

    @Test("is refused where it is not offered")
    func notOffered() throws {
        let publisher = place.publisher()
        expect(code { try publisher.withdraw(VersionName("3")) }, equals: .notOffered)
        let beta = try ChannelName("beta")
        expect(code { try publisher.withdraw(VersionName("1"), from: beta) }, equals: .notOffered)
        let nowhere = Publisher(place.store.directory.appending("nowhere"))
        expect(code { try nowhere.withdraw(VersionName("1")) }, equals: .noOrigin)
    }
}
