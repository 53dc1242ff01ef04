import StorageTestSupport

// What is banned, for how long, and by what name.

@Suite struct BanTests {
    @Test func `bans at the first failure where one failed attempt is all there is`() throws {
        let temporary = try TemporaryStore.startedOnce()
        try temporary.versions.activateAtNextBoot("B")
        _ = try temporary.versions.boot(failedAttempts: 1)
        try expect(temporary.versions.boot(failedAttempts: 1).isBanned)
        try expect(temporary.versions.lifecycle().bad.map(\.version), equals: ["B"])
    }

    @Test func `bans content, not names`() throws {
        let temporary = try TemporaryStore.startedOnce()
        let versions = temporary.versions
        try versions.activate("B")
        _ = try versions.rollback()
        // The same content under another name.
        try temporary.add("B2", ["index.html": "B"])
        expectRefusal(.bannedVersion) { try versions.activate("B2") }
        try expect(versions.versions().first { $0.version == "B2" }?.isBad, equals: true)
        // Other content under the same name.
        try versions.retire("B")
        try expect(versions.lifecycle().bad.count, equals: 1)
        shell("rm -rf \(temporary.directory.appending("source-B"))")
        try temporary.add("B", ["index.html": "B, mended"])
        try expect(versions.versions().first { $0.version == "B" }?.isBad, equals: false)
        try versions.activate("B")
        try expect(temporary.shown(), equals: ["index.html": "B, mended"])
    }

    @Test func `unbans, and counts a ban that comes again`() throws {
        let temporary = try TemporaryStore.startedOnce()
        let versions = temporary.versions
        expectRefusal(.noVersion) { try versions.unban("B") }
        try versions.activate("B")
        _ = try versions.rollback()
        try versions.unban("B")
        try expect(versions.lifecycle().bad.isEmpty)
        try versions.activate("B")
        _ = try versions.rollback(reason: "again")
        expectRefusal(.noVersion) { try versions.unban("none") }
        try expect(versions.lifecycle().bad.map(\.count), equals: [1])
        // By the name it had, when the version is retired.
        try versions.retire("B")
        try versions.unban("B")
        try expect(versions.lifecycle().bad.isEmpty)
    }
}
