import HotPush
import StorageTestSupport

// What users of cordova-plugin-meteor-webapp complain about, as far as the life of a version goes, and
// what a successor is expected to do better. Numbers are those of the lists in the reference.

@Suite("A complaint of users", .timeLimit(.minutes(60))) struct ComplaintTests {
    private func ship(_ name: String, _ fixture: UpdatingFixture) throws -> EmbeddedVersion {
        try AdoptingTests.ship(name, in: fixture.store, UpdatingFixture.files(name))
    }

    private func isEnd(_ event: UpdateEvent) -> Bool {
        if case .started = event { true } else { false }
    }

    @Test("1: an update is applied half: what is shown is one version, whole, at every moment")
    func half() async throws {
        let fixture = try await UpdatingFixture(live: "1", offering: "2")
        fixture.source.downloadGate.close()
        let manager = try await fixture.started { $0.policy = .now }
        let update = Task { try await manager.update() }
        await fixture.source.downloadGate.reached()
        try expect(readTree(fixture.store.path + "/versions/1"), equals: UpdatingFixture.files("1"))
        try expect(fixture.lifecycle.current, equals: "1")
        expect(!FileManager.default.fileExists(atPath: fixture.store.path + "/versions/2"))
        fixture.source.downloadGate.open()
        _ = try await update.value
        try expect(readTree(fixture.store.path + "/versions/2"), equals: UpdatingFixture.files("2"))
    }

    @Test(
        "4, 10: the same error on every check, one failure cancels all: after it the store is as before, and the next try works"
    )
    func everyCheck() async throws {
        let fixture = try await UpdatingFixture(live: "1", offering: "2")
        let full = StoreError(.outOfSpace, "no space left")
        fixture.source.failDownloads(full, full, full)
        let manager = try await fixture.started()
        let events = EventReader(manager)
        for _ in 0..<3 {
            await #expect(throws: StoreError.self) { try await manager.update() }
            let failure = await events.next { if case .failed = $0 { true } else { false } }
            expect(failure, equals: .failed(UpdateFailure(full, during: .downloading)))
            try expect(fixture.store.versions.check().findings.isEmpty)
            try expect(fixture.lifecycle.current == "1" && fixture.lifecycle.bad.isEmpty)
        }
        try await manager.update().expectReady("2")
    }

    @Test(
        "5: versions are banned wrongly, for ever: time counts in the foreground, bans can be lifted"
    )
    func wronglyBanned() async throws {
        let fixture = try await UpdatingFixture(live: "1", offering: "2")
        let before = try fixture.process()
        _ = try await before.update()
        let manager = try fixture.process { $0.confirmWithin = .seconds(60) }
        let boot = try require(try await manager.start())
        fixture.clock.advance(by: .seconds(59))
        await manager.setForeground(false)
        fixture.clock.advance(by: .seconds(7200))
        await manager.setForeground(true)
        try await manager.confirm("2", token: boot.token)
        try expect(fixture.lifecycle.bad.isEmpty)
        try await manager.rollback(reason: "by mistake")
        let ban = try require(try fixture.lifecycle.bad.first)
        expect(ban.reason == "by mistake" && ban.count == 1 && ban.at > 0)
        let reasons = try await manager.update().expectRefused("2")
        expect(reasons.count == 1 && reasons[0].contains("by mistake"))
        try fixture.store.versions.unban("2")
        try await manager.update().expectReady("2")
    }

    @Test(
        "6: it goes back several versions: it goes back to the newest good one, also after restarts"
    )
    func severalVersions() async throws {
        let fixture = try UpdatingFixture()
        let embedded = try ship("0", fixture)
        let first = try fixture.process { $0.embedded = embedded }
        let boot = try require(try await first.start())
        try await first.confirm("0", token: boot.token)
        for number in ["138", "139"] { try await fixture.live(number) }
        try fixture.offer("140")
        let process = try await fixture.started { $0.embedded = embedded }
        _ = try await process.update()
        // 140 starts and dies, twice; then it is banned.
        for _ in 1...2 {
            try await expect(
                fixture.process { $0.embedded = embedded }.start()?.version, equals: "140")
            let next = try await fixture.process { $0.embedded = embedded }.start()
            expect(next?.version == "139" && next?.rolledBackFrom == "140")
        }
        for _ in 0..<3 {
            let manager = try fixture.process { $0.embedded = embedded }
            try await expect(manager.start()?.version, equals: "139")
            // And it is not tried again.
            try await manager.update().expectRefused("140")
        }
    }

    @Test
    func `13: everything is downloaded again after a store update: nothing is`() async throws {
        let fixture = try UpdatingFixture()
        let first = try fixture.process { $0.embedded = try? ship("1", fixture) }
        let boot = try require(try await first.start())
        try await first.confirm("1", token: boot.token)
        try await fixture.live("3")
        let bytes = fixture.source.newBytes
        // The app store delivers 2; the origin continues offering 3.
        let updated = try fixture.process { $0.embedded = try? ship("2", fixture) }
        try await expect(updated.start()?.version, equals: "2")
        try await updated.update().expectReady("3")
        expect(fixture.source.newBytes == bytes && fixture.source.downloads == ["3"])
    }

    @Test("13: no progress: it is told with what is to come, before and during a download")
    func progress() async throws {
        let fixture = try UpdatingFixture()
        try fixture.offer("1")
        let manager = try fixture.process()
        let events = EventReader(manager)
        _ = try await manager.update()
        let told = await events.read(until: isEnd)
        let kinds = told.map { event in
            switch event {
            case .checking: "checking"
            case .available(_, let cost, _): "available \(cost.files)"
            case .progress(_, let progress):
                "\(progress.figures.requests) of \(progress.filesTotal)"
            case .started: "started"
            default: "\(event)"
            }
        }
        expect(kinds, equals: ["checking", "available 3", "1 of 3", "2 of 3", "3 of 3", "started"])
    }

    @Test func `14: old pushed files win over a store update: the update is shown`() async throws {
        let fixture = try UpdatingFixture()
        let first = try fixture.process { $0.embedded = try? ship("1", fixture) }
        let boot = try require(try await first.start())
        try await first.confirm("1", token: boot.token)
        try await fixture.live("2")
        let updated = try fixture.process { $0.embedded = try? ship("3", fixture) }
        try await expect(updated.start()?.version, equals: "3")
        try expect(
            Damage.contents(fixture.store.path + "/current/index.html"),
            equals: Array("<p>3</p>".utf8))
        // A broken update goes back to what was good before it.
        let events = EventReader(updated)
        fixture.clock.advance(by: .seconds(31))
        guard case .started(let back) = await events.next(where: isEnd) else { return }
        expect(back.version, equals: "2")
    }

    @Test("two versions that alternate starve each other: each check that ends has its version")
    func starving() async throws {
        let fixture = try await UpdatingFixture(live: "1")
        let a = try fixture.source.release("A", UpdatingFixture.files("A"))
        let b = try fixture.source.release("B", UpdatingFixture.files("B"))
        fixture.source.answer(.release(a), .release(b))
        fixture.source.downloadGate.close()
        let manager = try fixture.process()
        let first = Task { try await manager.update() }
        await fixture.source.downloadGate.reached()
        // B is published and asked for while A comes.
        let second = Task { try await manager.update() }
        fixture.source.downloadGate.open()
        try await first.value.expectReady("A")
        _ = try await second.value
        try await manager.update().expectReady("B")
        expect(fixture.source.downloads, equals: ["1", "A", "B"])
    }
}

