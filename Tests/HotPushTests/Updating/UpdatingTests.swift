import StorageTestSupport

@testable import HotPush

@Suite("An update", .timeLimit(.minutes(60))) struct UpdatingTests {
    @Test func `of an app that has nothing yet is shown as soon as it is there`() async throws {
        let fixture = try UpdatingFixture()
        try fixture.offer("1")
        let manager = try fixture.process()
        let events = EventReader(manager)
        try await expect(manager.start() == nil)
        let boot = try await manager.update().expectStarted()
        expect(boot.version, equals: "1")
        try await manager.confirm("1", token: boot.token)
        let told = await events.read { $0 == .confirmed(version: "1") }
        var cost = UpdateCost()
        (cost.files, cost.bytes) = (3, 27)
        expect(told.first, equals: .checking)
        expect(told.contains(.available(version: "1", cost: cost, isForced: false)))
        expect(told.suffix(2), equals: [.started(boot), .confirmed(version: "1")])
        try expect(
            fixture.logged(),
            equals: [
                "check", "plan", "downloadBegan", "downloadEnded", "pending", "boot", "confirm",
            ])
    }

    @Test func `waits for the next start, and is shown then`() async throws {
        let fixture = try await UpdatingFixture(live: "1", offering: "2")
        let manager = try await fixture.started()
        let reason = try await manager.update().expectReady("2")
        expect(reason.contains("start"))
        try await expect(manager.navigationBegins() == nil)
        try expect(fixture.lifecycle.current, equals: "1")
        try await expect(fixture.process().start()?.version, equals: "2")
    }

    @Test func `is shown at the next navigation, if the policy says so`() async throws {
        let fixture = try await UpdatingFixture(live: "1", offering: "2")
        let manager = try await fixture.started { $0.policy = .nextNavigation }
        _ = try await manager.update()
        try expect(fixture.lifecycle.current, equals: "1")
        try await expect(manager.navigationBegins()?.version, equals: "2")
        try await expect(manager.navigationBegins() == nil)
    }

    @Test(
        "is shown at once, if the policy says so, but not before the current version has proved good"
    )
    func now() async throws {
        let fixture = try await UpdatingFixture(live: "1", offering: "2")
        let manager = try await fixture.started { $0.policy = .now }
        let second = try await manager.update().expectStarted()
        expect(second.version, equals: "2")
        // 2 has not been confirmed: nobody could tell whether it was good.
        try fixture.offer("3")
        let reason = try await manager.update().expectReady("3")
        expect(reason.contains("confirmed"))
        try expect(fixture.lifecycle.current, equals: "2")
        let events = EventReader(manager)
        try await manager.confirm("2", token: second.token)
        let started = await events.next { if case .started = $0 { true } else { false } }
        guard case .started(let third) = started else { return }
        expect(third.version == "3" && third.rolledBackFrom == nil)
        try expect(fixture.lifecycle.bad.isEmpty)
        try expect(fixture.lifecycle.knownGood, equals: ["2", "1"])
    }

    @Test("that is mandatory is shown at once, and the version that it replaces is not banned")
    func mandatory() async throws {
        let fixture = try await UpdatingFixture(live: "1", offering: "2")
        _ = try await fixture.started().update()
        let manager = try fixture.process()
        try await expect(manager.start()?.version, equals: "2")
        try fixture.offer("3") { $0.isMandatory = true }
        let boot = try await manager.update().expectStarted()
        expect(boot.version == "3" && boot.rolledBackFrom == nil)
        try expect(fixture.lifecycle.bad.isEmpty)
        try expect(fixture.lifecycle.knownGood, equals: ["1"])
    }

    // CodePush: mandatory is sticky across skipped mandatory releases.
    @Test func `inherits that it is mandatory from one that was never shown`() async throws {
        let fixture = try await UpdatingFixture(live: "1")
        let manager = try await fixture.started()
        try fixture.offer("2") { $0.isMandatory = true }
        fixture.source.failDownloads(StoreError(.io, "the connection broke"))
        await #expect(throws: StoreError.self) { try await manager.update() }
        try fixture.offer("3")
        let boot = try await manager.update().expectStarted()
        expect(boot.version, equals: "3")
        // Once it has been shown nothing is pending.
        try await manager.confirm("3", token: boot.token)
        try fixture.offer("4")
        try await manager.update().expectReady("4")
        // What waits becomes mandatory.
        try fixture.offer("4") { $0.isMandatory = true }
        let last = try await manager.update().expectStarted()
        expect(last.version == "4" && fixture.source.downloads == ["1", "2", "3", "4"])
    }

    @Test func `keeps it pending after a restart too, until it was shown`() async throws {
        let fixture = try await UpdatingFixture(live: "1")
        try fixture.offer("2") { $0.isMandatory = true }
        _ = try await fixture.process().check()
        // The app was closed before it had come, and the publisher has replaced it.
        try fixture.offer("3")
        let next = try await fixture.started()
        let boot = try await next.update().expectStarted()
        expect(boot.version, equals: "3")
        try await next.confirm("3", token: boot.token)
        try fixture.offer("4")
        try await fixture.process().update().expectReady("4")
    }

    @Test("takes back what waits when the content of the current version is offered, by any name")
    func currentUnderAnotherName() async throws {
        let fixture = try await UpdatingFixture(live: "1")
        let manager = try await fixture.started()
        try fixture.offer("2")
        _ = try await manager.update()
        try expect(fixture.lifecycle.pending, equals: "2")
        try fixture.offer("9", content: "1")
        try await manager.update().expectUpToDate()
        try expect(fixture.lifecycle.pending == nil)
        try expect(fixture.lifecycle.current, equals: "1")
    }

    @Test
    func `that is asked for many times at once is one request and one download`() async throws {
        let fixture = try UpdatingFixture()
        try fixture.offer("1")
        let manager = try fixture.process()
        fixture.source.checkGate.close()
        await withTaskGroup(of: UpdateOutcome?.self) { group in
            for _ in 0..<5 {
                // A failure is recorded below, as a missing outcome.
                group.addTask { try? await manager.update() }
            }
            for _ in 0..<3 {
                group.addTask {
                    _ = try? await manager.check()
                    return nil
                }
            }
            while await manager.flights.updating?.waiterCount != 5 { await Task.yield() }
            // Those three, and the update.
            while await manager.flights.checking?.waiterCount != 4 { await Task.yield() }
            fixture.source.checkGate.open()
            var outcomes: [UpdateOutcome] = []
            for await outcome in group { if let outcome { outcomes.append(outcome) } }
            expect(outcomes.count == 5 && Set(outcomes).count == 1)
        }
        expect(fixture.source.checkCount == 1 && fixture.source.downloads == ["1"])
        await expect(manager.state, equals: .idle)
    }

    @Test("continues when one of those who wait for it is cancelled, and stops with the last")
    func cancellingCallers() async throws {
        let fixture = try UpdatingFixture()
        try fixture.offer("1")
        let manager = try fixture.process()
        fixture.source.downloadGate.close()
        let first = Task { try await manager.update() }
        await fixture.source.downloadGate.reached()
        await expect(manager.state, equals: .downloading(version: "1"))
        let second = Task { try await manager.update() }
        while await manager.flights.updating?.waiterCount != 2 { await Task.yield() }
        first.cancel()
        while await manager.flights.updating?.waiterCount != 1 { await Task.yield() }
        await expect(manager.state, equals: .downloading(version: "1"))
        second.cancel()
        let outcomes = [await first.result, await second.result]
        for outcome in outcomes {
            #expect(throws: StoreError.self) { try outcome.get() }
        }
        try expect(fixture.logged(), equals: ["check", "plan", "downloadBegan", "downloadEnded"])
        // Somebody who comes now is not cancelled with them.
        fixture.source.downloadGate.open()
        try await manager.update().expectStarted()
    }

    @Test
    func `that is cancelled is told as cancelled, and the next one begins anew`() async throws {
        let fixture = try UpdatingFixture()
        try fixture.offer("1")
        let manager = try fixture.process()
        let events = EventReader(manager)
        fixture.source.downloadGate.close()
        let update = Task { try await manager.update() }
        await fixture.source.downloadGate.reached()
        await manager.cancel()
        // While the first is still ending, another comes.
        let next = Task { try await manager.update() }
        let outcome = await update.result
        #expect { try outcome.get() } throws: { .interrupted ~= $0 }
        let told = await events.read { $0 == .cancelled }
        expect(told.last, equals: .cancelled)
        await fixture.source.downloadGate.reached()
        fixture.source.downloadGate.open()
        try await next.value.expectStarted()
        expect(fixture.source.downloads, equals: ["1", "1"])
        let ended = try EventLog(fixture.store.versions).entries().compactMap {
            entry -> DownloadOutcome? in
            let outcome = entry.event.downloadOutcome
            if outcome != nil {
                expect(entry.event.number("requests") ?? 0 > 0 || outcome == .finished)
            }
            return outcome
        }
        expect(ended, equals: [.cancelled, .finished])
    }

    @Test("that is not for this app or device is left alone, with all the reasons, at one request")
    func refused() async throws {
        let fixture = try await UpdatingFixture(live: "1")
        let manager = try fixture.process {
            $0.app.compatibility = "abc"
            $0.device = "device-1"
        }
        let events = EventReader(manager)
        try fixture.offer("2") {
            $0.requirements = [Requirement(kind: Requirement.compatibility, value: "xyz")]
            $0.audience.rollout = Rollout(perMille: 817, salt: "v1")
        }
        let count = fixture.source.checkCount
        let reasons = try await manager.update().expectRefused("2")
        expect(reasons.count == 2 && fixture.source.checkCount == count + 1)
        expect(fixture.source.downloads, equals: ["1"])
        let told = await events.read { if case .refused = $0 { true } else { false } }
        expect(told, equals: [.checking, .refused(version: "2", reasons: reasons)])
        // The share is raised; this device's place is 817.
        try fixture.offer("2") { $0.audience.rollout = Rollout(perMille: 818, salt: "v1") }
        try await manager.update().expectReady()
    }

    @Test func `costs what the plan says, and nothing when all of it is here`() async throws {
        let fixture = try await UpdatingFixture(live: "1")
        let bytes = fixture.source.newBytes
        try fixture.offer("2")
        let manager = try fixture.process()
        let cost = try require(try await manager.plan())
        expect(cost.files == 1 && cost.reusedFiles == 2)
        _ = try await manager.update()
        expect(fixture.source.newBytes - bytes, equals: cost.bytes)
        try await expect(manager.plan() == nil)
        // The same content under a third name.
        try fixture.offer("3", content: "1")
        try await expect(
            manager.update(),
            equals: .upToDate("version 1 is current already; what was pending no longer waits"))
    }

    @Test
    func `that is taken back by the publisher no longer waits, and costs nothing`() async throws {
        let fixture = try await UpdatingFixture(live: "1")
        try await fixture.live("2")
        let manager = try await fixture.started()
        try fixture.offer("3")
        _ = try await manager.update()
        try fixture.offer("2")
        try await manager.update().expectUpToDate()
        try expect(fixture.lifecycle.pending == nil)
        // Back to an older one: only the manifest is asked for.
        try fixture.offer("1")
        try await manager.update().expectReady("1")
        expect(fixture.source.downloads, equals: ["1", "2", "3"])
        try await expect(fixture.process().start()?.version, equals: "1")
    }

    @Test("whose banned content is known only afterwards is refused then, and not fetched again")
    func bannedAfterwards() async throws {
        let fixture = try await UpdatingFixture(live: "1")
        try fixture.offer("2", saysAddresses: false)
        let first = try await fixture.started()
        _ = try await first.update()
        _ = try await fixture.process().start()
        let strict = try fixture.process { $0.failedAttempts = 1 }
        try await expect(strict.start()?.rolledBackFrom, equals: "2")
        // The same content under another name, in a format that does not say what it is.
        try fixture.offer("3", content: "2", saysAddresses: false)
        let manager = try fixture.process()
        await #expect(throws: StoreError.self) { try await manager.update() }
        try await manager.update().expectRefused()
        expect(fixture.source.downloads, equals: ["1", "2", "3"])
        try expect(fixture.lifecycle.pending == nil)
    }
}
