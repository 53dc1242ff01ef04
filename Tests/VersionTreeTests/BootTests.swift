import StorageTestSupport

@testable import VersionTree

// The lifecycle through the store: what starts, what is rolled back, what is banned.

@Suite struct BootTests {
    private let temporary: TemporaryStore
    private var versions: VersionStore { temporary.versions }

    init() throws { temporary = try TemporaryStore.startedOnce() }

    @Test func `leaves a bad release at the next boot, tries it once more, and bans it then`()
        throws
    {
        try versions.activateAtNextBoot("B")
        try expect(versions.lifecycle().current, equals: "A")
        try expect(versions.versions().first { $0.version == "B" }?.isPending, equals: true)
        let first = try versions.boot()
        expect(first.version == "B" && first.rolledBackFrom == nil)
        try expect(versions.lifecycle().boot?.version, equals: "B")
        // Killed here, and started again by another process.
        let second = try temporary.reopened().boot()
        expect(second.version == "A" && second.rolledBackFrom == "B")
        expect(second.token != first.token && !second.isBanned)
        try expect(versions.lifecycle().bad.isEmpty && versions.lifecycle().pending == "B")
        try expect(temporary.shown(), equals: ["index.html": "A"])
        try expect(temporary.reopened().boot().version, equals: "B")
        let last = try temporary.reopened().boot()
        expect(last.version == "A" && last.rolledBackFrom == "B" && last.isBanned)
        let lifecycle = try versions.lifecycle()
        expect(lifecycle.bad.map(\.version) == ["B"] && lifecycle.pending == nil)
        expect(lifecycle.bad[0].count, equals: 1)
        expect(!lifecycle.bad[0].reason.isEmpty)
        try expect(temporary.shown(), equals: ["index.html": "A"])
        expectRefusal(.bannedVersion) { try versions.activate("B") }
        expectRefusal(.bannedVersion) { try versions.activateAtNextBoot("B") }
        try expect(versions.boot().version, equals: "A")
        try temporary.expectClean()
    }

    @Test func `takes back what waits, and nothing that has come to wait meanwhile`() throws {
        try versions.activateAtNextBoot("C")
        try expect(!versions.takeBack(pending: "B"))
        try expect(versions.lifecycle().pending, equals: "C")
        try expect(versions.takeBack(pending: "C"))
        try expect(versions.lifecycle().pending == nil && versions.boot().version == "A")
        try expect(!versions.takeBack(pending: "C"))
    }

    @Test
    func `counts starts by content, under other names, too, until one is confirmed or unbanned`()
        throws
    {
        try temporary.add("B2", ["index.html": "B"])
        try versions.activateAtNextBoot("B")
        _ = try versions.boot()
        try expect(versions.boot().rolledBackFrom, equals: "B")
        try versions.activateAtNextBoot("B2")
        try expect(versions.boot().version, equals: "B2")
        try expect(versions.lifecycle().attempts.map(\.failedAttempts), equals: [2])
        try expect(versions.boot().isBanned)
        try versions.unban("B2")
        try versions.activateAtNextBoot("B")
        _ = try versions.boot()
        _ = try versions.boot()
        // One that has only failed so far is unbanned, too.
        try versions.unban("B")
        try expect(versions.lifecycle().attempts.isEmpty)
        let third = try versions.boot()
        expect(third.version, equals: "B")
        try versions.confirm("B", token: third.token)
        try expect(versions.lifecycle().attempts.isEmpty)
    }

    @Test func `takes a start back that a reboot has ended, and counts the third in a row`() throws
    {
        try versions.activateAtNextBoot("B")
        for takenBack in 0...3 {
            let boot = try versions.boot()
            if takenBack == 3 {
                expect(boot.version == "A" && boot.rolledBackFrom == "B" && !boot.isBanned)
                break
            }
            expect(boot.version == "B" && boot.rolledBackFrom == nil)
            let attempt = try require(try versions.lifecycle().attempts.first)
            expect(attempt.failedAttempts == 1 && attempt.takenBack == takenBack)
            // As if the system had been started again.
            try versions.changeLifecycle { $0.boot?.system = "another" }
        }
        try expect(versions.lifecycle().attempts.map(\.failedAttempts), equals: [1])
    }