@Suite("Better than the original", .timeLimit(.minutes(60))) struct BetterTests {
    private func isFailure(_ event: UpdateEvent) -> Bool {
        if case .failed = event { true } else { false }
    }

    @Test("4: a refused connection, then a server that is back: completes without a restart")
    func refusedThenBack() async throws {
        let fixture = try UpdatingFixture()
        let release = try fixture.source.release("1", UpdatingFixture.files("1"))
        let refused = StoreError(.io, "connection refused")
        fixture.source.answer(.failure(refused), .failure(refused), .release(release))
        let manager = try fixture.process()
        for _ in 0..<2 {
            await #expect(throws: StoreError.self) { try await manager.update() }
            await expect(manager.state, equals: .idle)
        }
        let boot = try await manager.update().expectStarted()
        expect(boot.version, equals: "1")
        let entries = try EventLog(fixture.store.versions).entries()
        let event = entries[0].event
        expect(event.answer == .failed && event.text("version") == nil, "\(entries)")
        expect(event.text("origin"), equals: "https://example.org/app?token=*")
        expect(event.text("reason"), equals: "connection refused")
    }

    @Test func `7: what waits survives the confirmation of what runs`() async throws {
        let fixture = try await UpdatingFixture(live: "1", offering: "2")
        let manager = try fixture.process()
        let boot = try require(try await manager.start())
        _ = try await manager.update()
        try await manager.confirm("1", token: boot.token)
        try expect(fixture.lifecycle.pending, equals: "2")
        try expect(readTree(fixture.store.path + "/versions/2"), equals: UpdatingFixture.files("2"))
        try await expect(fixture.process().start()?.version, equals: "2")
    }

    @Test
    func `12: killed at any moment of a start, the next process starts something good`() throws {
        let directory = TemporaryDirectory()
        for name in ["1", "2"] {
            try writeTree(directory.appending(name), UpdatingFixture.files(name))
        }
        let options = StoreOptions(isDurable: false, reservedByteCount: 1 << 20)
        for position in 1..<200 {
            let disk = FaultyFileSystem()
            let path = directory.appending("store\(position)")
            let versions = try VersionStore.create(at: path, options: options, fileSystem: disk)
            for name in ["1", "2"] {
                try versions.add(directory: directory.appending(name), version: name)
            }
            try versions.makeKnownGood("1")
            try versions.activateAtNextBoot("2")
            disk.arm(.stop(after: position))
            let outcome = Result { try versions.recordingEvents().boot() }
            let isDone = !disk.hasFired
            disk.disarm()
            let next = try VersionStore.open(path, options: options).recordingEvents()
            // The attempt was counted, or it was not made.
            let boot = try next.boot()
            let waits = try next.lifecycle().pending
            expect(boot.version == "2" && waits == nil || boot.version == "1" && waits == "2")
            try expect(next.lifecycle().attempts.map(\.failedAttempts), equals: [1])
            if case .success(let first) = outcome {
                expect(first.version == "2" && boot.version == "1", "\(position)")
            }
            try expect(next.check().findings.isEmpty, "\(position)")
            if isDone { return }
        }
        Issue.record("the boot never ended")
    }

    @Test("17: two processes use one store: one updates while the other judges its start")
    func twoProcesses() async throws {
        let fixture = try await UpdatingFixture(live: "1", offering: "2")
        let first = try fixture.process()
        let second = try fixture.process()
        let boot = try require(try await first.start())
        async let one = first.update()
        async let two = second.update()
        _ = try await (one, two)
        try await first.confirm("1", token: boot.token)
        try expect(fixture.store.versions.check().findings.isEmpty)
        try expect(fixture.lifecycle.bad.isEmpty && fixture.lifecycle.pending == "2")
        let entries = try EventLog(fixture.store.versions).entries()
        expect(entries.map(\.sequence), equals: Array(1...Int64(entries.count)))
    }
}
