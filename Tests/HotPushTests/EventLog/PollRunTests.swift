import StorageTestSupport

@testable import HotPush

/// Answers of an origin that say the same, one after the other: they must not push out what happened.
@Suite("Answers in a row") struct PollRunTests {
    private static let origin = "https://a.example/app"
    private let store: TemporaryStore

    init() throws { store = try TemporaryStore() }

    private func record(_ events: [StoreEvent], at time: Int64) {
        let eventLog = EventLog(store.versions, now: { time })
        for event in events { eventLog.record(event) }
    }

    private func check(
        _ outcome: CheckOutcome, of origin: String = origin, _ version: String? = nil,
        _ reason: String? = nil
    ) -> StoreEvent {
        .checked(origin: origin, outcome: outcome, version: version, reason: reason)
    }

    private var entries: [EventLogEntry] { get throws { try EventLog(store.versions).entries() } }

    @Test func `are one line: how many, the first, and the last; for years`() throws {
        record([.booted(version: "1")], at: 1_760_000_000)
        for poll in 0..<3000 {
            record([check(.nothingNew, "1")], at: 1_760_000_000 + Int64(poll) * 900)
        }
        record([.confirmed(version: "1")], at: 1_770_000_000)
        let entries = try entries
        expect(
            entries.map(\.event),
            equals: [.booted(version: "1"), check(.nothingNew, "1"), .confirmed(version: "1")])
        expect(entries[1].times == 3000 && entries[1].since == 1_760_000_000)
        expect(entries[1].at, equals: 1_760_000_000 + 2999 * 900)
        expect(entries[1].sentence.hasSuffix("nothing new (3000 times in a row)"))
        expect(entries.map(\.sequence), equals: [1, 2, 3])
    }

    @Test func `take the repetitions in vain with them, and what else happens ends them`() throws {
        let retry = StoreEvent.retried(reason: "refused", milliseconds: 5)
        for poll in 1...3 {
            record(
                [retry, retry, check(.offline, nil, "no route, \(poll) ms")],
                at: 1_760_000_000 + Int64(poll))
        }
        try expect(entries.map(\.times), equals: [1, 1, 3])
        // No number comes twice.
        try expect(entries.map(\.sequence), equals: [1, 2, 9])
        record([check(.nothingNew, "1"), retry, check(.nothingNew, "1")], at: 1_760_000_010)
        // What was repeated with success is worth a line.
        try expect(
            entries.map(\.event.name),
            equals: ["retry", "retry", "check", "answers", "check", "retry", "check"])
        try expect(entries.map(\.times), equals: [1, 1, 3, 1, 1, 1, 1])
    }

    @Test func `begin anew with another answer, version, reason or origin`() throws {
        let different = [
            check(.nothingNew, "1"), check(.nothingNew, "2"), check(.refused, "2", "banned"),
            check(.refused, "2", "for others"), check(.failed, nil, "for others"),
            check(.failed, of: "https://b.example", nil, "for others"), check(.nothingNew),
        ]
        record(different, at: 1_760_000_000)
        try expect(entries.map(\.event).filter { $0.name == "check" }, equals: different)
        try expect(entries.allSatisfy { $0.times == 1 && $0.since == nil })
    }

    @Test func `begin anew where the clock was set, back or from before it told the time`() throws {
        for time: Int64 in [100, 200, 1_760_000_000, 1_760_000_001, 1_750_000_000] {
            record([check(.offline, nil, "x")], at: time)
        }
        try expect(entries.map(\.times), equals: [2, 2, 1])
        try expect(entries.map(\.at), equals: [200, 1_760_000_001, 1_750_000_000])
    }

    @Test
    func `are there after a kill at any call, counted or not, and after any failure`() throws {
        let directory = TemporaryDirectory()
        let disk = FaultyFileSystem()
        let versions = try VersionStore.create(
            at: directory.appending("store"), options: StoreOptions(isDurable: false),
            fileSystem: disk)
        let eventLog = EventLog(versions, now: { 1_760_000_000 })
        let retry = StoreEvent.retried(reason: "a long reason to be repeated", milliseconds: 5)
        // What follows is shorter than what it replaces, or as long.
        for before in [[check(.offline), retry, retry], [check(.offline)]] {
            let path = directory.appending("store/events.jsonl")
            Damage.remove(path)
            for event in [.booted(version: "1")] + before { eventLog.record(event) }
            let log = try Damage.contents(path)
            var hasEnded = false
            for position in 0..<100 {
                if hasEnded { break }
                for fault in [
                    FaultyFileSystem.Fault.stop(after: position),
                    .fail(5, at: position + 1), .tear(5, at: position + 1, ofAll: true),
                ] {
                    try Damage.overwrite(path, with: log)
                    disk.arm(fault)
                    // A new one: what another could not write is lost with its process.
                    EventLog(versions, now: { 1_760_000_000 }).record(check(.offline))
                    hasEnded = !disk.hasFired
                    disk.disarm()
                    let entries = try EventLog(versions).entries()
                    let runs = entries.filter { $0.event == check(.offline) }
                    expect(runs.map(\.times) == [1] || runs.map(\.times) == [2], "\(fault)")
                    expect(entries.first?.event, equals: .booted(version: "1"), "\(fault)")
                    let isNew = runs.first?.times == 2
                    expect(entries.count, equals: (isNew ? 2 : 1 + before.count), "\(fault)")
                    if hasEnded { expect(isNew) }
                    // Whoever writes next continues behind it.
                    EventLog(versions, now: { 1_760_000_001 }).record(.confirmed(version: "1"))
                    let after = try EventLog(versions).entries().map(\.sequence)
                    expect(after == after.sorted() && Set(after).count == after.count, "\(fault)")
                    expect(after.count, equals: entries.count + 1, "\(fault)")
                }
            }
            expect(hasEnded)
        }
    }

    @Test func `that a line cannot say are two lines: damage, other programs' lines`() throws {
        record([check(.nothingNew)], at: 1_760_000_000)
        let path = store.path + "/events.jsonl"
        let line = String(decoding: try Damage.contents(path), as: UTF8.self)
        for fields in [
            #""since":1,"times":0"#, #""since":1,"times":-5"#, #""since":null,"times":2"#,
            #""since":1,"times":99999999999999999999"#,
        ] {
            let edited = line.dropLast(2) + "," + fields + "}\n"
            try Damage.overwrite(path, with: Array(edited.utf8))
            try expect(entries.map(\.times), equals: [1])
            record([check(.nothingNew)], at: 1_760_000_001)
            try expect(entries.map(\.times), equals: [2])
        }
    }
}
