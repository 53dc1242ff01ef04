import StorageTestSupport

@testable import HotPush

@Suite("An answer after failures") struct SilenceTests {
    private static let origin = "https://a.example/app?token=secret"
    private let store: TemporaryStore

    init() throws { store = try TemporaryStore() }

    private func check(
        _ outcome: CheckOutcome, _ reason: String? = nil, of origin: String = origin,
        failure: EventLogFailure? = nil
    ) -> StoreEvent {
        .checked(origin: origin, outcome: outcome, version: nil, reason: reason, failure: failure)
    }

    /// Records events at times, in seconds after the beginning.
    private func record(_ events: [(Int64, StoreEvent)], from beginning: Int64 = 1_760_000_000) {
        for (seconds, event) in events {
            EventLog(store.versions, now: { beginning + seconds }).record(event)
        }
    }

    private var answers: [String] {
        get throws {
            try EventLog(store.versions).entries().filter { $0.event.name == "answers" }
                .map(\.sentence)
        }
    }

    @Test func `is told once: how many failures, and for how long`() throws {
        record([
            (0, check(.nothingNew)), (100, check(.offline, "no route")),
            (1000, check(.offline, "no route")), (1900, .retried(reason: "503", milliseconds: 9)),
            (2000, check(.failed, "the server answered with status 503")),
            (100 + 3 * 3600, check(.available)), (20_000, check(.nothingNew)),
        ])
        try expect(
            answers, equals: ["https://a.example/app?token=* answers again after 3 failures in 3 h"]
        )
        // Before the answer, and no number comes twice.
        let entries = try EventLog(store.versions).entries()
        expect(entries.map(\.event.name).suffix(3), equals: ["answers", "check", "check"])
        expect(Set(entries.map(\.sequence)).count, equals: entries.count)
        record([(30_000, check(.offline, "no route")), (30_070, check(.refused, "banned"))])
        try expect(answers.last?.hasSuffix("answers again after 1 failure in 70 s"), equals: true)
        try expect(answers.count, equals: 2)
    }

    @Test func `is not told of another origin, nor where only the store had failed`() throws {
        let full = EventLogFailure(StoreError(.outOfSpace, "full"))
        record([
            (0, check(.offline, "no route", of: "https://b.example")), (1, check(.nothingNew)),
            (2, check(.failed, "full", failure: full)), (3, check(.nothingNew)),
        ])
        try expect(answers.isEmpty)
        record([(9, check(.nothingNew, of: "https://b.example"))])
        try expect(answers, equals: ["https://b.example answers again after 1 failure in 9 s"])
    }

    @Test func `says no time if the clock was set meanwhile`() throws {
        record([(60, check(.offline, "no route"))], from: 0)
        record([(0, check(.nothingNew))])
        record([(10, check(.offline, "no route")), (5, check(.nothingNew))])
        try expect(answers.allSatisfy { $0.hasSuffix("answers again after 1 failure") })
        try expect(answers.count, equals: 2)
    }
}
