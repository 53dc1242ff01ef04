import StorageTestSupport

@testable import HotPush

@Suite("The event log") struct EventLogTests {
    private func size(_ path: String) -> Int {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return attributes?[.size] as? Int ?? 0
    }

    @Test func `numbers the events of a store and keeps their times`() throws {
        let store = try TemporaryStore()
        try expect(EventLog(store.versions).entries(), equals: [])
        let eventLog = EventLog(store.versions, now: { 1_760_000_000 })
        eventLog.record(.pending(version: "2"))
        eventLog.record(.booted(version: "2"))
        // Another process continues where this one stopped.
        let other = EventLog(try store.reopened(), now: { 1_760_000_009 })
        other.record(.confirmed(version: "2"))
        let entries = try eventLog.entries()
        expect(entries.map(\.sequence), equals: [1, 2, 3])
        expect(entries.map(\.at), equals: [1_760_000_000, 1_760_000_000, 1_760_000_009])
        expect(
            entries.map(\.event),
            equals: [.pending(version: "2"), .booted(version: "2"), .confirmed(version: "2")])
    }

    @Test
    func `passes over lines with numbers that nobody has counted to, and shows any time`() throws {
        let numbers = [
            "9223372036854775807", "-9223372036854775808", "9007199254740991", "4503599627370497",
            "-1",
        ]
        for number in numbers {
            for member in ["sequence", "at", "since", "times"] {
                let store = try TemporaryStore()
                EventLog(store.versions).record(.booted(version: "1"))
                let log = store.path + "/events.jsonl"
                let others = [("sequence", "2"), ("at", "5"), ("since", "4"), ("times", "3")].map {
                    "\"\($0)\":\($0 == member ? number : $1)"
                }
                let line =
                    "{\"event\":\"check\",\"origin\":\"o\",\"outcome\":\"nothingNew\",\(others.joined(separator: ","))}\n"
                try Damage.extend(log, by: Array(line.utf8))
                let eventLog = EventLog(try store.reopened())
                eventLog.record(.confirmed(version: "1"))
                let entries = try eventLog.entries()
                expect(entries.last?.event, equals: .confirmed(version: "1"), "\(line)")
                for entry in entries { expect(!entry.sentence.isEmpty) }
            }
        }
    }

    @Test func `is bounded, forgets the oldest first, and never counts anew`() throws {
        let store = try TemporaryStore()
        let eventLog = EventLog(store.versions)
        for number in 1...4000 {
            eventLog.record(
                .failed(
                    operation: "check", failure: EventLogFailure(code: "io"),
                    message: "try \(number)"))
        }
        let newer = store.path + "/events.jsonl"
        let older = store.path + "/events.older.jsonl"
        expect(size(newer) <= 128 << 10 && size(older) <= 128 << 10)
        expect(size(newer) + size(older) > 128 << 10)
        let entries = try eventLog.entries()
        expect(entries.last?.sequence, equals: 4000)
        let first = try require(entries.first?.sequence)
        expect(entries.map(\.sequence), equals: Array(first...4000))
        // The newer file is gone: the count continues from the older one.
        Damage.remove(newer)
        eventLog.record(.booted(version: "1"))
        let last = try eventLog.entries().suffix(2).map(\.sequence)
        expect(last[1], equals: last[0] + 1)
    }

    @Test func `passes over a line that a power cut has torn, wherever it is torn`() throws {
        let store = try TemporaryStore()
        let path = store.path + "/events.jsonl"
        let eventLog = EventLog(store.versions)
        eventLog.record(.booted(version: "1"))
        eventLog.record(.confirmed(version: "1"))
        let whole = try Damage.contents(path)
        let first = try require(whole.firstIndex(of: 10)) + 1
        for length in first..<(whole.count - 1) {
            try Damage.overwrite(path, with: Array(whole.prefix(length)))
            try expect(eventLog.entries().map(\.event), equals: [.booted(version: "1")])
            eventLog.record(.pending(version: "2"))
            let entries = try eventLog.entries()
            expect(entries.map(\.event), equals: [.booted(version: "1"), .pending(version: "2")])
            expect(entries.map(\.sequence), equals: [1, 2])
        }
        // Nothing but zeros came back.
        try Damage.overwrite(path, with: [UInt8](repeating: 0, count: 5000))
        eventLog.record(.pending(version: "3"))
        try expect(eventLog.entries().map(\.event), equals: [.pending(version: "3")])
    }

    @Test func `loses no event of two processes that write at once`() async throws {
        let store = try TemporaryStore()
        let eventLogs = try (0..<3).map { _ in EventLog(try store.reopened()) }
        await withTaskGroup(of: Void.self) { group in
            for (number, eventLog) in eventLogs.enumerated() {
                group.addTask {
                    for count in 0..<100 { eventLog.record(.lost(count: number * 1000 + count)) }
                }
            }
        }
        let entries = try eventLogs[0].entries()
        expect(entries.map(\.sequence), equals: Array(1...300))
        for number in 0..<3 {
            let own = entries.compactMap { entry -> Int? in
                guard let count = entry.event.number("count"), count / 1000 == number else {
                    return nil
                }
                return Int(count % 1000)
            }
            expect(own, equals: Array(0..<100))
        }
        expect(eventLogs.allSatisfy { $0.lostEventCount == 0 })
    }