    @Test func `leaves neither good nor bad what is left for another version by request`() throws {
        for _ in 0..<3 {
            try versions.activateAndBoot("B")
            try versions.activate("A")
        }
        let lifecycle = try versions.lifecycle()
        expect(lifecycle.attempts.isEmpty && lifecycle.bad.isEmpty)
    }

    @Test func `goes back to what was current before, known good or not, and keeps it for that`()
        throws
    {
        let temporary = try TemporaryStore()
        for name in ["A", "B", "C"] { try temporary.add(name, ["index.html": name]) }
        let versions = temporary.versions
        try versions.activateAndBoot("A")
        try versions.activateAndBoot("B")
        try versions.activateAndBoot("C")
        // Later attempts do not change it.
        try expect(versions.lifecycle().before, equals: "A")
        expectRefusal(.versionInUse) { try versions.retire("A") }
        for rolledBackFrom in ["C", nil, "C"] {
            try expect(versions.boot().rolledBackFrom, equals: rolledBackFrom)
        }
        try expect(versions.lifecycle().current == "A" && versions.lifecycle().unconfirmed == nil)
        try expect(versions.lifecycle().bad.map(\.version), equals: ["C"])
        // It is not being tried: boots do not leave it.
        for _ in 0..<3 { try expect(versions.boot().version, equals: "A") }
        try versions.confirm("A", token: versions.boot().token)
        try expect(versions.lifecycle().before == nil)
        try temporary.expectClean()
    }

    @Test func `keeps a release that was confirmed, and needs no second confirmation`() throws {
        try temporary.versions.activateAtNextBoot("B")
        let boot = try temporary.versions.boot()
        try expect(temporary.versions.confirm("B", token: boot.token), equals: "B")
        try expect(temporary.versions.confirm("B", token: boot.token), equals: "B")
        try expect(temporary.versions.lifecycle().knownGood, equals: ["B", "A"])
        for _ in 0..<3 {
            let again = try temporary.versions.boot()
            expect(again.version == "B" && again.rolledBackFrom == nil)
        }
        try temporary.expectClean()
    }

    @Test func `credits no confirmation to another version or another start`() throws {
        try versions.activateAtNextBoot("B")
        let boot = try versions.boot()
        for (name, token) in [
            ("A", boot.token), ("C", boot.token), ("B", "x"), ("B", ""), ("../B", boot.token),
        ] {
            expectRefusal(.wrongToken) { try versions.confirm(name, token: token) }
        }
        try expect(versions.lifecycle().knownGood, equals: ["A"])
        // Switched to C while B still runs: B's late confirmation confirms nothing.
        try versions.activate("C")
        expectRefusal(.wrongToken) { try versions.confirm("B", token: boot.token) }
        expectRefusal(.wrongToken) { try versions.confirm("C", token: boot.token) }
        try expect(versions.lifecycle().knownGood, equals: ["A"])
    }

    @Test func `refuses the token of a version that was left for a known reason`() throws {
        try versions.activateAtNextBoot("B")
        let first = try versions.boot()
        _ = try versions.boot()
        let second = try versions.boot()
        expect(second.version, equals: "B")
        _ = try versions.rollback()
        try versions.unban("B")
        for token in [first.token, second.token] {
            expectRefusal(.wrongToken) { try versions.confirm("B", token: token) }
        }
        try versions.activateAtNextBoot("B")
        try versions.confirm("B", token: versions.boot().token)
    }

