import StorageTestSupport

@testable import HotPush

@Suite("A start", .timeLimit(.minutes(60))) struct StartingTests {
    /// A process that runs version 2, which nobody has confirmed; 1 is known good.
    private func unconfirmed(
        _ set: (inout UpdateOptions) -> Void = { _ in }
    ) async throws -> (fixture: UpdatingFixture, manager: UpdateManager, boot: BootReport) {
        let fixture = try await UpdatingFixture(live: "1", offering: "2")
        _ = try await fixture.started().update()
        let manager = try fixture.process(set)
        let boot = try require(try await manager.start())
        expect(boot.version, equals: "2")
        return (fixture, manager, boot)
    }

    private func isStart(_ event: UpdateEvent) -> Bool {
        if case .started = event { true } else { false }
    }

    @Test("that is not confirmed in time is left, tried again by the next process, and banned then")
    func failedAttempts() async throws {
        let fixture: UpdatingFixture
        do {
            let first = try await unconfirmed()
            fixture = first.fixture
            let manager = first.manager
            let events = EventReader(manager)
            fixture.clock.advance(by: .seconds(30))
            _ = await events.read(until: isStart)
            try expect(fixture.lifecycle.current == "1" && fixture.lifecycle.pending == "2")
            try expect(fixture.lifecycle.bad.isEmpty)
            // Nothing in this process starts it again.
            try await expect(manager.navigationBegins() == nil)
            try await expect(manager.start()?.version, equals: "1")
        }
        let next = try fixture.process()
        try await expect(next.start()?.version, equals: "2")
        let events = EventReader(next)
        fixture.clock.advance(by: .seconds(30))
        _ = await events.read(until: isStart)
        try expect(fixture.lifecycle.bad.map(\.version), equals: ["2"])
    }

    @Test("that ends in order with its app is taken back, and made again by the next process")
    func ending() async throws {
        let (fixture, manager, _) = try await unconfirmed()
        try await manager.end()
        try expect(fixture.lifecycle.boot == nil && fixture.lifecycle.current == "2")
        try expect(fixture.lifecycle.attempts.map(\.takenBack), equals: [1])
        let boot = try await fixture.process().start()
        expect(boot?.version == "2" && boot?.rolledBackFrom == nil)
    }

    @Test
    func `that wakes late judges nothing before it has heard what came meanwhile`() async throws {
        let (fixture, manager, boot) = try await unconfirmed()
        fixture.clock.advance(by: .seconds(3600))
        try await manager.confirm("2", token: boot.token)
        fixture.clock.advance(by: .seconds(3600))
        try expect(fixture.lifecycle.knownGood, equals: ["2", "1"])
    }

    @Test(
        "that is not confirmed in time is rolled back, banned at the last failed attempt, and told")
    func deadline() async throws {
        let (fixture, manager, _) = try await unconfirmed {
            ($0.confirmWithin, $0.failedAttempts) = (.seconds(20), 1)
        }
        let events = EventReader(manager)
        fixture.clock.advance(by: .seconds(19))
        try expect(fixture.lifecycle.current, equals: "2")
        fixture.clock.advance(by: .seconds(1))
        let told = await events.read(until: isStart)
        let reason = "it was not confirmed within 20 s"
        expect(told.first, equals: .rolledBack(version: "1", from: "2", reason: reason))
        guard case .started(let boot) = told.last else { return }
        expect(boot.version, equals: "1")
        try expect(fixture.lifecycle.bad.map(\.reason), equals: [reason])
        try expect(fixture.logged().suffix(3), equals: ["ban", "rollback", "boot"])
        // What it went back to is known good: no time runs.
        fixture.clock.advance(by: .seconds(1000))
        try expect(fixture.lifecycle.current, equals: "1")
    }

    @Test func `that is confirmed in time stays, however long it runs`() async throws {
        let (fixture, manager, boot) = try await unconfirmed()
        fixture.clock.advance(by: .seconds(29))
        try await manager.confirm("2", token: boot.token)
        try await manager.confirm("2", token: boot.token)
        fixture.clock.advance(by: .seconds(1000))
        try expect(fixture.lifecycle.current, equals: "2")
        try expect(fixture.lifecycle.knownGood, equals: ["2", "1"])
        try await expect(fixture.process().start()?.version, equals: "2")
    }

    @Test func `has only the time that its app is in the foreground`() async throws {
        let (fixture, manager, _) = try await unconfirmed { $0.confirmWithin = .milliseconds(1500) }
        let events = EventReader(manager)
        fixture.clock.advance(by: .seconds(1))
        await manager.setForeground(false)
        fixture.clock.advance(by: .seconds(3600))
        try expect(fixture.lifecycle.current, equals: "2")
        await manager.setForeground(true)
        fixture.clock.advance(by: .milliseconds(499))
        try expect(fixture.lifecycle.current, equals: "2")
        fixture.clock.advance(by: .milliseconds(1))
        let told = await events.read(until: isStart)
        expect(
            told.first,
            equals: .rolledBack(
                version: "1", from: "2", reason: "it was not confirmed within 1500 ms"))
    }

    @Test("in the background gets its whole time when the app comes to the foreground")
    func background() async throws {
        let fixture = try await UpdatingFixture(live: "1", offering: "2")
        let before = try fixture.process()
        _ = try await before.update()
        let manager = try fixture.process()
        await manager.setForeground(false)
        _ = try await manager.start()
        fixture.clock.advance(by: .seconds(3600))
        await manager.setForeground(true)
        fixture.clock.advance(by: .seconds(29))
        try expect(fixture.lifecycle.current, equals: "2")
        let events = EventReader(manager)
        fixture.clock.advance(by: .seconds(1))
        await expect(events.next(where: isStart) != nil)
        try expect(fixture.lifecycle.current, equals: "1")
    }

    @Test("without anything to go back to waits for its confirmation, however late it comes")
    func nothingBetter() async throws {
        let fixture = try UpdatingFixture()
        try fixture.offer("1")
        let manager = try fixture.process()
        let boot = try await manager.update().expectStarted()
        let events = EventReader(manager)
        fixture.clock.advance(by: .seconds(31))
        let failure = await events.next { if case .failed = $0 { true } else { false } }
        guard case .failed(let why) = failure else { return }
        expect(why.code == .nothingToRollBackTo && why.operation == .rollingBack)
        fixture.clock.advance(by: .seconds(1000))
        try expect(fixture.lifecycle.bad.isEmpty)
        try await manager.confirm("1", token: boot.token)
        try expect(fixture.lifecycle.knownGood, equals: ["1"])
    }

    @Test(
        "without anything to go back to keeps no successor away once its time is over",
        arguments: [SwitchPolicy.now, .nextNavigation])
    func successor(policy: SwitchPolicy) async throws {
        let fixture = try UpdatingFixture()
        try fixture.offer("1")
        let manager = try fixture.process { $0.policy = policy }
        _ = try await manager.update()
        try expect(fixture.lifecycle.current, equals: "1")
        try fixture.offer("2")
        // Until then it is being tried.
        try await expect(
            manager.update().expectReady("2"), equals: "the current version to be confirmed")
        try await expect(manager.navigationBegins() == nil)
        let events = EventReader(manager)
        fixture.clock.advance(by: .seconds(31))
        _ = await events.next { if case .failed = $0 { true } else { false } }
        if policy == .now {
            _ = await events.read(until: isStart)
        } else {
            try await expect(manager.navigationBegins()?.version, equals: "2")
        }
        let after = try fixture.lifecycle
        expect(after.current == "2" && after.bad.isEmpty && after.pending == nil)
    }

    @Test func `of another version is not credited with a late confirmation`() async throws {
        let (fixture, manager, boot) = try await unconfirmed()
        try fixture.offer("3") { $0.isMandatory = true }
        _ = try await manager.update()
        try expect(fixture.lifecycle.current, equals: "3")
        await #expect(throws: StoreError.self) { try await manager.confirm("2", token: boot.token) }
        try expect(fixture.lifecycle.knownGood, equals: ["1"])
    }

    @Test func `that another process has decided meanwhile is left alone`() async throws {
        let (fixture, manager, boot) = try await unconfirmed()
        try fixture.store.reopened().confirm("2", token: boot.token)
        fixture.clock.advance(by: .seconds(31))
        while await manager.running?.isTrusted != true { await Task.yield() }
        try expect(fixture.lifecycle.current, equals: "2")
        try expect(fixture.lifecycle.bad.isEmpty)
    }

    @Test("is counted once for a process, and forgets what happened in the process before")
    func once() async throws {
        let (fixture, manager, boot) = try await unconfirmed()
        try await expect(manager.start(), equals: boot)
        try expect(fixture.lifecycle.current, equals: "2")
    }

    @Test
    func `frees space when it is confirmed: old versions go, and what only they had`() async throws
    {
        let fixture = try UpdatingFixture()
        for number in 1...4 { try await fixture.live("\(number)") }
        expect(Set(try fixture.store.versions.versions().map(\.version)), equals: ["4", "3"])
        try expect(fixture.store.versions.store.usage().unreferencedBytes, equals: 0)
        let logged = try EventLog(fixture.store.versions).entries().map(\.event)
        expect(logged.contains { $0.name == "retire" && $0.text("version") == "2" })
        expect(logged.contains { $0.name == "collect" })
        try expect(fixture.store.versions.check().findings.isEmpty)
    }

    @Test
    func `that is confirmed leaves alone what a page still has, and what waits`() async throws {
        let fixture = try await UpdatingFixture(live: "1")
        let pin = try fixture.store.versions.pin("1")
        for number in 2...4 { try await fixture.live("\(number)") }
        expect(Set(try fixture.store.versions.versions().map(\.version)), equals: ["4", "3", "1"])
        withExtendedLifetime(pin) {}
    }

    @Test("with a shipped version that cannot be adopted shows what there is, and says so")
    func brokenEmbedded() async throws {
        let fixture = try UpdatingFixture()
        let nowhere = EmbeddedVersion(
            directory: fixture.store.directory.appending("nowhere"), version: "0")
        let alone = try fixture.process { $0.embedded = nowhere }
        await #expect(throws: StoreError.self) { try await alone.start() }
        try await fixture.live("1")
        let manager = try fixture.process { $0.embedded = nowhere }
        let events = EventReader(manager)
        try await expect(manager.start()?.version, equals: "1")
        let failure = await events.next { if case .failed = $0 { true } else { false } }
        guard case .failed(let why) = failure else { return }
        expect(why.operation == .adopting && why.message.contains("nowhere"))
    }
}