    @Test func `drops an event on a full disk, whole, and says later how many`() throws {
        let directory = TemporaryDirectory()
        let disk = FaultyFileSystem()
        let versions = try VersionStore.create(
            at: directory.appending("store"), options: StoreOptions(isDurable: false),
            fileSystem: disk)
        let eventLog = EventLog(versions)
        eventLog.record(.booted(version: "1"))
        let before = try Damage.contents(directory.appending("store/events.jsonl"))
        for fault in [
            FaultyFileSystem.Fault.fail(28, at: 1, of: [.write]), .tear(28, at: 1),
            // What the lock's inode needs is taken from the reserve, once.
            .fail(30, at: 1, path: "events"), .fail(5, at: 1, path: "events"),
        ] {
            disk.arm(fault)
            eventLog.record(.confirmed(version: "1"))
            expect(disk.hasFired)
        }
        disk.disarm()
        try expect(Damage.contents(directory.appending("store/events.jsonl")), equals: before)
        expect(eventLog.lostEventCount, equals: 4)
        eventLog.record(.pending(version: "2"))
        expect(eventLog.lostEventCount, equals: 0)
        let entries = try eventLog.entries()
        expect(
            entries.map(\.event),
            equals: [.booted(version: "1"), .lost(count: 4), .pending(version: "2")])
        expect(entries.map(\.sequence), equals: [1, 5, 6])
    }

    @Test func `does not take what somebody stopped for a failure`() throws {
        let store = try TemporaryStore()
        let eventLog = EventLog(store.versions)
        let stop = StoreError(.interrupted, "interrupted while asking")
        eventLog.record(stop, asking: "https://a.example")
        eventLog.record(stop, during: "download")
        try expect(eventLog.entries(), equals: [])
        eventLog.record(StoreError(.network, "no answer"), asking: "https://a.example")
        eventLog.record(StoreError(.outOfSpace, "full"), during: "download")
        try expect(eventLog.entries().map(\.event.name), equals: ["check", "failed"])
    }

    @Test(arguments: ["directory", "fifo", "link", "read-only"])
    func `never makes an operation fail`(_ kind: String) throws {
        let directory = TemporaryDirectory()
        let disk = FaultyFileSystem()
        let versions = try VersionStore.create(
            at: directory.appending("store"), options: StoreOptions(isDurable: false),
            fileSystem: disk
        ).recordingEvents()
        try writeTree(directory.appending("source"), ["f": "1"])
        try versions.add(directory: directory.appending("source"), version: "1")
        let path = directory.appending("store/events.jsonl")
        Damage.remove(path)
        let victim = directory.appending("victim")
        switch kind {
        case "directory": mkdir(path, 0o755)
        case "fifo": mkfifo(path, 0o644)
        case "link": symlink(victim, path)
        default: break
        }
        let eventLog = EventLog(versions)
        if kind == "read-only" { disk.arm(.refuseChanges) }
        eventLog.record(.booted(version: "1"))
        expect(eventLog.lostEventCount, equals: 1)
        disk.disarm()
        try versions.activate("1")
        try expect(versions.lifecycle().current, equals: "1")
        expect(!FileManager.default.fileExists(atPath: victim))
    }

    @Test func `is written by the verbs of a store that records, and only by those`() throws {
        let store = try TemporaryStore(adding: "0", ["f": "0"])
        try expect(EventLog(store.versions).entries().isEmpty)
        let versions = store.versions.recordingEvents()
        for name in ["1", "2"] {
            try writeTree(store.directory.appending(name), ["f": name])
            try versions.add(directory: store.directory.appending(name), version: name)
        }
        try versions.activate("1")
        try versions.makeKnownGood("1")
        try versions.activateAtNextBoot("2")
        _ = try versions.boot()
        _ = try store.reopened().recordingEvents().boot(failedAttempts: 1)
        try versions.unban("2")
        try versions.activate("2")
        _ = try versions.rollback(reason: "white page")
        try versions.retire("2")
        try versions.collect()
        try versions.collect()
        let names = try EventLog(store.versions).entries().map(\.event.name)
        expect(
            names,
            equals: [
                "add", "add", "switch", "boot", "confirm", "pending", "switch", "boot", "ban",
                "rollback", "boot", "forgive", "switch", "ban", "rollback", "retire", "collect",
            ])
        let reasons = try EventLog(store.versions).entries().compactMap { entry -> String? in
            let event = entry.event
            guard event.name == "rollback", event.text("version") == "1",
                event.text("from") == "2"
            else { return nil }
            return event.text("reason")
        }
        expect(reasons, equals: ["it was started and never confirmed", "white page"])
    }

    @Test("counts the findings of a check by their kind, and stays silent when there are none")
    func findings() throws {
        let store = try TemporaryStore(adding: "1", ["f": "one", "g": "two"])
        let versions = store.versions.recordingEvents()
        _ = try versions.check()
        try expect(EventLog(versions).entries().isEmpty)
        try Damage.flip(store.path + "/versions/1/f", at: 0)
        try Damage.flip(store.path + "/versions/1/g", at: 0)
        let kinds = try versions.check().findings.map(\.kind.rawValue)
        let expected = Dictionary(kinds.map { ($0, 1) }, uniquingKeysWith: +)
        try expect(
            EventLog(versions).entries().map(\.event),
            equals: [.found(kinds: expected, repaired: 0)]
        )
    }
}