    /// How many instances start at once on each of the occasions, and which of them says that it works.
    @Test(
        "never bans a version whose instances were started at once and say that they work",
        arguments: 2...5)
    func startedAtOnce(_ count: Int) throws {
        for occasions in 1...2 {
            for speaker in 0..<count {
                let temporary = try TemporaryStore.startedOnce()
                let versions = temporary.versions
                try versions.activateAtNextBoot("B")
                for _ in 0..<occasions {
                    let boots = try (0..<count).map { _ in try temporary.reopened().boot() }
                    let said = boots[speaker]
                    try versions.confirm(said.version, token: said.token)
                    // Saying it twice, or by all of them, is no error.
                    for boot in boots { try versions.confirm(boot.version, token: boot.token) }
                    try versions.confirm(said.version, token: said.token)
                }
                let lifecycle = try versions.lifecycle()
                expect(lifecycle.bad.isEmpty && lifecycle.attempts.isEmpty)
                expect(lifecycle.knownGood.contains("B"))
                try expect(versions.boot().version, equals: "B")
                try temporary.expectClean()
            }
        }
    }

    @Test func `believes every token of a version that nothing stands behind`() throws {
        let temporary = try TemporaryStore(adding: "A", ["f": "A"])
        let versions = temporary.versions
        try versions.activate("A")
        let boots = try (0..<4).map { _ in try versions.boot() }
        for boot in boots {
            expect(boot.version, equals: "A")
            try versions.confirm("A", token: boot.token)
        }
        try expect(versions.lifecycle().knownGood, equals: ["A"])
        // Known good, and started twice at once again.
        for boot in try [versions.boot(), versions.boot()] {
            try versions.confirm("A", token: boot.token)
        }
    }

    @Test func `tries a version again that has nothing to go back to`() throws {
        let temporary = try TemporaryStore(adding: "A", ["f": "A"])
        expectRefusal(.noVersion) { try temporary.versions.boot() }
        try temporary.versions.activate("A")
        for _ in 0..<3 {
            let boot = try temporary.versions.boot()
            expect(boot.version == "A" && boot.rolledBackFrom == nil)
        }
        try expect(temporary.versions.lifecycle().bad.isEmpty)
        expectRefusal(.nothingToRollBackTo) { try temporary.versions.rollback() }
        try expect(temporary.versions.lifecycle().current, equals: "A")
    }

    @Test func `rolls back to the embedded version, once and for good`() throws {
        try versions.embed("A", knownGood: [])
        try versions.activate("B")
        try expect(versions.rollback(reason: "it crashed").current, equals: "A")
        try expect(versions.lifecycle().bad[0].reason, equals: "it crashed")
        expectRefusal(.nothingToRollBackTo) { try versions.rollback() }
        try expect(versions.boot().version, equals: "A")
        try expect(versions.boot().version, equals: "A")
        try expect(versions.lifecycle().bad.map(\.version), equals: ["B"])
    }

    @Test func `rolls back to the newest known good version that can be shown`() throws {
        for name in ["B", "C"] {
            try versions.makeKnownGood(name)
        }
        try expect(versions.lifecycle().knownGood, equals: ["C", "B", "A"])
        // B has lost an object.
        try lose("B", of: temporary)
        let report = try versions.rollback()
        expect(report.current == "A" && report.from == "C")
        try expect(temporary.shown(), equals: ["index.html": "A"])
    }

    @Test func `drops a pending version that is no longer complete`() throws {
        try versions.activateAtNextBoot("B")
        try lose("B", of: temporary)
        let boot = try versions.boot()
        expect(boot.version == "A" && boot.rolledBackFrom == nil)
        try expect(versions.lifecycle().bad.isEmpty)
    }

    // A version that has lost objects cannot be started; the app must start all the same.
    @Test func `starts the known good version when the current one has lost an object`() throws {
        try versions.activate("B")
        try lose("B", of: temporary)
        try expect(versions.boot().version, equals: "A")
        try expect(temporary.shown(), equals: ["index.html": "A"])
    }

