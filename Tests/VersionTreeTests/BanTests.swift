import CASStore
import Foundation
import StorageTestSupport
import Testing

@testable import VersionTree

// What is banned, for how long, and by what name.

@Suite struct BanTests {
    @Test func `bans at the first failure where one strike is all there is`() throws {
        let temporary = try TemporaryStore.startedOnce()
        try temporary.versions.activateAtNextBoot("B")
        _ = try temporary.versions.boot(strikes: 1)
        #expect(try temporary.versions.boot(strikes: 1).isBanned)
        #expect(try temporary.versions.lifecycle().bad.map(\.version) == ["B"])
    }

    @Test func `bans content, not names`() throws {
        let temporary = try TemporaryStore.startedOnce()
        let versions = temporary.versions
        try versions.activate("B")
        _ = try versions.rollback()
        // The same content under another name.
        try temporary.add("B2", ["index.html": "B"])
        expectRefusal(.bannedVersion) { try versions.activate("B2") }
        #expect(try versions.versions().first { $0.version == "B2" }?.isBad == true)
        // Other content under the same name.
        try versions.retire("B")
        #expect(try versions.lifecycle().bad.count == 1)
        shell("rm -rf \(temporary.directory.appending("source-B"))")
        try temporary.add("B", ["index.html": "B, mended"])
        #expect(try versions.versions().first { $0.version == "B" }?.isBad == false)
        try versions.activate("B")
        #expect(try temporary.shown() == ["index.html": "B, mended"])
    }

    @Test func `forgives, and counts a ban that comes again`() throws {
        let temporary = try TemporaryStore.startedOnce()
        let versions = temporary.versions
        expectRefusal(.noVersion) { try versions.forgive("B") }
        try versions.activate("B")
        _ = try versions.rollback()
        try versions.forgive("B")
        #expect(try versions.lifecycle().bad.isEmpty)
        try versions.activate("B")
        _ = try versions.rollback(reason: "again")
        expectRefusal(.noVersion) { try versions.forgive("none") }
        #expect(try versions.lifecycle().bad.map(\.count) == [1])
        // By the name it had, when the version is retired.
        try versions.retire("B")
        try versions.forgive("B")
        #expect(try versions.lifecycle().bad.isEmpty)
    }
}