    // Otherwise a disk that fails for a moment undoes that what was never confirmed is not started again.
    @Test func `starts nothing unconfirmed again because the disk cannot be read for a moment`()
        throws
    {
        var position = 1
        while true {
            let temporary = try TemporaryStore.startedOnce()
            try temporary.versions.activateAndBoot("B")
            let (disk, versions) = try temporary.openedOnFaultyDisk()
            disk.arm(.fail(EIO, at: position))
            // Refusing is right, and so is going back all the same.
            if let boot = try? versions.boot(failedAttempts: 1) {
                expect(boot.version, equals: "A", "\(disk.firedAt?.description ?? "")")
            }
            guard disk.hasFired else { break }
            disk.disarm()
            try expect(temporary.reopened().boot(failedAttempts: 1).version, equals: "A")
            position += 1
        }
        expect(position > 10)
    }

    @Test func `starts the tree again that somebody has deleted`() throws {
        shell("rm -rf \(temporary.tree("A"))")
        try expect(temporary.versions.boot().version, equals: "A")
        try expect(temporary.shown(), equals: ["index.html": "A"])
    }

    @Test func `goes back first and then on to a pending version`() throws {
        try versions.activateAndBoot("B")
        try versions.activateAtNextBoot("C")
        let boot = try versions.boot()
        expect(boot.version == "C" && boot.rolledBackFrom == "B")
        try expect(versions.lifecycle().attempts.map(\.version), equals: ["C", "B"])
        // C is not confirmed either.
        try expect(versions.boot().version, equals: "A")
        try expect(versions.lifecycle().pending == "C" && versions.lifecycle().bad.isEmpty)
    }

    @Test func `loses nothing of the lifecycle with the index`() throws {
        try temporary.versions.activate("B")
        _ = try temporary.versions.rollback()
        try temporary.versions.activateAtNextBoot("C")
        let before = try temporary.versions.lifecycle()
        shell("rm -f \(temporary.path)/index.sqlite*")
        let versions = try temporary.reopened()
        try expect(versions.lifecycle(), equals: before)
        expectRefusal(.bannedVersion) { try versions.activate("B") }
        try expect(versions.boot().version, equals: "C")
    }

    @Test(arguments: [false, true])
    func `starts nothing whose tree is gone and whose manifest was edited`(isPending: Bool) throws {
        if isPending {
            try temporary.versions.activateAtNextBoot("B")
        } else {
            try temporary.versions.activate("B")
        }
        try spoil("B", of: temporary)
        let boot = try temporary.reopened().boot()
        expect(boot.version == "A" && boot.rolledBackFrom == (isPending ? nil : "B"))
        let lifecycle = try temporary.versions.lifecycle()
        expect(lifecycle.current == "A" && lifecycle.pending == nil && lifecycle.bad.isEmpty)
        try expect(temporary.shown(), equals: ["index.html": "A"])
    }

    @Test func `says what is wrong with the manifest of the only version there is`() throws {
        let temporary = try TemporaryStore(adding: "B", ["index.html": "B"])
        try temporary.versions.activate("B")
        try spoil("B", of: temporary)
        expectRefusal(.badManifest, saying: "registered") { try temporary.reopened().boot() }
    }

    /// Loses the content of a version, and every copy of it.
    private func lose(_ name: String, of temporary: TemporaryStore) throws {
        unlink(try temporary.objectPath(address(of: name)))
        temporary.unlock(temporary.tree(name))
        unlink(temporary.tree(name) + "/index.html")
        _ = try temporary.versions.check(repairing: true)
    }

    private func spoil(_ name: String, of temporary: TemporaryStore) throws {
        try Damage.extend(temporary.path + "/manifests/\(name).json", by: [10])
        temporary.unlock(temporary.tree(name))
        expect(shell("rm -rf '\(temporary.tree(name))'"), equals: 0)
    }
}
